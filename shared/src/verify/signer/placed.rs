//! Putting values where a scheme looks for them.

use super::super::form;
use super::super::source::Source;
use super::{Message, Signed};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde_json::{Map, Value};

/// A request in the making.
pub(in super::super) struct Placed {
    pub(in super::super) signed: Signed,
    body: Vec<u8>,
}

impl Placed {
    pub(in super::super) fn new(message: &Message<'_>) -> Self {
        Self { signed: Signed::default(), body: message.body.to_vec() }
    }

    pub(in super::super) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(in super::super) fn set_body(&mut self, body: Vec<u8>) {
        self.signed.body = Some(body.clone());
        self.body = body;
    }

    pub(in super::super) fn set_header(&mut self, name: &str, value: impl Into<String>) {
        self.signed.headers.retain(|(have, _)| !have.eq_ignore_ascii_case(name));
        self.signed.headers.push((name.to_owned(), value.into()));
        self.replace(name);
    }

    /// Forgets an earlier header of this name without setting it.
    pub(in super::super) fn replace(&mut self, name: &str) {
        if !self.signed.replaces.iter().any(|have| have.eq_ignore_ascii_case(name)) {
            self.signed.replaces.push(name.to_owned());
        }
    }

    pub(in super::super) fn add_default(&mut self, sources: &[Source], value: &str) {
        if let Some(Source::Header(name)) = sources.iter().find(|source| matches!(source, Source::Header(_)))
        {
            self.signed.defaults.push((name.to_string(), value.to_owned()));
        }
    }

    /// Puts a value at a source.
    pub(in super::super) fn put(&mut self, source: &Source, value: &str) -> Result<(), String> {
        match source {
            Source::Header(name) => self.set_header(name, value),
            Source::HeaderFamily(stem) => self.set_header(&format!("{stem}1"), value),
            Source::Query(name) => {
                self.signed.query.retain(|(have, _)| have != name);
                self.signed.query.push((name.clone(), value.to_owned()));
            }
            Source::Json(pointer) => {
                let mut root: Value = serde_json::from_slice(&self.body).map_err(|_| {
                    "this scheme signs inside a JSON body, and the body is not JSON".to_owned()
                })?;
                set_json(&mut root, &pointer.names().collect::<Vec<_>>(), value)?;
                self.set_body(root.to_string().into_bytes());
            }
            Source::Form(name) => self.set_field(name, value),
            Source::Claim(_) => return Err("a claim cannot be set by itself".into()),
        }
        Ok(())
    }

    /// Puts a value at every header of a list, so that a receiver may look at any of them; else at
    /// its first source.
    pub(in super::super) fn put_all(&mut self, sources: &[Source], value: &str) -> Result<(), String> {
        let mut in_headers = false;
        for source in sources.iter().filter(|source| matches!(source, Source::Header(_))) {
            self.put(source, value)?;
            in_headers = true;
        }
        match sources.first() {
            Some(first) if !in_headers => self.put(first, value),
            _ => Ok(()),
        }
    }

    fn set_field(&mut self, name: &str, value: &str) {
        let mut pairs = form::pairs(&self.body);
        pairs.retain(|(key, _)| key != name.as_bytes());
        pairs.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        self.set_body(write_form(&pairs));
        // Whatever it was before: a body that says it is something else has no fields.
        self.set_header("content-type", "application/x-www-form-urlencoded");
    }
}

pub(in super::super) fn write_form(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let encode = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
    let pieces: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    pieces.join("&").into_bytes()
}

/// Sets a text, or a number where a number stood or where nothing did and the text is one.
fn set_json(root: &mut Value, names: &[&str], value: &str) -> Result<(), String> {
    let Some((last, way)) = names.split_last() else { return Err("a JSON field has no name".into()) };
    let mut here = root;
    for name in way {
        here = object(here)?.entry((*name).to_owned()).or_insert_with(|| Value::Object(Map::new()));
    }
    let map = object(here)?;
    let number = value.parse::<i64>().ok().filter(|_| !matches!(map.get(*last), Some(Value::String(_))));
    map.insert((*last).to_owned(), number.map_or_else(|| Value::from(value), Value::from));
    Ok(())
}

fn object(value: &mut Value) -> Result<&mut Map<String, Value>, String> {
    value.as_object_mut().ok_or_else(|| "the body is not the JSON object that this scheme signs".to_owned())
}
