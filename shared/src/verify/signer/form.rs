//! Signing in the declarative form: the types `hmac` and `hash`.

use super::super::address::{self, Address};
use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::key::KeySpec;
use super::super::mac::{Digest, Hash, MacKey, Sink};
use super::super::request::{Request, View};
use super::super::signature::{Format, Split};
use super::super::source::Source;
use super::super::template::{Fill, Piece, Template};
use super::super::timestamp::Unit;
use super::{Message, Placed, Sign, Signed};
use crate::Secret;
use serde_json::Value;
use zeroize::Zeroizing;

#[derive(Debug)]
struct Form {
    key: Key,
    signature: Vec<Source>,
    split: Option<Split>,
    format: Format,
    encoding: Encoding,
    template: Template,
    time: Vec<Source>,
    unit: Unit,
    id: Vec<Source>,
    event_type: Vec<Source>,
    /// Values that the scheme wants to find beside the signature.
    fixed: Vec<(Source, String)>,
}

#[derive(Debug)]
enum Key {
    Mac(MacKey),
    Plain(Hash, Zeroizing<Vec<u8>>),
}

impl Key {
    /// The digest of all that `feed` writes.
    fn digest<E>(&self, feed: impl FnOnce(&mut Sink<'_>) -> Result<(), E>) -> Result<Digest, E> {
        match self {
            Self::Mac(key) => key.of_all(feed),
            Self::Plain(hash, _) => hash.of_all(feed),
        }
    }

    fn secret(&self) -> &[u8] {
        match self {
            Self::Mac(_) => b"",
            Self::Plain(_, secret) => secret,
        }
    }
}

pub(super) fn compile(fields: &Fields<'_>, plain: bool, secret: &Secret) -> Option<Box<dyn Sign>> {
    let hash = fields.named("algorithm", Hash::parse, "sha1, sha256, sha384, sha512").unwrap_or(Hash::Sha256);
    let bytes = KeySpec::read(fields)
        .decode(secret)
        .map_err(|message| fields.report().fault("secret", message))
        .ok()?;
    let key = if plain { Key::Plain(hash, bytes) } else { Key::Mac(MacKey::new(hash, &bytes)) };
    let split = fields.named("split", Split::parse, "\" \", \",\", \";\"");
    let format = Format::parse(fields.text("format").unwrap_or("{sig}"), split)
        .map_err(|message| fields.fault("format", message))
        .ok()?;
    let template = fields.parsed("signed", Template::parse).into_iter().next()?;
    let timestamp = fields.table("timestamp");
    let unit =
        timestamp.as_ref().and_then(|table| table.named("unit", Unit::parse, "s, ms, rfc3339, http_date"));
    let time = match &timestamp {
        Some(table) if table.texts("from").as_slice() != ["signature"] => table.parsed("from", Source::parse),
        _ => Vec::new(),
    };
    let mut signature = fields.parsed("signature", Source::parse);
    if fields.flag("signature_any").unwrap_or(false) {
        signature.truncate(1);
    }
    if signature.first().is_none_or(|source| source.in_body() && template.covers_body()) {
        fields.fault("signature", "stands inside the body that it covers");
        return None;
    }
    Some(Box::new(Form {
        key,
        signature,
        split,
        format,
        encoding: fields
            .named("encoding", Encoding::parse, "hex, base64, base64url")
            .unwrap_or(Encoding::Hex),
        template,
        time,
        unit: unit.unwrap_or(Unit::Seconds),
        id: fields.parsed("id", Source::parse),
        event_type: fields.parsed("event_type", Source::parse),
        fixed: fixed(fields),
    }))
}

fn fixed(fields: &Fields<'_>) -> Vec<(Source, String)> {
    let mut fixed = Vec::new();
    let mut add = |source: Option<&str>, value: Option<&str>| {
        if let (Some(Ok(source)), Some(value)) = (source.map(Source::parse), value) {
            fixed.push((source, value.to_owned()));
        }
    };
    for rule in fields.raw("require").and_then(Value::as_array).into_iter().flatten() {
        add(rule.get("at").and_then(Value::as_str), rule.get("equals").and_then(Value::as_str));
    }
    for (source, value) in fields.raw("only_if").and_then(Value::as_object).into_iter().flatten() {
        add(Some(source), value.as_str());
    }
    fixed
}

impl Form {
    /// Is the id part of what is signed, by name or by where it stands?
    fn signs_id(&self) -> bool {
        self.template.names(&Piece::Id)
            || self.template.fields().any(|field| self.id.first().is_some_and(|id| id == field))
    }

    fn digest(&self, message: &Message<'_>, placed: &Placed, time: &str) -> Result<Vec<u8>, String> {
        let path = address::path_of(message.url);
        let headers: Vec<(Vec<u8>, Vec<u8>)> = placed
            .signed
            .headers
            .iter()
            .chain(&placed.signed.defaults)
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .collect();
        let request = Request {
            method: message.method,
            target: path,
            headers: &headers,
            body: placed.body(),
            remote_addr: None,
        };
        let url =
            Address::new(Some(message.url), None).map_err(|fault| format!("the address {fault}"))?.of(path);
        let view = View::new(request);
        let fill = Fill {
            view: &view,
            timestamp: Some(time.as_bytes()),
            id: Some(message.id.as_bytes()),
            url: &url,
            path,
            secret: self.key.secret(),
        };
        let digest = self.key.digest(|sink| self.template.feed(&fill, sink));
        digest.map(|digest| digest.to_vec()).map_err(|refusal| refusal.detail)
    }
}

impl Sign for Form {
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut placed = Placed::new(message);
        let time = self.unit.write(message.now);
        for (source, value) in &self.fixed {
            placed.put(source, value)?;
        }
        placed.put_all(&self.time, &time)?;
        if self.signs_id() {
            placed.put_all(&self.id, message.id)?;
        } else {
            placed.add_default(&self.id, message.id);
        }
        if let Some(event_type) = message.event_type {
            placed.add_default(&self.event_type, event_type);
        }
        let digest = self.digest(message, &placed, &time)?;
        let value = self.format.write(&time, &self.encoding.encode(&digest), self.split);
        placed.put_all(&self.signature, &value)?;
        Ok(placed.signed)
    }
}
