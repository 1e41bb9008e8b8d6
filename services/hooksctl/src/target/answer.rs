//! Reading a target's answer, as far as it is needed: the status, whether the connection can serve again,
//! and the beginning of the body for messages.

use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncRead, AsyncReadExt};

const LONGEST_HEAD: usize = 64 << 10;
/// What is read of a body; a target that says more loses its connection, nothing else.
const LONGEST_BODY: usize = 256 << 10;
/// What is kept of it.
const KEPT: usize = 512;

/// A target's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// The first bytes of the body.
    pub beginning: Vec<u8>,
    /// True if the body was read to its end and the connection stays open.
    pub reusable: bool,
}

impl Answer {
    /// The first value of a header; what is not UTF-8 is replaced.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// How a body ends.
enum Framing {
    Nothing,
    Length(usize),
    Chunked,
    Close,
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let (_, value) = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value)
}

struct Head {
    status: u16,
    headers: Vec<(String, String)>,
    framing: Framing,
    closes: bool,
}

/// Reads one answer; interim ones (1xx) are skipped.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Answer> {
    let mut buffer = Vec::new();
    let head = loop {
        let head = read_head(stream, &mut buffer).await?;
        if head.status >= 200 {
            break head;
        }
    };
    let mut body = Body { stream, buffer, beginning: Vec::new(), total: 0 };
    let whole = match head.framing {
        Framing::Nothing => true,
        Framing::Length(length) => body.take(length).await?,
        Framing::Chunked => body.chunks().await?,
        Framing::Close => {
            body.rest().await;
            false
        }
    };
    let reusable = whole && !head.closes && body.buffer.is_empty();
    Ok(Answer { status: head.status, headers: head.headers, beginning: body.beginning, reusable })
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin), buffer: &mut Vec<u8>) -> Result<Head> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(buffer) {
            Ok(httparse::Status::Complete(length)) => {
                let head = head_of(&response);
                buffer.drain(..length);
                return Ok(head);
            }
            Ok(httparse::Status::Partial) if buffer.len() < LONGEST_HEAD => fill(stream, buffer).await?,
            Ok(httparse::Status::Partial) => return Err(bad("its answer's head is too long")),
            Err(_) => return Err(bad("it answers with something that is not HTTP/1.1")),
        }
    }
}

fn head_of(response: &httparse::Response<'_, '_>) -> Head {
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
    let pairs = response.headers.iter().map(|header| (header.name.to_owned(), text(header.value)));
    let headers: Vec<_> = pairs.collect();
    let value = |name: &str| find(&headers, name).map(str::to_owned);
    let status = response.code.unwrap_or(0);
    let chunked = value("transfer-encoding").is_some_and(|v| v.to_ascii_lowercase().contains("chunked"));
    let length = value("content-length").and_then(|text| text.parse().ok());
    let framing = match (status, chunked, length) {
        (100..200 | 204 | 304, _, _) => Framing::Nothing,
        (_, true, _) => Framing::Chunked,
        (_, false, Some(length)) => Framing::Length(length),
        (_, false, None) => Framing::Close,
    };
    let connection = value("connection").unwrap_or_default().to_ascii_lowercase();
    let old = response.version == Some(0) && !connection.contains("keep-alive");
    let closes = old || connection.contains("close");
    Head { status, headers, framing, closes }
}

/// A body being read, with what has arrived of it and not been looked at.
struct Body<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    beginning: Vec<u8>,
    total: usize,
}

impl<S: AsyncRead + Unpin> Body<'_, S> {
    /// Reads `length` bytes; false if that is more than is worth reading.
    async fn take(&mut self, length: usize) -> Result<bool> {
        if self.total.saturating_add(length) > LONGEST_BODY {
            self.keep_buffered();
            return Ok(false);
        }
        while self.buffer.len() < length {
            fill(self.stream, &mut self.buffer).await?;
        }
        let piece: Vec<u8> = self.buffer.drain(..length).collect();
        self.keep(&piece);
        self.total += length;
        Ok(true)
    }

    async fn chunks(&mut self) -> Result<bool> {
        loop {
            let size = self.line().await?;
            let digits = size.split(|byte| *byte == b';').next().unwrap_or_default();
            let size =
                std::str::from_utf8(digits).ok().and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
            let size = size.ok_or_else(|| bad("its answer has a broken chunk"))?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(true);
            }
            if !self.take(size).await? {
                return Ok(false);
            }
            self.line().await?;
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
            fill(self.stream, &mut self.buffer).await?;
        }
    }

    /// Reads on until the connection closes or enough has been seen; how it ends does not matter.
    async fn rest(&mut self) {
        while self.buffer.len() < KEPT && fill(self.stream, &mut self.buffer).await.is_ok() {}
        self.keep_buffered();
    }

    fn keep_buffered(&mut self) {
        let piece = std::mem::take(&mut self.buffer);
        self.keep(&piece);
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = KEPT.saturating_sub(self.beginning.len()).min(piece.len());
        self.beginning.extend_from_slice(&piece[..room]);
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

    async fn answer(bytes: &[u8]) -> Result<Answer> {
        let mut bytes = bytes;
        read(&mut bytes).await
    }

    #[tokio::test]
    async fn bodies_end_as_their_heads_say() {
        let cases: [(&[u8], u16, &[u8], bool); 6] = [
            (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", true),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", true),
            (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 200, b"ok", false),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nno\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n", 500, b"no!", true),
            (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end", false),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nmuch", 200, b"much", false),
        ];
        for (bytes, status, beginning, reusable) in cases {
            let got = answer(bytes).await.expect("an answer");
            assert_eq!((got.status, &got.beginning[..], got.reusable), (status, beginning, reusable));
        }
    }

    #[tokio::test]
    async fn half_an_answer_and_no_http_are_errors() {
        for bytes in [
            &b""[..],
            b"HTTP/1.1 200 OK\r\nConte",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            b"SSH-2.0-x\r\n",
        ] {
            assert!(answer(bytes).await.is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }
}
