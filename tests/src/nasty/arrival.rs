//! What of a nasty request has to arrive where it is sent on to.

use super::Nasty;
use crate::receiver::Request;

/// Headers that belong to the connection to ingest, not to the event.
const ONE_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "expect",
    "accept-encoding",
];

impl Nasty {
    /// Panics unless `got` is this request, sent on: method, body, and every header of the event in order, with its
    /// spelling and bytes, beside the relay's own.
    pub fn assert_arrived(&self, got: &Request) {
        assert_eq!(got.method(), self.method, "{}", self.name);
        assert!(got.body == self.body, "{}: the body", self.name);
        assert_eq!(received(got), expected(self), "{}", self.name);
    }
}

/// Names and values as bytes, in order, without what the sender itself adds.
fn received(request: &Request) -> Vec<(String, Vec<u8>)> {
    let mut headers = request.head.headers.clone();
    headers.retain(|(name, _)| !belongs_to_hop(name) && !name.to_lowercase().starts_with("x-hooks-"));
    headers
}

fn expected(nasty: &Nasty) -> Vec<(String, Vec<u8>)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let pairs = nasty.headers.iter().map(|(name, value)| (text(name), value.clone()));
    pairs.filter(|(name, _)| !belongs_to_hop(name) && !bound(nasty, name)).collect()
}

fn belongs_to_hop(name: &str) -> bool {
    let name = name.to_lowercase();
    ONE_HOP.contains(&name.as_str()) || name.starts_with("proxy-")
}

/// Named in the request's own `Connection` header, or one of our names.
fn bound(nasty: &Nasty, name: &str) -> bool {
    let name = name.to_lowercase();
    let connection = nasty.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(b"connection"));
    let mut names = connection.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    name.starts_with("x-hooks-")
        || names.any(|bound| bound.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}
