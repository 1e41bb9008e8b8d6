//! How an event looks on the wire: the JSON of one event and the message of the event stream around it
//! (README, "Messages"). Serialised once, shared by every listener.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hooks_shared::event::{Event, Header};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::fmt::Write as _;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A message above this many bytes carries its body by reference: existing clients cannot read a line of 1 MiB.
pub const LONGEST_MESSAGE: usize = 1_000_000;
/// A body above this many bytes can never be inlined, for its base64 alone is too long; it is not even read.
pub const LONGEST_INLINE_BODY: i64 = 749_999;
/// What stands for a body that is not inlined. Not base64, so that an old client skips it as malformed.
const BY_REFERENCE: &str = "@ref";

/// The comment that keeps an idle stream alive.
pub const KEEPALIVE: Bytes = Bytes::from_static(b": keepalive\n\n");
/// The comment for a client that has seen more than there is.
pub const AHEAD_OF_LOG: Bytes = Bytes::from_static(b": ahead of log\n\n");

/// The comment that says what a first drain has left out.
pub fn skipped_comment(skipped: crate::backfill::Skipped) -> Bytes {
    let crate::backfill::Skipped { count, first, last } = skipped;
    Bytes::from(format!(": skipped {count} stale events {first}..{last}\n\n"))
}

/// An event as it was read, with the length of its body. A body longer than [`LONGEST_INLINE_BODY`] is
/// empty here.
#[derive(Debug, Clone)]
pub struct Stored {
    pub event: Event,
    pub body_bytes: i64,
}

/// Why an event is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// Its turn has come.
    InOrder,
    /// Somebody asked for it again; it has no id, so that no cursor moves back.
    Replay,
}

/// The whole message of the stream.
pub fn message(stored: &Stored, sending: Sending) -> Bytes {
    let (head, data) = (head(&stored.event, sending), data(stored, sending));
    // Exactly as long as it is: rings keep thousands of them.
    let mut out = Vec::with_capacity(head.len() + data.len() + 2);
    for part in [head.as_str(), &data, "\n\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    Bytes::from(out)
}

/// The JSON of an event: what stands behind `data:`, and what the fetch route answers.
pub fn data(stored: &Stored, sending: Sending) -> String {
    let around = head(&stored.event, sending).len() + 2;
    if stored.body_bytes <= LONGEST_INLINE_BODY {
        let inline = json(stored, sending, false);
        if inline.len() + around <= LONGEST_MESSAGE {
            return inline;
        }
    }
    json(stored, sending, true)
}

fn head(event: &Event, sending: Sending) -> String {
    let mut out = String::new();
    if sending == Sending::InOrder {
        let _ = writeln!(out, "id:{}", event.sequence);
    }
    let _ = write!(out, "event:{}\ndata:", event.source);
    out
}

fn json(stored: &Stored, sending: Sending, by_reference: bool) -> String {
    let event = &stored.event;
    let body = if by_reference { Body::Reference } else { Body::Inline(&event.body) };
    let data = Data {
        delivery_id: event.delivery_id(),
        provider_timestamp: event.provider_timestamp.map(Time),
        received_at: Time(event.received_at),
        headers: Joined(&event.headers),
        body,
        body_sha256: hex::encode(&event.body_sha256),
        body_ref: by_reference.then(|| format!("/subscribe/{}/events/{}/body", event.source, event.sequence)),
        body_bytes: by_reference.then_some(stored.body_bytes),
        event_id: &event.event_id,
        sequence: event.sequence,
        method: &event.method,
        path: String::from_utf8_lossy(&event.target),
        header_list: InOrder(&event.headers),
        event_type: event.event_type.as_deref(),
        replay: sending == Sending::Replay,
    };
    // The only failing serializers are the times, outside the years that the log takes.
    serde_json::to_string(&data).unwrap_or_default()
}

/// The order of the members is part of the contract.
#[derive(serde::Serialize)]
struct Data<'a> {
    delivery_id: &'a str,
    provider_timestamp: Option<Time>,
    received_at: Time,
    headers: Joined<'a>,
    body: Body<'a>,
    body_sha256: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes: Option<i64>,
    event_id: &'a str,
    sequence: i64,
    method: &'a str,
    path: Cow<'a, str>,
    header_list: InOrder<'a>,
    event_type: Option<&'a str>,
    replay: bool,
}

/// RFC 3339 in UTC, without trailing zeros.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub OffsetDateTime);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.0.to_offset(time::UtcOffset::UTC).format(&Rfc3339);
        serializer.serialize_str(&text.map_err(serde::ser::Error::custom)?)
    }
}

enum Body<'a> {
    Inline(&'a [u8]),
    Reference,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Body::Inline(bytes) => serializer.collect_str(&Base64Display::new(bytes, &STANDARD)),
            Body::Reference => serializer.serialize_str(BY_REFERENCE),
        }
    }
}

