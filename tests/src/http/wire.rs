//! Reading a stream in the pieces that HTTP is made of.

use std::io;

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
            let found = self.buffer[searched..].windows(mark.len()).position(|window| window == mark);
            if let Some(at) = found {
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

    /// One chunk of a chunked body: empty is the last one (its trailers are read and dropped).
    pub async fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let line = self.until(b"\r\n").await?.ok_or_else(cut_short)?;
        let text = String::from_utf8_lossy(&line).into_owned();
        let size = text.trim_end().split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("bad chunk size {text:?}")))?;
        if size == 0 {
            while self.until(b"\r\n").await?.ok_or_else(cut_short)? != b"\r\n" {}
            return Ok(Vec::new());
        }
        let data = self.exactly(size).await?;
        self.exactly(2).await?;
        Ok(data)
    }
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
