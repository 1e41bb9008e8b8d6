//! Follows the bytes of one connection and cuts out the head of each request on it. It understands just enough
//! of HTTP/1.1 framing to know where a body ends; when it does not understand, it stops for good, and the
//! requests from there on are stored as actix read them.

use std::collections::VecDeque;

/// Longest head kept; actix refuses longer ones at 128 KiB.
const LONGEST_HEAD: usize = 160 * 1024;
/// actix reads at most this many headers; more are answered with 431.
pub const MOST_HEADERS: usize = 96;
/// Bytes of heads that may wait for their handlers: pipelined requests. More than actix reads ahead.
const MOST_WAITING: usize = 512 * 1024;

#[derive(Debug)]
enum State {
    /// Inside a head; what there is of it.
    Head(Vec<u8>),
    /// Inside a body of known length; bytes left.
    Body(u64),
    Chunked(Chunk),
    /// Lost: nothing is followed any more.
    Lost,
}

#[derive(Debug)]
enum Chunk {
    /// The line with the size; its number so far, and whether the digits are over.
    Size {
        value: u64,
        digits: u32,
        ended: bool,
    },
    Data(u64),
    /// The line end after a chunk's data.
    DataEnd,
    /// Trailer lines; whether the present one has a character yet.
    Trailer {
        empty: bool,
    },
}

/// The tap of one connection.
#[derive(Debug)]
pub struct HeadTap {
    state: State,
    heads: VecDeque<Vec<u8>>,
    waiting: usize,
}

impl Default for HeadTap {
    fn default() -> Self {
        Self { state: State::Head(Vec::new()), heads: VecDeque::new(), waiting: 0 }
    }
}

impl HeadTap {
    /// Takes the next bytes that came over the connection.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let used = match &mut self.state {
                State::Head(_) => self.head(bytes),
                State::Body(left) => {
                    let used = (*left).min(bytes.len() as u64) as usize;
                    *left -= used as u64;
                    if *left == 0 {
                        self.state = State::Head(Vec::new());
                    }
                    used
                }
                State::Chunked(_) => self.chunked(bytes),
                State::Lost => return,
            };
            bytes = &bytes[used..];
        }
    }

    /// The head of the request that is handled next; None where it is not known.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let head = self.heads.pop_front()?;
        self.waiting -= head.len();
        Some(head)
    }

    /// Between two requests, as far as is known.
    pub fn is_idle(&self) -> bool {
        match &self.state {
            State::Head(head) => head.is_empty() && self.heads.is_empty(),
            State::Body(_) | State::Chunked(_) => false,
            State::Lost => true,
        }
    }

    /// Stops following: what was cut out no longer matches what is handled.
    pub fn give_up(&mut self) {
        self.heads.clear();
        self.waiting = 0;
        self.state = State::Lost;
    }

    fn head(&mut self, bytes: &[u8]) -> usize {
        let State::Head(head) = &mut self.state else { return 0 };
        let mut used = 0;
        if head.is_empty() {
            // Empty lines before a request line are not part of it.
            used = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        }
        for byte in &bytes[used..] {
            used += 1;
            head.push(*byte);
            if *byte == b'\n' && (head.ends_with(b"\n\r\n") || head.ends_with(b"\n\n")) {
                let head = std::mem::take(head);
                self.state = after(&head).unwrap_or(State::Lost);
                self.waiting += head.len();
                self.heads.push_back(head);
                if self.waiting > MOST_WAITING {
                    self.give_up();
                }
                return used;
            }
            if head.len() > LONGEST_HEAD {
                self.give_up();
                return used;
            }
        }
        used
    }

    fn chunked(&mut self, bytes: &[u8]) -> usize {
        let State::Chunked(chunk) = &mut self.state else { return 0 };
        if let Chunk::Data(left) = chunk {
            let used = (*left).min(bytes.len() as u64) as usize;
            *left -= used as u64;
            if *left == 0 {
                *chunk = Chunk::DataEnd;
            }
            return used;
        }
        match chunk.byte(bytes[0]) {
            Step::Stay => {}
            Step::Next(next) => *chunk = next,
            Step::End => self.state = State::Head(Vec::new()),
            Step::Lost => self.give_up(),
        }
        1
    }
}

enum Step {
    Stay,
    Next(Chunk),
    End,
    Lost,
}

impl Chunk {
    const START: Chunk = Chunk::Size { value: 0, digits: 0, ended: false };

