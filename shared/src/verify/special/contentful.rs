//! Contentful: a canonical request with the headers that the request itself names.

use super::super::address::{self, Address};
use super::super::algorithm::equal;
use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::key::KeySpec;
use super::super::mac::{Hash, MacKey};
use super::super::request::View;
use super::super::scheme::{Check, Context, Cover};
use super::super::signer::{Message, Placed, Sign, Signed};
use super::super::source::Source;
use super::super::timestamp::{SignedTime, Unit};
use super::super::verdict::Refusal;
use crate::Secret;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use time::OffsetDateTime;

const SIGNATURE: &str = "x-contentful-signature";
const SIGNED_HEADERS: &str = "x-contentful-signed-headers";
const TIMESTAMP: &str = "x-contentful-timestamp";

/// Contentful's secrets are made in this length and no other.
const SECRET_LENGTH: usize = 64;
/// More headers than it signs; the rest of a longer list is not looked at.
const MAX_HEADERS: usize = 100;

/// What JavaScript's `encodeURIComponent` leaves alone.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
/// What `encodeURI` does not leave alone.
const WHOLE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

#[derive(Debug)]
struct Contentful {
    keys: Vec<MacKey>,
    address: Address,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    context.require_secret();
    for (number, secret) in context.secrets.iter().enumerate() {
        if secret.expose().len() != SECRET_LENGTH {
            let message = format!("must have {SECRET_LENGTH} characters");
            context.fields.report().fault(format!("secrets[{number}]"), message);
        }
    }
    let keys = context.keys(&KeySpec::TEXT).iter().map(|key| MacKey::new(Hash::Sha256, key)).collect();
    Some(Box::new(Contentful { keys, address: context.address.clone() }))
}

/// The path as Contentful's own library escapes it: the query as one component, then the whole.
fn escaped(path: &str) -> String {
    let mut parts = path.split('?');
    let name = parts.next().unwrap_or_default();
    let whole = match parts.next().filter(|query| !query.is_empty()) {
        Some(query) => format!("{name}?{}", utf8_percent_encode(query, COMPONENT)),
        None => name.to_owned(),
    };
    utf8_percent_encode(&whole, WHOLE).to_string()
}

/// Header lines as they are signed: the named ones that are there, and always the two that say what
/// was signed and when; sorted by name.
fn signed_lines(mut headers: BTreeMap<String, Vec<u8>>, time: &[u8]) -> Vec<u8> {
    headers.insert(TIMESTAMP.into(), time.to_vec());
    headers.insert(SIGNED_HEADERS.into(), Vec::new());
    let names: Vec<&str> = headers.keys().map(String::as_str).collect();
    let names = names.join(",").into_bytes();
    headers.insert(SIGNED_HEADERS.into(), names);
    let lines: Vec<Vec<u8>> =
        headers.iter().map(|(name, value)| [name.as_bytes(), b":", value].concat()).collect();
    lines.join(&b';')
}

fn canonical(method: &str, path: &str, lines: &[u8], body: &[u8]) -> Vec<u8> {
    [method.as_bytes(), b"\n", path.as_bytes(), b"\n", lines, b"\n", body].concat()
}

fn required<'v>(view: &'v View<'_>, name: &str) -> Result<std::borrow::Cow<'v, [u8]>, Refusal> {
    view.header(name)?.ok_or_else(|| Refusal::missing(format!("header {name}")))
}

impl Contentful {
    fn lines(&self, view: &View<'_>, time: &[u8]) -> Result<Vec<u8>, Refusal> {
        let list = required(view, SIGNED_HEADERS)?;
        let list = String::from_utf8_lossy(&list);
        let mut headers = BTreeMap::new();
        // In any order, but as they are written: Contentful's own library compares with names in small
        // letters, so that any other spelling names nothing.
        for name in list.split(',').take(MAX_HEADERS) {
            let named = !name.bytes().any(|byte| byte.is_ascii_uppercase());
            if let Some(value) = if named { view.header(name)? } else { None } {
                headers.insert(name.to_owned(), value.to_vec());
            }
        }
        Ok(signed_lines(headers, time))
    }

    fn path(&self, view: &View<'_>) -> String {
        address::path_of(&self.address.of(view.request.target)).to_owned()
    }
}

