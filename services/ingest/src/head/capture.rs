//! The head as it is stored: from the raw bytes where they agree with what actix parsed, else from actix.

use super::tap::MOST_HEADERS;
use hooks_shared::event::Header;

/// What actix made of a request's head; verification uses nothing else.
#[derive(Debug)]
pub struct Parsed<'a> {
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    pub headers: &'a [Header],
}

/// A head as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub struct Captured {
    pub target: Vec<u8>,
    pub headers: Vec<Header>,
    /// Order, spelling and repeats are those of the sender.
    pub exact: bool,
}

/// Takes the raw head if it says the same as `parsed`. A disagreement can therefore never put anything into
/// the log that was not also what was verified.
pub fn capture(raw: Option<&[u8]>, parsed: &Parsed<'_>) -> Captured {
    raw.and_then(|raw| exact(raw, parsed)).unwrap_or_else(|| Captured {
        target: parsed.target.as_bytes().to_vec(),
        headers: parsed.headers.to_vec(),
        exact: false,
    })
}

fn exact(raw: &[u8], parsed: &Parsed<'_>) -> Option<Captured> {
    let mut slots = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut slots);
    if !request.parse(raw).ok()?.is_complete() || request.method? != parsed.method {
        return None;
    }
    let target = request.path?;
    if !same_target(target, parsed.target) {
        return None;
    }
    let headers: Vec<Header> =
        request.headers.iter().map(|h| (h.name.as_bytes().to_vec(), trim(h.value).to_vec())).collect();
    (folded(&headers) == folded(parsed.headers)).then(|| Captured {
        target: target.as_bytes().to_vec(),
        headers,
        exact: true,
    })
}

/// A client may send the absolute form, or a fragment that actix drops.
fn same_target(raw: &str, parsed: &str) -> bool {
    let path = match raw.find("://") {
        Some(at) if !raw.starts_with('/') => {
            raw[at + 3..].find('/').map_or("/", |slash| &raw[at + 3 + slash..])
        }
        _ => raw,
    };
    path == parsed || path.split('#').next() == Some(parsed)
}

fn trim(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// The headers without order and case of names, for comparison.
fn folded(headers: &[Header]) -> Vec<(Vec<u8>, &[u8])> {
    let mut all: Vec<_> =
        headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), trim(value))).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &[u8])]) -> Vec<Header> {
        list.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect()
    }

    const RAW: &[u8] = b"POST /in/a?x=%2F HTTP/1.1\r\nX-B: 2 \r\nHOST: h\r\nx-b:\xff1\r\nEmpty:\r\n\r\n";

    #[test]
    fn an_agreeing_head_keeps_order_spelling_and_bytes() {
        let headers = pairs(&[("empty", b""), ("host", b"h"), ("x-b", b"\xff1"), ("x-b", b"2")]);
        let parsed = Parsed { method: "POST", target: "/in/a?x=%2F", headers: &headers };
        let captured = capture(Some(RAW), &parsed);
        assert!(captured.exact);
        assert_eq!(captured.target, b"/in/a?x=%2F");
        assert_eq!(
            captured.headers,
            pairs(&[("X-B", b"2"), ("HOST", b"h"), ("x-b", b"\xff1"), ("Empty", b"")])
        );
    }

    #[test]
    fn any_disagreement_falls_back_to_what_was_parsed() {
        let good = pairs(&[("empty", b""), ("host", b"h"), ("x-b", b"\xff1"), ("x-b", b"2")]);
        let short = pairs(&[("empty", b""), ("host", b"h"), ("x-b", b"2")]);
        for (method, target, headers) in
            [("PUT", "/in/a?x=%2F", &good), ("POST", "/in/a?x=/", &good), ("POST", "/in/a?x=%2F", &short)]
        {
            let captured = capture(Some(RAW), &Parsed { method, target, headers });
            assert_eq!(captured, Captured { target: target.into(), headers: headers.clone(), exact: false });
        }
        assert!(!capture(None, &Parsed { method: "POST", target: "/", headers: &good }).exact);
    }

    #[test]
    fn absolute_targets_and_fragments_are_kept_as_sent() {
        assert!(same_target("http://h:1/a?b", "/a?b"));
        assert!(same_target("http://h", "/"));
        assert!(same_target("/a?b#c", "/a?b"));
        assert!(!same_target("/a", "/b"));
        assert!(same_target("/to/http://x", "/to/http://x"));
    }
}
