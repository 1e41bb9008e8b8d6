//! Schemes whose "signature" is the secret itself.

use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::source::Source;
use super::{Message, Placed, Sign, Signed};
use crate::Secret;
use serde_json::Value;

#[derive(Debug)]
struct Token {
    from: Source,
    value: Secret,
    id: Vec<Source>,
    event_type: Vec<Source>,
}

pub(super) fn token(fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    let from = fields.parsed("from", Source::parse).into_iter().next()?;
    let prefix = fields.text("prefix").filter(|_| matches!(from, Source::Header(_))).unwrap_or_default();
    Some(Box::new(Token {
        from,
        value: Secret::from(format!("{prefix}{}", secret.expose())),
        id: fields.parsed("id", Source::parse),
        event_type: fields.parsed("event_type", Source::parse),
    }))
}

pub(super) fn basic(secret: &Secret) -> Box<dyn Sign> {
    let pair = Encoding::Base64.encode(secret.expose().as_bytes());
    Box::new(Token {
        from: Source::Header("Authorization".into()),
        value: Secret::from(format!("Basic {pair}")),
        id: Vec::new(),
        event_type: Vec::new(),
    })
}

impl Sign for Token {
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut placed = Placed::new(message);
        match &self.from {
            Source::Json(pointer) if pointer.is_list() => {
                let mut body: Value =
                    serde_json::from_slice(message.body).map_err(|_| "the body is not JSON".to_owned())?;
                let names: Vec<&str> = pointer.names().collect();
                set_every(&mut body, &names, self.value.expose())?;
                placed.set_body(body.to_string().into_bytes());
            }
            source => placed.put(source, self.value.expose())?,
        }
        placed.add_default(&self.id, message.id);
        if let Some(event_type) = message.event_type {
            placed.add_default(&self.event_type, event_type);
        }
        Ok(placed.signed)
    }
}

/// Sets a field in every item of a list: the names are the list's and the field's.
fn set_every(body: &mut Value, names: &[&str], value: &str) -> Result<(), String> {
    let [list, field] = names else { return Err("only /list/*/field can be signed".into()) };
    let items = body.get_mut(*list).and_then(Value::as_array_mut).filter(|items| !items.is_empty());
    for item in items.ok_or_else(|| format!("the body has no items in /{list}"))? {
        let item = item.as_object_mut().ok_or_else(|| format!("an item of /{list} is not an object"))?;
        item.insert((*field).to_owned(), Value::from(value));
    }
    Ok(())
}
