//! Sending a request over TCP or TLS, on a connection that is kept for the next one.

use super::address::Target;
use super::answer::{self, Answer};
use super::request::Outgoing;
use rustls::pki_types::ServerName;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

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
    kept: Option<Box<dyn Io>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Client {
    /// `limit` is for a whole attempt, from connecting to the last byte of the answer.
    pub fn new(target: Target, limit: Duration) -> Self {
        let tls = target.tls.then(tls_connector);
        Self { target, limit, tls, kept: None }
    }

    pub fn target(&self) -> &Target {
        &self.target
    }

    /// One attempt.
    pub async fn send(&mut self, request: &Outgoing) -> Result<Answer, Fault> {
        let deadline = Instant::now() + self.limit;
        match timeout_at(deadline, self.send_unlimited(request)).await {
            Ok(done) => done,
            Err(_) => Err(Fault::TimedOut { target: self.target.shown(), limit: self.limit }),
        }
    }

    async fn send_unlimited(&mut self, request: &Outgoing) -> Result<Answer, Fault> {
        let stream = match still_open(self.kept.take()).await {
            Some(stream) => stream,
            None => self.connect().await?,
        };
        self.exchange(stream, request)
            .await
            .map_err(|error| Fault::Broken(self.target.shown(), error.to_string()))
    }

    async fn exchange(&mut self, mut stream: Box<dyn Io>, request: &Outgoing) -> std::io::Result<Answer> {
        let sent = send(&mut stream, &request.head(&self.target), &request.body).await;
        // A target may answer and close before it has read everything; its answer counts.
        match (answer::read(&mut stream).await, sent) {
            (Ok(answer), sent) => {
                if answer.reusable && sent.is_ok() {
                    self.kept = Some(stream);
                }
                Ok(answer)
            }
            (Err(error), Ok(())) => Err(error),
            (Err(_), Err(error)) => Err(error),
        }
    }

    async fn connect(&self) -> Result<Box<dyn Io>, Fault> {
        let shown = self.target.shown();
        let tcp = TcpStream::connect((self.target.host.as_str(), self.target.port)).await;
        let tcp = tcp.map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => Fault::Refused(shown.clone()),
            _ => Fault::Unreachable(shown.clone(), error.to_string()),
        })?;
        let _ = tcp.set_nodelay(true);
        let Some(tls) = &self.tls else { return Ok(Box::new(tcp)) };
        let name = ServerName::try_from(self.target.host.clone())
            .map_err(|error| Fault::Tls(shown.clone(), error.to_string()))?;
        let stream = tls.connect(name, tcp).await.map_err(|error| Fault::Tls(shown, error.to_string()))?;
        Ok(Box::new(stream))
    }
}

/// A kept connection, unless the target has closed it meanwhile or says more on it than it should. Looking
/// first, instead of trying and sending again, means that no request goes out twice in one attempt.
async fn still_open(kept: Option<Box<dyn Io>>) -> Option<Box<dyn Io>> {
    let mut stream = kept?;
    let silent = timeout(Duration::ZERO, stream.read(&mut [0; 1])).await.is_err();
    silent.then_some(stream)
}

async fn send(stream: &mut Box<dyn Io>, head: &[u8], body: &[u8]) -> std::io::Result<()> {
    // Small requests go out in one piece, so that a target sees head and body together.
    if body.len() <= 16 << 10 {
        stream.write_all(&[head, body].concat()).await?;
    } else {
        stream.write_all(head).await?;
        stream.write_all(body).await?;
    }
    stream.flush().await
}

/// The machine's roots (and `SSL_CERT_FILE`); HTTP/1.1 only.
fn tls_connector() -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let mut config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}
