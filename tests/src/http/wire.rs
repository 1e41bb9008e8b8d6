//! Reading a stream in the pieces that HTTP is made of.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// A stream with what was read from it but not yet used.
#[derive(Debug)]
pub(crate) struct Wire<S> {
    pub stream: S,
    buffer: Vec<u8>,
}

impl<S: AsyncRead + Unpin> Wire<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Reads more into the buffer; the number of bytes, 0 at the end of the stream.
    pub async fn fill(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }

    /// Everything up to and including `mark`; `None` if the stream ends cleanly before its first byte.
    pub async fn until(&mut self, mark: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut searched = 0;
        loop {
            if let Some(at) = find(&self.buffer[searched..], mark) {
                let rest = self.buffer.split_off(searched + at + mark.len());
                return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
            }
            searched = self.buffer.len().saturating_sub(mark.len() - 1);
            if self.fill().await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(cut_short()) };
            }
        }
    }

    /// Exactly `n` bytes.
    pub async fn exactly(&mut self, n: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < n {
            if self.fill().await? == 0 {
                return Err(cut_short());
            }
        }
        let rest = self.buffer.split_off(n);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// Whatever has been read and not been used.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// One chunk of a chunked body: empty is the last one (its trailers are read and dropped). Nothing is used up
    /// until the chunk is whole, so a caller that gives up waiting can ask again.
    pub async fn chunk(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some((data, end)) = first_chunk(&self.buffer)? {
                let chunk = self.buffer[data].to_vec();
                self.buffer.drain(..end);
                return Ok(chunk);
            }
            if self.fill().await? == 0 {
                return Err(cut_short());
            }
        }
    }
}

/// Where the data of the chunk at the start of `buffer` lies and where the chunk ends, if it is whole.
fn first_chunk(buffer: &[u8]) -> io::Result<Option<(Range<usize>, usize)>> {
    let Some(line) = find(buffer, b"\r\n") else { return Ok(None) };
    let text = String::from_utf8_lossy(&buffer[..line]);
    let size = text.split(';').next().unwrap_or_default().trim();
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{what} {text:?}"));
    let size = usize::from_str_radix(size, 16).map_err(|_| invalid("bad chunk size"))?;
    let start = line + 2;
    if size == 0 {
        // The trailers end with an empty line, which may be the first.
        let trailers = &buffer[line..];
        return Ok(find(trailers, b"\r\n\r\n").map(|at| (start..start, line + at + 4)));
    }
    let end = start + size + 2;
    if buffer.len() < end {
        return Ok(None);
    }
    if &buffer[end - 2..end] != b"\r\n" {
        return Err(invalid("more data than the size of the chunk"));
    }
    Ok(Some((start..end - 2, end)))
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// All chunks of a body up to the last, empty one, which is left out.
pub(crate) async fn dechunk<S: AsyncRead + Unpin>(
    wire: &mut Wire<S>,
    chunks: &mut Vec<Vec<u8>>,
) -> io::Result<()> {
    loop {
        let chunk = wire.chunk().await?;
        if chunk.is_empty() {
            return Ok(());
        }
        chunks.push(chunk);
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the stream ended in the middle of a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn chunks_come_out_one_by_one_and_only_whole() {
        let mut wire = Wire::new(&b"3\r\na\r\n\r\n2;x=y\r\nbc\r\n0\r\nT: t\r\n\r\nrest"[..]);
        let mut chunks = Vec::new();
        dechunk(&mut wire, &mut chunks).await.expect("a whole body");
        assert_eq!(chunks, [b"a\r\n".to_vec(), b"bc".to_vec()]);
        assert_eq!(wire.exactly(4).await.expect("what follows"), b"rest");
        let cut = Wire::new(&b"5\r\nabc"[..]).chunk().await.expect_err("half a chunk");
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
        let bad = Wire::new(&b"1\r\nabc\r\n"[..]).chunk().await.expect_err("a wrong size");
        assert_eq!(bad.kind(), io::ErrorKind::InvalidData);
    }
}
