//! A request as bytes.

use super::address::Target;
use bytes::Bytes;
use hooks_shared::event::Header;

/// What is sent: everything but the target's own part.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub method: String,
    /// Path and query where they are not the target's own.
    pub path: Option<String>,
    pub headers: Vec<Header>,
    pub body: Bytes,
}

impl Outgoing {
    /// Adds a header behind the others.
    pub fn add(&mut self, name: &str, value: &str) {
        self.headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    }

    /// Removes every header of this name.
    pub fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name.as_bytes()));
    }

    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// The head: request line, `Host`, the headers as they are, `Content-Length`.
    pub fn head(&self, target: &Target) -> Vec<u8> {
        let path = self.path.as_deref().unwrap_or(&target.path);
        let mut head =
            format!("{} {path} HTTP/1.1\r\nHost: {}\r\n", self.method, target.authority).into_bytes();
        for (name, value) in &self.headers {
            head.extend_from_slice(name);
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        head
    }

    /// Ok if no part of the head could be read as more than it is.
    pub fn check(&self) -> Result<(), String> {
        let token = |text: &[u8]| {
            !text.is_empty()
                && text.iter().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b))
        };
        if !token(self.method.as_bytes()) {
            return Err("its method is not an HTTP method".to_owned());
        }
        for (name, value) in &self.headers {
            if !token(name) || value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
                return Err(format!(
                    "its header {:?} cannot be sent over HTTP",
                    String::from_utf8_lossy(name)
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(headers: &[(&[u8], &[u8])]) -> Outgoing {
        Outgoing {
            method: "POST".to_owned(),
            path: None,
            headers: headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            body: Bytes::from_static(b"{}"),
        }
    }

    #[test]
    fn the_head_keeps_order_spelling_repeats_and_bytes() {
        let mut request = outgoing(&[(b"x-a", b"1"), (b"X-A", b"\xff "), (b"X-Empty", b"")]);
        request.add("X-Hooks-Sequence", "7");
        let target = Target::parse("http://localhost:3000/hook?x=1").expect("a URL");
        assert_eq!(
            request.head(&target),
            b"POST /hook?x=1 HTTP/1.1\r\nHost: localhost:3000\r\nx-a: 1\r\nX-A: \xff \r\nX-Empty: \r\n\
              X-Hooks-Sequence: 7\r\nContent-Length: 2\r\n\r\n"
        );
        assert_eq!(request.check(), Ok(()));
    }

    #[test]
    fn nothing_smuggles_a_second_request() {
        for (name, value) in [(&b"X-A"[..], &b"1\r\nX-B: 2"[..]), (b"X A", b"1"), (b"", b"1"), (b"X:A", b"1")]
        {
            assert!(outgoing(&[(name, value)]).check().is_err());
        }
        assert!(Outgoing { method: "GET / HTTP/1.1\r\n".to_owned(), ..outgoing(&[]) }.check().is_err());
    }
}
