//! A client that sends exactly the bytes it is given.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Head, Wire, dechunk};

/// How long an answer may take unless the test says otherwise.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response as it came.
#[derive(Debug, Clone)]
pub struct RawResponse {
    /// The status code.
    pub status: u16,
    /// Status line and headers.
    pub head: Head,
    /// The body, decoded from its chunks.
    pub body: Vec<u8>,
    /// The chunks of a chunked body, with the boundaries the server chose.
    pub chunks: Vec<Vec<u8>>,
    /// False if the connection ended before the body did; for a body that only the end of the connection
    /// delimits, if it ended with a reset.
    pub complete: bool,
}

impl RawResponse {
    fn without_body(head: Head) -> Self {
        let status = head.word(1).parse().unwrap_or(0);
        Self { status, head, body: Vec::new(), chunks: Vec::new(), complete: true }
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// The body as text; what is not UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; panics if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in: {}", self.text()))
    }
}

/// How a response's body is delimited, where the response itself does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// By its headers.
    Declared,
    /// There is none, whatever the headers say: the answer to a HEAD request.
    None,
}

/// A connection that sends raw bytes and reads responses, any number of them.
#[derive(Debug)]
pub struct RawConnection {
    wire: Wire<TcpStream>,
}

impl RawConnection {
    /// Connects; panics if refused.
    pub async fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).await.unwrap_or_else(|error| panic!("connect to {address}: {error}"))
    }

    /// Connects, if somebody listens.
    pub async fn try_connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { wire: Wire::new(stream) })
    }

    /// Sends exactly these bytes.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wire.stream.write_all(bytes).await
    }

    /// Says that nothing more will be sent; answers can still be read.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.wire.stream.shutdown().await
    }

    /// Reads one response, also an interim one (1xx); an error if the connection ends before its head is whole.
    pub async fn recv(&mut self) -> io::Result<RawResponse> {
        self.recv_within(PATIENCE, Body::Declared).await
    }

    /// Reads one response within `deadline`; `TimedOut` after that.
    pub async fn recv_within(&mut self, deadline: Duration, body: Body) -> io::Result<RawResponse> {
        let nothing =
            |_| io::Error::new(io::ErrorKind::TimedOut, format!("no whole response within {deadline:?}"));
        timeout(deadline, self.read_response(body)).await.map_err(nothing)?
    }

    /// Reads the head of a response and leaves its body unread, for streams.
    pub async fn recv_head(&mut self, deadline: Duration) -> io::Result<Head> {
        let nothing = |_| io::Error::new(io::ErrorKind::TimedOut, format!("no head within {deadline:?}"));
        timeout(deadline, self.read_head()).await.map_err(nothing)?
    }

    /// Reads one chunk of the body after [`Self::recv_head`]; an empty one is the clean end.
    pub async fn recv_chunk(&mut self) -> io::Result<Vec<u8>> {
        self.wire.chunk().await
    }

    /// True if the peer closes or resets the connection within `deadline` without sending anything more.
    pub async fn closed_within(&mut self, deadline: Duration) -> bool {
        matches!(timeout(deadline, self.wire.fill()).await, Ok(Ok(0) | Err(_)))
    }

    /// Ends the connection with a reset instead of a clean close.
    pub fn reset(self) {
        // Closing with a zero linger time is what sends the reset.
        let _ = socket2::SockRef::from(&self.wire.stream).set_linger(Some(Duration::ZERO));
    }

    /// The local address, which the server sees as its peer.
    pub fn local_addr(&self) -> SocketAddr {
        self.wire.stream.local_addr().expect("a connected socket has an address")
    }

    async fn read_head(&mut self) -> io::Result<Head> {
        let raw = self.wire.until(b"\r\n\r\n").await?;
        raw.map(Head::parse)
            .ok_or_else(|| io::Error::new(io::ErrorKind::ConnectionAborted, "closed without an answer"))
    }

    /// Reads what follows a head from [`Self::recv_head`] as a response's body; what there is at the deadline.
    pub(crate) async fn recv_body(&mut self, head: Head, deadline: Duration) -> RawResponse {
        let mut response = RawResponse::without_body(head);
        if timeout(deadline, self.read_body(&mut response)).await.is_err() {
            response.complete = false;
        }
        response
    }

    async fn read_response(&mut self, body: Body) -> io::Result<RawResponse> {
        let mut response = RawResponse::without_body(self.read_head().await?);
        if body == Body::Declared {
            self.read_body(&mut response).await;
        }
        Ok(response)
    }

    async fn read_body(&mut self, response: &mut RawResponse) {
        if response.status / 100 == 1 || response.status == 204 || response.status == 304 {
            return;
        }
        if response.head.is_chunked() {
            response.complete = dechunk(&mut self.wire, &mut response.chunks).await.is_ok();
            response.body = response.chunks.concat();
        } else if let Some(length) = response.head.content_length() {
            match self.wire.exactly(length).await {
                Ok(body) => response.body = body,
                Err(_) => (response.body, response.complete) = (self.wire.take_buffered(), false),
            }
        } else {
            response.body = self.wire.take_buffered();
            response.complete = self.wire.stream.read_to_end(&mut response.body).await.is_ok();
        }
    }
}

/// Sends `bytes` on a new connection and reads one response; panics if there is none.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> RawResponse {
    let mut connection = RawConnection::connect(address).await;
    // A server may refuse before it has read everything: the answer counts, not the failed write.
    let sent = connection.send(bytes).await;
    connection
        .recv()
        .await
        .unwrap_or_else(|error| panic!("no answer from {address}: {error} (sending: {sent:?})"))
}

/// Gets `path` on a new connection; panics if there is no answer.
pub async fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> RawResponse {
    exchange(address, &request("GET", path, headers, b"")).await
}

/// A request's bytes: `Host` and, with a body or on POST, PUT and PATCH, `Content-Length` are added if missing.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let mut bytes = format!("{method} {path} HTTP/1.1\r\n").into_bytes();
    if !given("host") {
        bytes.extend_from_slice(b"Host: localhost\r\n");
    }
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    let has_body = !body.is_empty() || ["POST", "PUT", "PATCH"].contains(&method);
    if has_body && !given("content-length") && !given("transfer-encoding") {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}
