//! Sending a request and reading its answer as far as it is needed: the head, whether the connection can serve again,
//! and the beginning of the body.

use std::io::{Error, ErrorKind, Result};
use std::pin::pin;
use std::sync::LazyLock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const LONGEST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 128;
/// Folded lines, which nobody may send any more, are read all the same (RFC 9112, section 5.2).
static LENIENT: LazyLock<httparse::ParserConfig> = LazyLock::new(|| {
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    config
});
/// Requests up to this size go out in one piece, so that the other end sees head and body together.
const ONE_PIECE: usize = 16 << 10;

/// The head of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// In order; what is not UTF-8 in a value is replaced.
    pub headers: Vec<(String, String)>,
    framing: Framing,
    closes: bool,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Nothing,
    Length(u64),
    Chunked,
    Close,
}

impl Head {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The members of a header that is a list, in small letters, of all its lines.
    fn list(&self, name: &str) -> Vec<String> {
        let lines = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let members = lines.flat_map(|(_, value)| value.split(','));
        members.map(|member| member.trim().to_ascii_lowercase()).filter(|member| !member.is_empty()).collect()
    }

    /// An answer of which no more than the status could be read.
    fn of_status(status: u16) -> Self {
        Self { status, headers: Vec::new(), framing: Framing::Nothing, closes: true }
    }
}

/// An answer whose head is there, and its connection.
#[derive(Debug)]
pub struct Answering<S> {
    pub head: Head,
    stream: S,
    /// What has arrived and was not looked at.
    buffer: Vec<u8>,
    sent: bool,
}

/// Sends `head` and `body` and returns with the answer's head; interim answers (1xx) are passed over. Whoever answers
/// before everything is sent is listened to at once: the rest is then not sent.
///
/// # Errors
/// When no whole head arrives.
pub async fn send<S>(mut stream: S, head: &[u8], body: &[u8]) -> Result<Answering<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut buffer = Vec::new();
    let (answered, sent) = {
        let (mut reading, mut writing) = tokio::io::split(&mut stream);
        let mut sending = pin!(write(&mut writing, head, body));
        let mut answering = pin!(final_head(&mut reading, &mut buffer, head.starts_with(b"HEAD ")));
        tokio::select! {
            biased;
            sent = &mut sending => (answering.await, Some(sent)),
            answered = &mut answering => (answered, None),
        }
    };
    match (answered, sent) {
        (Ok(head), sent) => Ok(Answering { head, stream, buffer, sent: matches!(sent, Some(Ok(()))) }),
        (Err(_), Some(Err(error))) | (Err(error), _) => Err(error),
    }
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), head: &[u8], body: &[u8]) -> Result<()> {
    if body.len() <= ONE_PIECE {
        stream.write_all(&[head, body].concat()).await?;
    } else {
        stream.write_all(head).await?;
        stream.write_all(body).await?;
    }
    stream.flush().await
}

