//! Putting one request together.

use super::Nasty;
use crate::sign::Headers;

/// How the body's length is told.
#[derive(Debug, Clone)]
pub(super) enum Framing {
    /// `Content-Length`.
    Length,
    /// Chunks of these sizes in turn, each size line followed by `extension`, and `trailer` lines at the end.
    Chunks { sizes: &'static [usize], extension: &'static str, trailer: &'static str },
    /// Nothing is said: the request has no body.
    Unsaid,
}

/// One header line: its parts as they stand on the wire.
#[derive(Debug, Clone)]
struct Line {
    name: Vec<u8>,
    before: &'static [u8],
    value: Vec<u8>,
    after: &'static [u8],
}

/// A request in the making.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    name: &'static str,
    method: &'static str,
    prefix: &'static str,
    suffix: Vec<u8>,
    version: &'static str,
    line_end: &'static str,
    lines: Vec<Line>,
    late_lines: Vec<Line>,
    framing: Framing,
    body: Vec<u8>,
    waits: bool,
}

impl Draft {
    /// A POST with a `Host` and a body of known length.
    pub fn new(name: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { lines: vec![line("Host", b" ", b"localhost", b"")], ..Self::bare(name, body) }
    }

    /// The same without any line but the provider's and the one about the body.
    pub fn bare(name: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            name,
            method: "POST",
            prefix: "",
            suffix: Vec::new(),
            version: "HTTP/1.1",
            line_end: "\r\n",
            lines: Vec::new(),
            late_lines: Vec::new(),
            framing: Framing::Length,
            body: body.into(),
            waits: false,
        }
    }

    pub fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// What stands before the path: scheme and host.
    pub fn prefix(mut self, prefix: &'static str) -> Self {
        self.prefix = prefix;
        self
    }

    /// What follows the source's path.
    pub fn suffix(mut self, suffix: impl Into<Vec<u8>>) -> Self {
        self.suffix = suffix.into();
        self
    }

    pub fn http_1_0(mut self) -> Self {
        self.version = "HTTP/1.0";
        self
    }

    pub fn line_end(mut self, line_end: &'static str) -> Self {
        self.line_end = line_end;
        self
    }

    /// A header before the provider's own.
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.spaced(name, b" ", value, b"")
    }

    /// A header with this white space around its value.
    pub fn spaced(
        mut self,
        name: &str,
        before: &'static [u8],
        value: impl AsRef<[u8]>,
        after: &'static [u8],
    ) -> Self {
        self.lines.push(line(name, before, value.as_ref(), after));
        self
    }

    /// A header after all others.
    pub fn last(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.late_lines.push(line(name, b" ", value.as_ref(), b""));
        self
    }

    pub fn framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    pub fn chunks(self, sizes: &'static [usize]) -> Self {
        self.framing(Framing::Chunks { sizes, extension: "", trailer: "" })
    }

    /// Sends the body only when asked to.
    pub fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    pub fn finish(self, path: &str, sign: &impl Fn(&str, &[u8]) -> Headers) -> Nasty {
        let target = [self.prefix.as_bytes(), path.as_bytes(), &self.suffix].concat();
        let mut lines = self.lines.clone();
        let id = format!("nasty {}", self.name);
        lines.extend(
            sign(&id, &self.body).iter().map(|(name, value)| line(name, b" ", value.as_bytes(), b"")),
        );
        lines.extend(self.framing_line());
        lines.extend(self.late_lines.clone());
        let end = self.line_end.as_bytes();
        let mut head = [self.method.as_bytes(), b" ", &target, b" ", self.version.as_bytes(), end].concat();
        for Line { name, before, value, after } in &lines {
            head.extend([name, b":".as_slice(), before, value, after, end].concat());
        }
        head.extend(end);
        Nasty {
            name: self.name,
            method: self.method,
            target,
            headers: lines.into_iter().map(|line| (line.name, line.value)).collect(),
            framed: self.framed(),
            body: self.body,
            head,
            waits: self.waits,
        }
    }

    fn framing_line(&self) -> Option<Line> {
        match &self.framing {
            Framing::Length => {
                Some(line("Content-Length", b" ", self.body.len().to_string().as_bytes(), b""))
            }
            Framing::Chunks { .. } => Some(line("Transfer-Encoding", b" ", b"chunked", b"")),
            Framing::Unsaid => None,
        }
    }

    fn framed(&self) -> Vec<u8> {
        let Framing::Chunks { sizes, extension, trailer } = &self.framing else { return self.body.clone() };
        let mut framed = Vec::with_capacity(self.body.len() + 64);
        let mut rest = &self.body[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            framed.extend(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
            framed.extend([chunk, b"\r\n"].concat());
            rest = after;
        }
        framed.extend(format!("0{extension}\r\n{trailer}\r\n").as_bytes());
        framed
    }
}

fn line(name: &str, before: &'static [u8], value: &[u8], after: &'static [u8]) -> Line {
    Line { name: name.into(), before, value: value.into(), after }
}
