//! The socket under a stream, held beside the server's own handle: the server stops polling a body while its
//! write buffer is full, so only the socket itself can tell that a reader takes nothing, and end it.

use socket2::{SockRef, Socket};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Kernel memory for what a reader has not taken yet, bytes. Fixed, so that thousands of slow readers stay
/// affordable; without it Linux grows each to several megabytes.
const SEND_BUFFER: usize = 128 << 10;

/// A duplicate of an accepted connection's socket. A second descriptor of the process.
#[derive(Debug)]
pub struct StreamSocket(Socket);

impl StreamSocket {
    /// Duplicates and prepares the socket of a connection. Unacknowledged data ends it after `gone_after`.
    pub fn of(stream: &tokio::net::TcpStream, gone_after: Duration) -> io::Result<Self> {
        let socket = SockRef::from(stream).try_clone()?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_user_timeout(Some(gone_after))?;
        #[cfg(not(target_os = "linux"))]
        let _ = gone_after;
        Ok(Self(socket))
    }

    /// Ends the connection in the middle, so that clients do not take it for a clean end. What was written
    /// still goes out.
    pub fn cut(&self) {
        // Already closed by the other side is as good.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }

    /// Ends the connection and throws away what was not taken.
    pub fn cut_hard(&self) {
        let _ = self.0.set_linger(Some(Duration::ZERO));
        self.cut();
    }

    /// Bytes that were written and not yet acknowledged by the other side's kernel.
    pub fn unsent(&self) -> usize {
        let mut count: libc::c_int = 0;
        // SAFETY: TIOCOUTQ writes one int to the given place, and the descriptor is open as long as self.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
        if result == 0 { usize::try_from(count).unwrap_or(0) } else { 0 }
    }
}