    fn byte(&mut self, byte: u8) -> Step {
        match self {
            Chunk::Size { value, digits, ended } => match byte {
                b'\n' if *digits == 0 => Step::Lost,
                b'\n' if *value == 0 => Step::Next(Chunk::Trailer { empty: true }),
                b'\n' => Step::Next(Chunk::Data(*value)),
                _ if *ended => Step::Stay,
                b';' | b'\r' | b' ' | b'\t' => {
                    *ended = true;
                    Step::Stay
                }
                _ => match (byte as char).to_digit(16) {
                    Some(digit) if *digits < 15 => {
                        *value = *value * 16 + u64::from(digit);
                        *digits += 1;
                        Step::Stay
                    }
                    _ => Step::Lost,
                },
            },
            Chunk::DataEnd => match byte {
                b'\r' => Step::Stay,
                b'\n' => Step::Next(Chunk::START),
                _ => Step::Lost,
            },
            Chunk::Trailer { empty } => match (byte, *empty) {
                (b'\n', true) => Step::End,
                (b'\n', false) => Step::Next(Chunk::Trailer { empty: true }),
                (b'\r', _) => Step::Stay,
                _ => {
                    *empty = false;
                    Step::Stay
                }
            },
            Chunk::Data(_) => Step::Lost,
        }
    }
}

/// What follows a complete head. None where it cannot be told for certain.
fn after(head: &[u8]) -> Option<State> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if !request.parse(head).ok()?.is_complete() || request.method == Some("CONNECT") {
        return None;
    }
    let mut length: Option<u64> = None;
    let mut chunked = false;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(header.value).ok()?.trim();
            let given: u64 = text.parse().ok()?;
            if length.is_some_and(|before| before != given) {
                return None;
            }
            length = Some(given);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = std::str::from_utf8(header.value).ok()?.trim().eq_ignore_ascii_case("chunked");
            if !chunked {
                return None;
            }
        } else if header.name.eq_ignore_ascii_case("upgrade")
            && header.value.trim_ascii().eq_ignore_ascii_case(b"websocket")
        {
            // Other offers (h2c, which some clients make with every first request) are not taken up.
            return None;
        }
    }
    match (chunked, length) {
        (true, Some(_)) => None,
        (true, None) => Some(State::Chunked(Chunk::START)),
        (false, Some(left)) if left > 0 => Some(State::Body(left)),
        _ => Some(State::Head(Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    const POST: &[u8] = b"POST /b HTTP/1.1\r\nContent-Length: 5\r\n\r\n";
    const CHUNKED: &[u8] = b"POST /c HTTP/1.1\r\ntransfer-encoding: Chunked\r\n\r\n";
    const CHUNKS: &[u8] = b"5;ext=\"1\"\r\nhello\r\n0A\r\n0123456789\r\n0\r\nTrailer: GET / HTTP/1.1\r\n\r\n";

    fn all(parts: &[&[u8]], step: usize) -> Vec<Vec<u8>> {
        let mut tap = HeadTap::default();
        for piece in parts.concat().chunks(step) {
            tap.feed(piece);
        }
        std::iter::from_fn(|| tap.take()).collect()
    }

    #[test]
    fn heads_are_cut_out_wherever_the_bytes_are_split() {
        for step in [1, 2, 3, 7, 64, 10_000] {
            let heads = all(&[GET, POST, b"GET /", GET, CHUNKED, CHUNKS, b"\r\n", GET], step);
            assert_eq!(heads, [GET, POST, GET, CHUNKED, GET].map(<[u8]>::to_vec), "step {step}");
        }
    }

    #[test]
    fn a_body_that_looks_like_a_request_is_not_one() {
        let fake = b"POST /d HTTP/1.1\r\nContent-Length: 28\r\n\r\n";
        assert_eq!(all(&[fake, GET, POST, b"abcde"], 4), [&fake[..], POST].map(<[u8]>::to_vec));
    }

    #[test]
    fn what_is_not_understood_stops_the_tap() {
        for bad in [
            &b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"[..],
            b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            b"POST / HTTP/1.1\r\nUpgrade: WebSocket\r\n\r\n",
        ] {
            assert_eq!(all(&[bad, GET], 5), [bad.to_vec()]);
        }
        assert_eq!(all(&[CHUNKED, b"xyz\r\n", GET], 5), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn a_head_without_end_is_bounded() {
        let mut tap = HeadTap::default();
        tap.feed(b"GET / HTTP/1.1\r\nX: ");
        for _ in 0..100 {
            tap.feed(&[b'a'; 4096]);
        }
        assert!(matches!(tap.state, State::Lost));
    }
}
