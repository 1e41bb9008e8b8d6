//! A connection whose incoming bytes are also shown to its [`HeadTap`].

use super::HeadTap;
use actix_web::rt::net::TcpStream;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The tap of a connection, as its handlers reach it. A connection belongs to one thread.
#[derive(Debug, Clone, Default)]
pub struct TapHandle(Rc<RefCell<HeadTap>>);

impl TapHandle {
    /// The head of the request that is handled now.
    pub fn take(&self) -> Option<Vec<u8>> {
        self.0.borrow_mut().take()
    }

    pub fn give_up(&self) {
        self.0.borrow_mut().give_up();
    }
}

#[derive(Debug)]
pub struct TappedStream {
    inner: TcpStream,
    tap: TapHandle,
}

impl TappedStream {
    pub fn new(inner: TcpStream) -> Self {
        Self { inner, tap: TapHandle::default() }
    }

    pub fn tap(&self) -> TapHandle {
        self.tap.clone()
    }
}

impl AsyncRead for TappedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        if let Poll::Ready(Ok(())) = &polled {
            self.tap.0.borrow_mut().feed(&buf.filled()[before..]);
        }
        polled
    }
}

impl AsyncWrite for TappedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