async fn final_head(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    asked_for_head: bool,
) -> Result<Head> {
    loop {
        let mut head = read_head(stream, buffer).await?;
        if !is_interim(head.status) {
            if asked_for_head {
                head.framing = Framing::Nothing;
            }
            return Ok(head);
        }
    }
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Result<Head> {
    let mut looked_at = 0;
    loop {
        // Whoever sends a byte at a time is not read from the beginning each time: only a whole line can end a head.
        let fresh = buffer[looked_at..].contains(&b'\n');
        let full = buffer.len() >= LONGEST_HEAD;
        if fresh || full {
            let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let read = LENIENT.parse_response(&mut response, buffer);
            match (read, response.code) {
                (Ok(httparse::Status::Complete(length)), _) => {
                    let head = head_of(&response);
                    buffer.drain(..length);
                    return Ok(head);
                }
                (Ok(httparse::Status::Partial), _) if !full => {}
                // The status line has settled it, whatever is wrong with what follows.
                (_, Some(status)) if !is_interim(status) => return Ok(Head::of_status(status)),
                (Ok(httparse::Status::Partial), _) => return Err(bad("its answer's head is too long")),
                (Err(_), _) => return Err(bad("it answers with something that is not HTTP/1.1")),
            }
        }
        looked_at = buffer.len();
        fill(stream, buffer).await?;
    }
}

fn is_interim(status: u16) -> bool {
    // 101 is no interim answer: what follows it is another protocol.
    (100..200).contains(&status) && status != 101
}

fn head_of(response: &httparse::Response<'_, '_>) -> Head {
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let pairs = response.headers.iter().map(|header| (header.name.to_owned(), text(header.value)));
    let status = response.code.unwrap_or(0);
    let mut head = Head { status, headers: pairs.collect(), framing: Framing::Close, closes: false };
    let codings = head.list("transfer-encoding");
    let lengths = head.list("content-length");
    let connection = head.list("connection");
    let length = lengths.first().filter(|first| lengths.iter().all(|other| other == *first));
    let length = length.and_then(|text| number(text, 10));
    // RFC 9112, section 6.3. Where the ends of a body could be told differently the connection serves once only.
    let (framing, clear) = match (status, codings.as_slice(), lengths.is_empty(), length) {
        (100..200, ..) => (Framing::Nothing, status != 101),
        (204 | 304, codings, none, length) => {
            (Framing::Nothing, codings.is_empty() && (none || length == Some(0)))
        }
        (_, [], true, _) => (Framing::Close, false),
        (_, [], false, Some(length)) => (Framing::Length(length), true),
        (_, [], false, None) => (Framing::Close, false),
        (_, [only], none, _) if only == "chunked" => (Framing::Chunked, none),
        (_, [.., last], ..) if last == "chunked" => (Framing::Chunked, false),
        _ => (Framing::Close, false),
    };
    let old = response.version == Some(0) && !connection.iter().any(|word| word == "keep-alive");
    head.closes = old || !clear || connection.iter().any(|word| word == "close");
    head.framing = framing;
    head
}

/// Digits and nothing else.
fn number(text: &str, radix: u32) -> Option<u64> {
    let plain = !text.is_empty() && text.chars().all(|character| character.is_digit(radix));
    plain.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

impl<S: AsyncRead + Unpin> Answering<S> {
    /// Reads the body, of which `limit` bytes at most are looked at; the first `keep` of it are added to `kept`, also
    /// when this is dropped half-way. True if it was read to its end.
    ///
    /// # Errors
    /// When the body is broken, or its connection is.
    pub async fn read_body(&mut self, limit: usize, kept: &mut Vec<u8>, keep: usize) -> Result<bool> {
        let mut body = Body { stream: &mut self.stream, buffer: &mut self.buffer, kept, keep, left: limit };
        match self.head.framing {
            Framing::Nothing => Ok(true),
            Framing::Length(length) => body.pass(length).await,
            Framing::Chunked => body.chunks().await,
            Framing::Close => {
                // How such a body ends does not matter.
                let _ = body.pass(u64::MAX).await;
                Ok(false)
            }
        }
    }

    /// The connection after a 2xx to CONNECT, which ends with its head; none if more than that has come.
    pub fn into_tunnel(self) -> Option<S> {
        self.buffer.is_empty().then_some(self.stream)
    }

    /// The connection, if it can serve again after `whole` of the body was read.
    pub fn into_reusable(self, whole: bool) -> Option<S> {
        let clean = whole && self.sent && self.buffer.is_empty() && !self.head.closes;
        clean.then_some(self.stream)
    }
}

/// A body being read.
struct Body<'a, S> {
    stream: &'a mut S,
    buffer: &'a mut Vec<u8>,
    kept: &'a mut Vec<u8>,
    keep: usize,
    /// What may still be read of it, bytes.
    left: usize,
}

impl<S: AsyncRead + Unpin> Body<'_, S> {
    /// Passes over `length` bytes; false if that is more than may be read.
    async fn pass(&mut self, mut length: u64) -> Result<bool> {
        while length > 0 {
            if self.left == 0 {
                return Ok(false);
            }
            if self.buffer.is_empty() {
                fill(self.stream, self.buffer).await?;
            }
            let most = usize::try_from(length).unwrap_or(usize::MAX).min(self.left);
            let piece = self.buffer.len().min(most);
            let room = self.keep.saturating_sub(self.kept.len()).min(piece);
            self.kept.extend_from_slice(&self.buffer[..room]);
            self.buffer.drain(..piece);
            self.left -= piece;
            length -= piece as u64;
        }
        Ok(true)
    }

    async fn chunks(&mut self) -> Result<bool> {
        loop {
            let size = self.line().await?;
            let digits = size.split(|byte| *byte == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(digits).ok().and_then(|text| number(text.trim(), 16));
            let size = size.ok_or_else(|| bad("its answer has a broken chunk"))?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(true);
            }
            if !self.pass(size).await? {
                return Ok(false);
            }
            if !self.line().await?.is_empty() {
                return Err(bad("its answer has a broken chunk"));
            }
        }
    }

    async fn line(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.truncate(line.trim_ascii_end().len());
                return Ok(line);
            }
            if self.buffer.len() > LONGEST_HEAD {
                return Err(bad("its answer has a line without end"));
            }
            fill(self.stream, self.buffer).await?;
        }
    }
}

