//! Sending requests to one target, on a connection that is kept for the next one.

use super::address::Target;
use hooks_shared::http1::{self, Head, Request, Stream};
use std::io::ErrorKind;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

/// What is read of a body; a target that says more loses its connection, nothing else.
const LONGEST_BODY: usize = 256 << 10;
/// What is kept of it.
const KEPT: usize = 512;

/// A target's answer.
#[derive(Debug)]
pub struct Answer {
    pub head: Head,
    /// The first bytes of the body.
    pub beginning: Vec<u8>,
}

impl Answer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.head.status)
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{0} refuses connections: is your server running?")]
    Refused(String),
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    #[error("{0}: the TLS connection cannot be made: {1}; SSL_CERT_FILE can name a certificate to trust")]
    Tls(String, String),
    #[error("no whole answer from {target} within {} s", limit.as_secs_f64())]
    TimedOut { target: String, limit: Duration },
    #[error("{0}: {1}")]
    Broken(String, String),
}

/// Sends requests to one target, one after the other.
pub struct Client {
    target: Target,
    limit: Duration,
    tls: Option<TlsConnector>,
    kept: Option<Stream>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Client {
    /// `limit` is for a whole attempt, from connecting to the last byte of the answer.
    pub fn new(target: Target, limit: Duration) -> Result<Self, String> {
        let tls = target.tls.then(http1::tls).transpose()?;
        Ok(Self { target, limit, tls, kept: None })
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// One attempt.
    pub async fn send(&mut self, request: &Request) -> Result<Answer, Fault> {
        let deadline = Instant::now() + self.limit;
        match timeout_at(deadline, self.send_unlimited(request)).await {
            Ok(done) => done,
            Err(_) => Err(Fault::TimedOut { target: self.target.shown(), limit: self.limit }),
        }
    }

    async fn send_unlimited(&mut self, request: &Request) -> Result<Answer, Fault> {
        let kept = match self.kept.take() {
            Some(stream) => http1::still_open(stream).await,
            None => None,
        };
        let stream = match kept {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        self.exchange(stream, request)
            .await
            .map_err(|error| Fault::Broken(self.target.shown(), error.to_string()))
    }

    async fn exchange(&mut self, stream: Stream, request: &Request) -> std::io::Result<Answer> {
        let mut answering = http1::send(stream, &request.head(&self.target.authority), &request.body).await?;
        let mut beginning = Vec::new();
        let whole = answering.read_body(LONGEST_BODY, &mut beginning, KEPT).await?;
        let head = answering.head.clone();
        self.kept = answering.into_reusable(whole);
        Ok(Answer { head, beginning })
    }

    async fn connect(&self) -> Result<Stream, Fault> {
        let shown = self.target.shown();
        let tcp = TcpStream::connect((self.target.host.as_str(), self.target.port)).await;
        let tcp = tcp.map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => Fault::Refused(shown.clone()),
            _ => Fault::Unreachable(shown.clone(), error.to_string()),
        })?;
        let _ = tcp.set_nodelay(true);
        let Some(tls) = &self.tls else { return Ok(Box::new(tcp)) };
        let secured = http1::secure(tls, &self.target.host, tcp).await;
        secured.map_err(|error| Fault::Tls(shown, error.to_string()))
    }
}