/// One member per name, in canonical case, repeats joined by a comma.
struct Joined<'a>(&'a [Header]);

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut joined: Vec<(String, String)> = Vec::with_capacity(self.0.len());
        for (name, value) in self.0 {
            let (name, value) = (canonical(name), String::from_utf8_lossy(value));
            match joined.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => {
                    values.push_str(", ");
                    values.push_str(&value);
                }
                None => joined.push((name, value.into_owned())),
            }
        }
        let mut map = serializer.serialize_map(Some(joined.len()))?;
        for (name, value) in &joined {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// `webhook-id` as `Webhook-Id`, in the way of Go's `textproto`, which existing clients expect.
fn canonical(name: &[u8]) -> String {
    let mut start = true;
    let cased = name.iter().map(|byte| {
        let cased = if start { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        start = *byte == b'-';
        cased
    });
    let cased: Vec<u8> = cased.collect();
    String::from_utf8_lossy(&cased).into_owned()
}

/// Every header as it came. A value that is not UTF-8 is `{"base64": …}`.
struct InOrder<'a>(&'a [Header]);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for (name, value) in self.0 {
            list.serialize_element(&(String::from_utf8_lossy(name), HeaderValue(value)))?;
        }
        list.end()
    }
}

struct HeaderValue<'a>(&'a [u8]);

impl Serialize for HeaderValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("base64", &Base64Display::new(self.0, &STANDARD).to_string())?;
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    fn stored(body: &[u8]) -> Stored {
        let event = Event {
            source: "render".to_owned(),
            sequence: 42,
            received_at: datetime!(2026-05-09 14:00:01.123456 UTC),
            event_id: "evt_1".to_owned(),
            provider_id: Some("evt-0001".to_owned()),
            event_type: Some("deploy_ended".to_owned()),
            provider_timestamp: Some(datetime!(2026-05-09 14:00 UTC)),
            method: "POST".to_owned(),
            target: b"/ingest/render?a=%2F".to_vec(),
            headers: vec![
                (b"webhook-ID".to_vec(), b"evt-0001".to_vec()),
                (b"x-twice".to_vec(), b"a".to_vec()),
                (b"X-Twice".to_vec(), b"b".to_vec()),
                (b"X-Bytes".to_vec(), vec![0x80, b'!']),
            ],
            exact: true,
            remote_addr: None,
            body: Bytes::copy_from_slice(body),
            body_sha256: vec![0xab; 32],
        };
        Stored { event, body_bytes: body.len() as i64 }
    }

    #[test]
    fn a_message_is_exactly_this() {
        let text = String::from_utf8(message(&stored(b"{}"), Sending::InOrder).to_vec()).expect("UTF-8");
        assert_eq!(
            text,
            concat!(
                "id:42\nevent:render\ndata:{\"delivery_id\":\"evt-0001\",",
                "\"provider_timestamp\":\"2026-05-09T14:00:00Z\",\"received_at\":\"2026-05-09T14:00:01.123456Z\",",
                "\"headers\":{\"Webhook-Id\":\"evt-0001\",\"X-Twice\":\"a, b\",\"X-Bytes\":\"\u{fffd}!\"},",
                "\"body\":\"e30=\",",
                "\"body_sha256\":\"abababababababababababababababababababababababababababababababab\",",
                "\"event_id\":\"evt_1\",\"sequence\":42,\"method\":\"POST\",\"path\":\"/ingest/render?a=%2F\",",
                "\"header_list\":[[\"webhook-ID\",\"evt-0001\"],[\"x-twice\",\"a\"],[\"X-Twice\",\"b\"],",
                "[\"X-Bytes\",{\"base64\":\"gCE=\"}]],\"event_type\":\"deploy_ended\",\"replay\":false}\n\n"
            )
        );
    }

    #[test]
    fn a_replay_has_no_id_and_says_so() {
        let text = String::from_utf8(message(&stored(b""), Sending::Replay).to_vec()).expect("UTF-8");
        assert!(text.starts_with("event:render\ndata:{"), "{text}");
        assert!(text.ends_with("\"replay\":true}\n\n"), "{text}");
        assert!(text.contains("\"body\":\"\","), "{text}");
    }

    #[test]
    fn what_does_not_fit_goes_by_reference() {
        let overhead = message(&stored(b""), Sending::InOrder).len();
        let fits = (LONGEST_MESSAGE - overhead) / 4 * 3;
        let whole = message(&stored(&vec![b'x'; fits]), Sending::InOrder);
        assert!(whole.len() <= LONGEST_MESSAGE && !whole.windows(4).any(|w| w == b"@ref"));
        let text = message(&stored(&vec![b'x'; fits + 3]), Sending::InOrder);
        let text = String::from_utf8(text.to_vec()).expect("UTF-8");
        let expected = format!(
            "\"body\":\"@ref\",\"body_sha256\":\"{}\",\"body_ref\":\"/subscribe/render/events/42/body\",\"body_bytes\":{}",
            "ab".repeat(32),
            fits + 3
        );
        assert!(text.contains(&expected), "{text}");
    }

    #[test]
    fn missing_values_are_null() {
        let mut stored = stored(b"");
        stored.event.provider_timestamp = None;
        stored.event.event_type = None;
        stored.event.provider_id = None;
        let json: serde_json::Value = serde_json::from_str(&data(&stored, Sending::InOrder)).expect("JSON");
        assert!(json["provider_timestamp"].is_null() && json["event_type"].is_null());
        assert_eq!(json["delivery_id"], "evt_1");
    }
}
