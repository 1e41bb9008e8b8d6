//! Which of a stored request's headers belong to the event, and which to the connection it came on.

use crate::event::Header;

/// Headers of one connection (RFC 9110, section 7.6.1), and those that a client sets itself.
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
/// Beginnings of names that are not passed on: those of proxies, and the relay's own, which are set afresh.
const PREFIXES: [&str; 2] = ["proxy-", "x-hooks-"];

/// The stored headers that go to whoever the event is sent on to, in order and spelled as they came. Credentials are
/// among them: whether those go too is for the sender to decide.
pub fn passed_on(stored: &[Header]) -> impl Iterator<Item = &Header> {
    let named = named_in_connection(stored);
    stored.iter().filter(move |(name, _)| {
        let name = name.to_ascii_lowercase();
        let one_hop = ONE_HOP.iter().any(|known| known.as_bytes() == name);
        let prefixed = PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes()));
        !(one_hop || prefixed || named.contains(&name))
    })
}

/// The names that the request's own `Connection` headers bind to their hop.
fn named_in_connection(stored: &[Header]) -> Vec<Vec<u8>> {
    let connection = stored.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"));
    let names = connection.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    names.map(|name| name.trim_ascii().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<Header> {
        pairs.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_belongs_to_the_connection_stays_behind() {
        let stored = headers(&[
            ("hOST", "hooks.example.com"),
            ("X-A", "1"),
            ("Connection", "close, X-Bound"),
            ("x-a", ""),
            ("X-BOUND", "2"),
            ("Content-Length", "3"),
            ("Proxy-Authorization", "x"),
            ("X-Hooks-Sequence", "forged"),
            ("Authorization", "Basic abc"),
            ("Content-Encoding", "gzip"),
        ]);
        let expected = headers(&[
            ("X-A", "1"),
            ("x-a", ""),
            ("Authorization", "Basic abc"),
            ("Content-Encoding", "gzip"),
        ]);
        assert_eq!(passed_on(&stored).cloned().collect::<Vec<_>>(), expected);
    }
}
