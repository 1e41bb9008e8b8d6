//! One event as the subscribe service shows it, in the stream and on the fetch route alike.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hooks_shared::event::Header;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// What stands for a body that is fetched by its reference.
const BY_REFERENCE: &str = "@ref";

/// Where the body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyOf {
    Here(Bytes),
    /// A path of the same service.
    At {
        path: String,
        bytes: u64,
    },
}

/// An event as received.
#[derive(Debug, Clone)]
pub struct Message {
    pub source: String,
    pub sequence: i64,
    /// False for what has no place in the order: a replay that somebody asked for.
    pub moves_cursor: bool,
    pub delivery_id: String,
    pub event_id: Option<String>,
    pub event_type: Option<String>,
    pub received_at: String,
    pub method: String,
    pub path: Option<String>,
    pub headers: Vec<Header>,
    pub body: BodyOf,
    pub body_sha256: String,
    /// The JSON as sent.
    pub raw: String,
}

#[derive(Deserialize)]
struct Wire {
    delivery_id: String,
    received_at: String,
    headers: Map<String, Value>,
    body: String,
    body_sha256: String,
    event_id: Option<String>,
    sequence: Option<i64>,
    method: Option<String>,
    path: Option<String>,
    header_list: Option<Vec<(String, WireValue)>>,
    event_type: Option<String>,
    #[serde(default)]
    replay: bool,
    body_ref: Option<String>,
    body_bytes: Option<u64>,
}

/// A header's value: text, or base64 where it is not UTF-8.
#[derive(Deserialize)]
#[serde(untagged)]
enum WireValue {
    Text(String),
    Bytes { base64: String },
}

impl Message {
    /// Reads the JSON of an event. `id` is the stream's, if it has one; the error says what is wrong with it.
    pub fn parse(source: &str, id: Option<i64>, raw: &str) -> Result<Self, String> {
        let wire: Wire = serde_json::from_str(raw).map_err(|error| format!("not an event: {error}"))?;
        let sequence = id.or(wire.sequence).ok_or("it has no sequence number")?;
        let body = body_of(source, &wire)?;
        Ok(Self {
            source: source.to_owned(),
            sequence,
            moves_cursor: id.is_some() && !wire.replay,
            headers: headers(wire.header_list, &wire.headers)?,
            method: wire.method.unwrap_or_else(|| "POST".to_owned()),
            delivery_id: wire.delivery_id,
            event_id: wire.event_id,
            event_type: wire.event_type,
            received_at: wire.received_at,
            path: wire.path,
            body,
            body_sha256: wire.body_sha256,
            raw: raw.to_owned(),
        })
    }

    /// The number of bytes in the body.
    pub fn body_bytes(&self) -> u64 {
        match &self.body {
            BodyOf::Here(bytes) => bytes.len() as u64,
            BodyOf::At { bytes, .. } => *bytes,
        }
    }

    /// Ok if these are the bytes that ingest hashed.
    pub fn check_body(&self, body: &[u8]) -> Result<(), String> {
        let found = hex::encode(Sha256::digest(body));
        if found.eq_ignore_ascii_case(&self.body_sha256) {
            return Ok(());
        }
        Err(format!("its body has the SHA-256 {found}, not {} as stored", self.body_sha256))
    }

    /// The JSON with the source in front, for `--json`.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("source".to_owned(), self.source.clone().into());
        if let Ok(Value::Object(members)) = serde_json::from_str(&self.raw) {
            out.extend(members);
        }
        Value::Object(out)
    }
}

fn body_of(source: &str, wire: &Wire) -> Result<BodyOf, String> {
    if wire.body != BY_REFERENCE {
        let bytes = STANDARD.decode(&wire.body).map_err(|_| "its body is not base64")?;
        return Ok(BodyOf::Here(bytes.into()));
    }
    let path = wire.body_ref.clone().ok_or("its body is elsewhere, but it does not say where")?;
    // The token goes with the request: it must not be led away from the service.
    if !path.starts_with(&format!("/subscribe/{source}/")) || path.contains("..") {
        return Err("its body is said to be at a place that is not the source's".to_owned());
    }
    Ok(BodyOf::At { path, bytes: wire.body_bytes.unwrap_or(0) })
}

/// The headers in order and spelling as received; without that list (an older server), as they are.
fn headers(list: Option<Vec<(String, WireValue)>>, map: &Map<String, Value>) -> Result<Vec<Header>, String> {
    let Some(list) = list else {
        let text = |value: &Value| value.as_str().unwrap_or_default().as_bytes().to_vec();
        return Ok(map.iter().map(|(name, value)| (name.clone().into_bytes(), text(value))).collect());
    };
    let pairs = list.into_iter().map(|(name, value)| {
        let value = match value {
            WireValue::Text(text) => text.into_bytes(),
            WireValue::Bytes { base64 } => STANDARD
                .decode(base64)
                .map_err(|_| format!("the value of its header {name} is not base64"))?,
        };
        Ok((name.into_bytes(), value))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn json(extra: &str) -> String {
        format!(
            r#"{{"delivery_id":"d","provider_timestamp":null,"received_at":"2026-05-09T14:00:01Z",
               "headers":{{"X-A":"1, 2"}},"body":"","body_sha256":"{EMPTY_HASH}"{extra}}}"#
        )
    }

    #[test]
    fn headers_keep_order_spelling_repeats_and_bytes() {
        let extra = r#","header_list":[["x-a","1"],["X-A","2"],["X-B",{"base64":"gP8="}]],"sequence":3"#;
        let message = Message::parse("demo", None, &json(extra)).expect("an event");
        let expected: Vec<Header> = vec![
            (b"x-a".to_vec(), b"1".to_vec()),
            (b"X-A".to_vec(), b"2".to_vec()),
            (b"X-B".to_vec(), vec![0x80, 0xff]),
        ];
        assert_eq!(message.headers, expected);
        assert_eq!((message.sequence, message.moves_cursor), (3, false));
        assert_eq!(message.check_body(b""), Ok(()));
        assert!(message.check_body(b"x").is_err());
    }

    #[test]
    fn an_event_of_the_original_server_is_read_too() {
        let message = Message::parse("demo", Some(9), &json("")).expect("an event");
        assert_eq!(message.headers, vec![(b"X-A".to_vec(), b"1, 2".to_vec())]);
        assert_eq!((message.sequence, message.moves_cursor, message.method.as_str()), (9, true, "POST"));
    }

    #[test]
    fn a_reference_must_stay_with_its_source() {
        let by_reference = |path: &str| {
            let text = json(&format!(r#","body_ref":"{path}","body_bytes":5"#));
            Message::parse("demo", Some(1), &text.replace(r#""body":"""#, r#""body":"@ref""#))
        };
        let good = by_reference("/subscribe/demo/events/1/body").expect("an event");
        assert_eq!(good.body, BodyOf::At { path: "/subscribe/demo/events/1/body".to_owned(), bytes: 5 });
        for bad in ["http://elsewhere/", "//elsewhere/x", "/subscribe/demo/../../x", "/api/tokens"] {
            assert!(by_reference(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_event_is_refused_with_a_reason() {
        for text in ["", "[]", "{}", &json("").replace(r#""body":"""#, r#""body":"!""#)] {
            assert!(Message::parse("demo", Some(1), text).is_err(), "{text}");
        }
        assert!(Message::parse("demo", None, &json("")).is_err());
    }
}
