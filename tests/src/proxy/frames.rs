//! Following PostgreSQL's protocol as it passes by, without holding it up.
//!
//! Only what the cuts need: which statement a client executes, where in a piece of data its messages begin and
//! end, and which answer belongs to which request (one ReadyForQuery per simple query and per Sync). Traffic of
//! another protocol looks like one message that never ends.

use std::collections::HashMap;

/// The longest message that is kept to be looked into: statements are shorter, parameters may be cut.
const KEPT: usize = 64 * 1024;

/// Splits a stream into messages of a type byte, a length and contents.
#[derive(Debug)]
struct Splitter {
    header: Vec<u8>,
    /// The first messages of a client have no type byte.
    typed: bool,
    body: Vec<u8>,
    missing: usize,
}

/// One message that ended in the piece of data just fed.
struct Frame {
    kind: u8,
    body: Vec<u8>,
    /// Where in the piece it begins; 0 if it began in an earlier one.
    start: usize,
    end: usize,
}

impl Splitter {
    fn new(typed: bool) -> Self {
        Self { header: Vec::new(), typed, body: Vec::new(), missing: 0 }
    }

    fn header_length(&self) -> usize {
        if self.typed { 5 } else { 4 }
    }

    fn feed(&mut self, piece: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        let (mut at, mut start) = (0, 0);
        while at < piece.len() {
            if self.header.len() < self.header_length() {
                if self.header.is_empty() {
                    start = at;
                }
                self.header.push(piece[at]);
                at += 1;
                if self.header.len() == self.header_length() {
                    let length = &self.header[self.header.len() - 4..];
                    let length = length.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
                    self.missing = length.saturating_sub(4);
                }
            }
            if self.header.len() == self.header_length() {
                let taken = self.missing.min(piece.len() - at);
                let kept = taken.min(KEPT.saturating_sub(self.body.len()));
                self.body.extend_from_slice(&piece[at..at + kept]);
                at += taken;
                self.missing -= taken;
                if self.missing == 0 {
                    frames.push(self.finish(start, at));
                    start = at;
                }
            }
        }
        frames
    }

    fn finish(&mut self, start: usize, end: usize) -> Frame {
        let kind = if self.typed { self.header[0] } else { 0 };
        let body = std::mem::take(&mut self.body);
        // Protocol version 3 begins the session proper; before it come only offers of encryption.
        self.typed |= body.starts_with(&[0, 3]);
        self.header.clear();
        Frame { kind, body, start, end }
    }
}

/// A statement in what a client sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub sql: String,
    /// The number of its answer: how many ReadyForQuery the client has seen when it is complete.
    pub answer: u64,
    /// Up to here the server sees nothing of its execution.
    pub before: usize,
    /// From here the server has what it needs; `None` if that comes in a later piece: see [`ClientSide::feed`].
    pub after: Option<usize>,
}

/// What a client says.
#[derive(Debug)]
pub(super) struct ClientSide {
    splitter: Splitter,
    prepared: HashMap<Vec<u8>, String>,
    portals: HashMap<Vec<u8>, String>,
    /// Simple queries and Syncs so far.
    requests: u64,
}

impl ClientSide {
    pub fn new() -> Self {
        let (prepared, portals) = (HashMap::new(), HashMap::new());
        Self { splitter: Splitter::new(false), prepared, portals, requests: 0 }
    }

    /// The statements whose execution begins in `piece`, and the end of the first Sync in it that belongs to
    /// statements of earlier pieces.
    pub fn feed(&mut self, piece: &[u8]) -> (Vec<Statement>, Option<usize>) {
        let mut statements: Vec<Statement> = Vec::new();
        let mut first_sync = None;
        for frame in self.splitter.feed(piece) {
            let mut words = frame.body.split(|&byte| byte == 0);
            let mut word = || words.next().unwrap_or_default().to_vec();
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            match frame.kind {
                b'Q' => {
                    self.requests += 1;
                    let (sql, after) = (text(word()), Some(frame.end));
                    statements.push(Statement { sql, answer: self.requests, before: frame.start, after });
                }
                b'P' => {
                    let name = word();
                    self.prepared.insert(name, text(word()));
                }
                b'B' => {
                    let portal = word();
                    let sql = self.prepared.get(&word()).cloned().unwrap_or_default();
                    self.portals.insert(portal, sql);
                }
                b'E' => {
                    let sql = self.portals.get(&word()).cloned().unwrap_or_default();
                    let answer = self.requests + 1;
                    statements.push(Statement { sql, answer, before: frame.start, after: None });
                }
                b'S' => {
                    self.requests += 1;
                    first_sync = first_sync.or(Some(frame.end));
                    let open = statements.iter_mut().filter(|statement| statement.after.is_none());
                    open.for_each(|statement| statement.after = Some(frame.end));
                }
                _ => {}
            }
        }
        (statements, first_sync)
    }
}

/// What a server says.
#[derive(Debug)]
pub(super) struct ServerSide {
    splitter: Splitter,
    ready: u64,
}

impl ServerSide {
    pub fn new() -> Self {
        Self { splitter: Splitter::new(true), ready: 0 }
    }

    /// Where in `piece` which answer ends: (number, offset). The end of the login is number 0.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<(u64, usize)> {
        let mut ends = Vec::new();
        for frame in self.splitter.feed(piece).iter().filter(|frame| frame.kind == b'Z') {
            ends.push((self.ready, frame.end));
            self.ready += 1;
        }
        ends
    }

    /// The refusal of encryption is one byte that is no message.
    pub fn skip(&mut self) {
        self.splitter = Splitter::new(true);
    }

    /// How many answers have come, the end of the login not counted.
    pub fn answers(&self) -> u64 {
        self.ready.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short");
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    fn startup() -> Vec<u8> {
        message(0, b"\x00\x03\x00\x00user\x00x\x00\x00")[1..].to_vec()
    }

    /// A prepared COMMIT is recognised when it is executed, wherever the stream is cut into pieces.
    #[test]
    fn statements_are_found_in_pieces_of_any_size() {
        let prepare = [message(b'P', b"s1\0commit\0\0\0"), message(b'S', b"")].concat();
        let execute =
            [message(b'B', b"\0s1\0\0\0"), message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat();
        let simple = message(b'Q', b"select 1\0");
        let all = [startup(), prepare, simple, execute].concat();
        for size in 1..all.len() {
            let mut client = ClientSide::new();
            let found: Vec<_> = all.chunks(size).flat_map(|piece| client.feed(piece).0).collect();
            let found: Vec<_> =
                found.iter().map(|statement| (statement.sql.as_str(), statement.answer)).collect();
            assert_eq!(found, [("select 1", 2), ("commit", 3)], "in pieces of {size}");
        }
        let mut client = ClientSide::new();
        let (found, _) = client.feed(&all);
        assert_eq!(found[1].after, Some(all.len()));
        assert_eq!(found[1].before, all.len() - 5 - 10);
    }

    #[test]
    fn another_protocol_is_one_message_without_end() {
        let mut client = ClientSide::new();
        let (found, _) = client.feed(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nQQQ");
        assert_eq!(found, []);
    }
}
