//! A request as bytes.

use crate::event::Header;
use crate::verify::Signed;
use bytes::Bytes;
use url::Url;

/// What is sent: everything but where it goes.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query, as they stand in the request line; to a proxy, the whole URL.
    pub target: String,
    /// Order, spelling and repeats are kept. `Host` and `Content-Length` are none of them.
    pub headers: Vec<Header>,
    pub body: Bytes,
}

impl Request {
    /// Adds a header behind the others.
    pub fn add(&mut self, name: &str, value: &str) {
        self.headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    }

    /// Puts this in the place of whatever headers of this name there are.
    pub fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.add(name, value);
    }

    /// Removes every header of this name.
    pub fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name.as_bytes()));
    }

    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Carries out what a signature changes. `url` is where the request goes; the query is taken from there.
    pub fn take(&mut self, signed: Signed, url: &Url) {
        for name in signed.replaces.iter().chain(signed.headers.iter().map(|(name, _)| name)) {
            self.remove(name);
        }
        for (name, value) in &signed.headers {
            self.add(name, value);
        }
        for (name, value) in &signed.defaults {
            if !self.has(name) {
                self.add(name, value);
            }
        }
        if !signed.query.is_empty() {
            self.target = target_with(url, &signed.query);
        }
        if let Some(body) = signed.body {
            self.body = body.into();
        }
    }

    /// The head: request line, `Host`, the headers as they are, `Content-Length`.
    pub fn head(&self, authority: &str) -> Vec<u8> {
        let start = format!("{} {} HTTP/1.1\r\nHost: {authority}\r\n", self.method, self.target);
        let mut head = start.into_bytes();
        for (name, value) in &self.headers {
            head.extend_from_slice(name);
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        head
    }

    /// Ok if every part of the head is what HTTP permits there, so that none could be read as more than it is
    /// (RFC 9110, section 5.5 and 9.1). The error names the part and holds no value.
    pub fn check(&self) -> Result<(), String> {
        let token = |text: &[u8]| {
            !text.is_empty()
                && text.iter().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b))
        };
        let control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
        if !token(self.method.as_bytes()) {
            return Err(format!("its method {:?} is not an HTTP method", self.method));
        }
        if self.target.is_empty() || !self.target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("its path and query cannot be sent over HTTP".to_owned());
        }
        for (name, value) in &self.headers {
            if !token(name) || value.iter().any(control) {
                return Err(format!(
                    "its header {:?} cannot be sent over HTTP",
                    String::from_utf8_lossy(name)
                ));
            }
        }
        Ok(())
    }
}

/// Path and query of a URL, as a request line has them.
pub fn target_of(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// The same with these parameters set.
fn target_with(url: &Url, set: &[(String, String)]) -> String {
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !set.iter().any(|(known, _)| known == name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let mut changed = url.clone();
    changed.query_pairs_mut().clear().extend_pairs(kept.iter().chain(set));
    target_of(&changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&[u8], &[u8])]) -> Request {
        Request {
            method: "POST".to_owned(),
            target: "/hook?x=1".to_owned(),
            headers: headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            body: Bytes::from_static(b"{}"),
        }
    }

    #[test]
    fn the_head_keeps_order_spelling_repeats_and_bytes() {
        let mut request = request(&[(b"x-a", b"1"), (b"X-A", b"\xff "), (b"X-Empty", b"")]);
        request.add("X-Hooks-Sequence", "7");
        assert_eq!(
            request.head("localhost:3000"),
            b"POST /hook?x=1 HTTP/1.1\r\nHost: localhost:3000\r\nx-a: 1\r\nX-A: \xff \r\nX-Empty: \r\n\
              X-Hooks-Sequence: 7\r\nContent-Length: 2\r\n\r\n"
        );
        assert_eq!(request.check(), Ok(()));
    }

    #[test]
    fn nothing_smuggles_a_second_request() {
        for (name, value) in [
            (&b"X-A"[..], &b"1\r\nX-B: 2"[..]),
            (b"X A", b"1"),
            (b"", b"1"),
            (b"X:A", b"1"),
            (b"X-A", b"\x01"),
        ] {
            assert!(request(&[(name, value)]).check().is_err());
        }
        assert!(Request { method: "GET / HTTP/1.1\r\n".to_owned(), ..request(&[]) }.check().is_err());
    }
}