async fn fill(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Result<()> {
    match stream.read_buf(buffer).await? {
        0 => Err(Error::new(ErrorKind::UnexpectedEof, "it closed the connection without a whole answer")),
        _ => Ok(()),
    }
}

fn bad(why: &str) -> Error {
    Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{DuplexStream, duplex};

    /// What comes of an answer with these bytes, after which the other end stays silent or closes.
    async fn answer(bytes: &[u8], limit: usize, stays: bool) -> Result<(u16, Vec<u8>, bool)> {
        let (here, mut there) = duplex(1 << 20);
        there.write_all(bytes).await.expect("room");
        let _there: Option<DuplexStream> = stays.then_some(there);
        let mut answering = send(here, b"POST / HTTP/1.1\r\n\r\n", b"").await?;
        let mut kept = Vec::new();
        let whole = answering.read_body(limit, &mut kept, 8).await?;
        Ok((answering.head.status, kept, answering.into_reusable(whole).is_some()))
    }

    #[tokio::test]
    async fn bodies_end_as_their_heads_say() {
        let cases: [(&[u8], u16, &[u8], bool); 7] = [
            (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", true),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", true),
            (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", false),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nno\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n", 500, b"no!", true),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nmuch more than is looked at", 200, b"much mor", false),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", 200, b"ok", false),
            (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, b"", false),
        ];
        for (bytes, status, beginning, reusable) in cases {
            let got = answer(bytes, 20, true).await.expect("an answer");
            assert_eq!(got, (status, beginning.to_vec(), reusable), "{}", String::from_utf8_lossy(bytes));
        }
        let old = answer(b"HTTP/1.0 200 OK\r\n\r\nto the end", 99, false).await.expect("an answer");
        assert_eq!(old, (200, b"to the e".to_vec(), false));
    }

    #[tokio::test]
    async fn half_an_answer_and_no_http_are_errors() {
        for bytes in [
            &b""[..],
            b"HTTP/1.1 200 OK\r\nConte",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            b"SSH-2.0-x\r\n",
        ] {
            assert!(answer(bytes, 99, false).await.is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[tokio::test]
    async fn a_status_line_settles_it_whatever_follows() {
        let many = [&b"HTTP/1.1 200 OK\r\n"[..], &b"X: y\r\n".repeat(MOST_HEADERS + 1), b"\r\n"].concat();
        let endless = [&b"HTTP/1.1 200 OK\r\nX: "[..], &[b'y'; LONGEST_HEAD]].concat();
        let odd = b"HTTP/1.1 200 OK\r\nX y z\r\n\r\n".to_vec();
        for bytes in [many, endless, odd] {
            assert_eq!(answer(&bytes, 99, true).await.expect("a status"), (200, Vec::new(), false));
        }
        let folded = b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(answer(folded, 99, true).await.expect("an answer"), (200, Vec::new(), true));
        let low = b"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(answer(low, 99, true).await.expect("an answer").0, 99);
    }

    /// Whatever could be read in two ways serves once.
    #[tokio::test]
    async fn a_body_whose_end_is_in_doubt_ends_the_connection() {
        for head in [
            "200 OK\r\nContent-Length: 2\r\nContent-Length: 7",
            "200 OK\r\nContent-Length: +2",
            "200 OK\r\nContent-Length: 2, 7",
            "200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2",
            "200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\nConnection: close",
            "204 No Content\r\nContent-Length: 38",
            "304 Not Modified\r\nTransfer-Encoding: chunked",
        ] {
            let bytes = format!("HTTP/1.1 {head}\r\n\r\nok");
            let (_, _, reusable) = answer(bytes.as_bytes(), 2, true).await.expect(head);
            assert!(!reusable, "{head}");
        }
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
        let both = format!("{chunked}Content-Length: 500\r\n\r\n2\r\nok\r\n0\r\n\r\n");
        assert_eq!(answer(both.as_bytes(), 99, true).await.expect("an answer"), (200, b"ok".to_vec(), false));
        for body in ["+2\r\nok\r\n0\r\n\r\n", "2\r\nokGARBAGE\r\n0\r\n\r\n"] {
            assert!(answer(format!("{chunked}\r\n{body}").as_bytes(), 99, true).await.is_err(), "{body}");
        }
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok";
        assert!(answer(twice.as_bytes(), 99, true).await.expect("an answer").2, "the same twice is no doubt");
    }

    #[tokio::test]
    async fn a_head_has_no_body_whatever_its_length() {
        let (here, mut there) = duplex(1 << 10);
        there.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n").await.expect("room");
        let mut answering = send(here, b"HEAD / HTTP/1.1\r\n\r\n", b"").await.expect("an answer");
        assert!(answering.read_body(99, &mut Vec::new(), 9).await.expect("no body"));
        assert!(answering.into_reusable(true).is_some());
    }

    #[tokio::test]
    async fn who_answers_without_reading_is_heard_and_not_used_again() {
        // Room for neither the body nor all of the head.
        let (here, mut there) = duplex(8);
        let answering = tokio::spawn(async move {
            there.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n").await.expect("read");
            there
        });
        let mut answer = send(here, b"POST / HTTP/1.1\r\n\r\n", &[b'x'; 1 << 20]).await.expect("an answer");
        let whole = answer.read_body(99, &mut Vec::new(), 9).await.expect("no body");
        assert_eq!(answer.head.status, 413);
        assert!(answer.into_reusable(whole).is_none());
        drop(answering.await);
    }
}
