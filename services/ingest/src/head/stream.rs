//! A connection whose incoming bytes are also shown to its [`HeadTap`].

use super::HeadTap;
use actix_web::rt::net::TcpStream;
use hooks_shared::shutdown::Shutdown;
use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The tap of a connection, as its handlers reach it. A connection belongs to one thread.
#[derive(Debug, Clone, Default)]
pub struct TapHandle(Rc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    heads: RefCell<HeadTap>,
    /// Requests that are being handled.
    handling: Cell<usize>,
}

/// A request that is being handled, until dropped.
#[derive(Debug)]
pub struct Handling(TapHandle);

impl Drop for Handling {
    fn drop(&mut self) {
        let handling = &self.0.0.handling;
        handling.set(handling.get() - 1);
    }
}

impl TapHandle {
    /// The head of the request that is handled now.
    pub fn take(&self) -> Option<Vec<u8>> {
        self.0.heads.borrow_mut().take()
    }

    pub fn give_up(&self) {
        self.0.heads.borrow_mut().give_up();
    }

    pub fn handling(&self) -> Handling {
        self.0.handling.set(self.0.handling.get() + 1);
        Handling(self.clone())
    }

    fn is_idle(&self) -> bool {
        self.0.handling.get() == 0 && self.0.heads.borrow().is_idle()
    }
}

/// The stream of one connection. While the service stops, it ends as soon as no request is under way on it:
/// nothing else would tell an idle client to go.
pub struct TappedStream {
    inner: TcpStream,
    tap: TapHandle,
    stopping: Pin<Box<dyn Future<Output = ()>>>,
    stopped: bool,
}

impl std::fmt::Debug for TappedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TappedStream").field("tap", &self.tap).finish_non_exhaustive()
    }
}

impl TappedStream {
    pub fn new(inner: TcpStream, stopping: Shutdown) -> Self {
        let stopping = Box::pin(async move { stopping.wait().await });
        Self { inner, tap: TapHandle::default(), stopping, stopped: false }
    }

    pub fn tap(&self) -> TapHandle {
        self.tap.clone()
    }

    fn is_stopping(&mut self, cx: &mut Context<'_>) -> bool {
        self.stopped = self.stopped || self.stopping.as_mut().poll(cx).is_ready();
        self.stopped
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
        match &polled {
            Poll::Ready(Ok(())) => self.tap.0.heads.borrow_mut().feed(&buf.filled()[before..]),
            // Reading nothing is the end of the stream.
            Poll::Pending if self.is_stopping(cx) && self.tap.is_idle() => return Poll::Ready(Ok(())),
            _ => {}
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