impl Check for Contentful {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(view.header(SIGNATURE)?.is_some())
    }

    fn wanted(&self) -> String {
        format!("header {SIGNATURE}")
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let signature = required(view, SIGNATURE)?;
        let time_text = required(view, TIMESTAMP)?;
        let lines = self.lines(view, &time_text)?;
        let time = Unit::Millis
            .read(&time_text)
            .ok_or_else(|| Refusal::malformed(format!("header {TIMESTAMP} is not a time in milliseconds")))?;
        let offered: Vec<Vec<u8>> = Encoding::Hex.decode(&signature).into_iter().collect();
        let path = self.path(view);
        let request = &view.request;
        let mut found = subtle::Choice::from(0);
        for path in [escaped(&path), path] {
            let text = canonical(request.method, &path, &lines, request.body);
            for key in &self.keys {
                found |= equal(&offered, &key.of(&text));
            }
        }
        if found.into() {
            Ok(Some(time))
        } else {
            Err(Refusal::bad_signature("no signature in the request matches"))
        }
    }

    fn content(&self, view: &View<'_>) -> Option<[u8; 32]> {
        let time = required(view, TIMESTAMP).ok()?;
        let lines = self.lines(view, &time).ok()?;
        let text = canonical(view.request.method, &self.path(view), &lines, view.request.body);
        Some(Sha256::digest(text).into())
    }

    fn cover(&self) -> Cover {
        Cover { what: format!("HMAC-SHA256 of the request in {}", self.wanted()), body: true, time: true }
    }
}

#[derive(Debug)]
struct ContentfulSigner {
    key: MacKey,
    id: Vec<Source>,
    event_type: Vec<Source>,
}

pub(super) fn signer(fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    if secret.expose().len() != SECRET_LENGTH {
        fields.report().fault("secret", format!("must have {SECRET_LENGTH} characters"));
        return None;
    }
    Some(Box::new(ContentfulSigner {
        key: MacKey::new(Hash::Sha256, secret.expose().as_bytes()),
        id: fields.parsed("id", Source::parse),
        event_type: fields.parsed("event_type", Source::parse),
    }))
}

impl Sign for ContentfulSigner {
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut placed = Placed::new(message);
        let time = Unit::Millis.write(message.now);
        let lines = signed_lines(BTreeMap::new(), time.as_bytes());
        let path = escaped(address::path_of(message.url));
        let text = canonical(message.method, &path, &lines, message.body);
        placed.set_header(TIMESTAMP, time);
        placed.set_header(SIGNED_HEADERS, format!("{SIGNED_HEADERS},{TIMESTAMP}"));
        placed.set_header(SIGNATURE, Encoding::Hex.encode(&self.key.of(&text)));
        placed.add_default(&self.id, message.id);
        if let Some(event_type) = message.event_type {
            placed.add_default(&self.event_type, event_type);
        }
        Ok(placed.signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Parts, Settings, Verifier};
    use time::macros::datetime;

    /// The verdict on a request whose list of signed headers is written like this, signed as the
    /// library reads it.
    fn verdict(list: &str, signed: &[(&str, &str)]) -> &'static str {
        let (secret, now) = ("c".repeat(SECRET_LENGTH), datetime!(2026-05-09 14:00 UTC));
        let time = Unit::Millis.write(now);
        let headers = signed.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let lines = signed_lines(headers.collect(), time.as_bytes());
        let mac = MacKey::new(Hash::Sha256, secret.as_bytes()).of(&canonical("POST", "/in", &lines, b"{}"));
        let header = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let parts = Parts {
            method: "POST".into(),
            target: "/in".into(),
            headers: vec![
                header("X-A", "1"),
                header("X-B", "2"),
                header(SIGNED_HEADERS, list),
                header(TIMESTAMP, &time),
                header(SIGNATURE, &Encoding::Hex.encode(&mac)),
            ],
            body: b"{}".to_vec(),
            remote_addr: None,
        };
        let settings = Settings {
            verifier: "contentful".into(),
            secrets: vec![Secret::from(secret.as_str())],
            public_url: Some("https://r.example/in".into()),
            ..Settings::default()
        };
        Verifier::compile(&settings).unwrap().verifier.verify(&parts.request(), now).word()
    }

    #[test]
    fn the_list_of_headers_is_read_as_contentfuls_own_library_reads_it() {
        let (a, b) = (("x-a", "1"), ("x-b", "2"));
        assert_eq!(verdict("x-a,x-b,x-contentful-signed-headers,x-contentful-timestamp", &[a, b]), "ok");
        assert_eq!(verdict("x-contentful-timestamp,x-b,x-a", &[a, b]), "ok");
        assert_eq!(verdict("x-b,X-A,x-contentful-timestamp", &[b]), "ok");
        assert_eq!(verdict("x-b,X-A,x-contentful-timestamp", &[a, b]), "bad_signature");
        assert_eq!(verdict("x-b, x-a", &[b]), "ok");
    }

    #[test]
    fn a_query_is_escaped_once_as_a_part_and_once_with_the_whole() {
        assert_eq!(escaped("/in/cf"), "/in/cf");
        assert_eq!(escaped("/in/cf?a=b c"), "/in/cf?a%253Db%2520c");
        assert_eq!(escaped("/ä"), "/%C3%A4");
    }
}
