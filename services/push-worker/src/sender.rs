//! Sends one request and waits for its answer, held to addresses that were checked before.

use crate::connect::{Connection, Connector, Route};
use crate::idle::Idle;
use crate::outgoing::Outgoing;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hooks_shared::http1;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Of a body so much is read, so that the connection can be used again; the rest is never looked at.
const BODY_LIMIT: usize = 16 << 10;
/// How long a body may take once the status is known.
const BODY_TIME: Duration = Duration::from_secs(2);

/// What came back: the head of a response, and the beginning of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub retry_after: Option<String>,
    pub body: Bytes,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// A part, or the whole, took too long.
    Timeout(String),
    Network(String),
    /// No request could be made of it.
    Unsendable(String),
}

/// Sends requests. A seam: tests make it panic, abort or wait.
pub trait Sender: Send + Sync {
    /// Sends to one of `addresses`, all of which were checked. Nothing takes longer than `deadline`.
    fn send(
        &self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Answer, SendError>>;
}

/// The real sender.
#[derive(Debug)]
pub struct HttpSender {
    connector: Connector,
    idle: Idle,
}

impl HttpSender {
    /// `proxy` is the only proxy ever used: the environment is not asked. `connect_timeout` is for TCP and TLS together.
    ///
    /// # Errors
    /// When the proxy's URL is none, or TLS cannot be set up.
    pub fn new(connect_timeout: Duration, proxy: Option<&str>) -> Result<Self, String> {
        Ok(Self { connector: Connector::new(connect_timeout, proxy)?, idle: Idle::default() })
    }

    async fn exchange(&self, mut outgoing: Outgoing, route: Route) -> Result<Exchanged, SendError> {
        let connection = match self.idle.take(&route, |peer| self.connector.leads(&route, peer)).await {
            Some(connection) => connection,
            None => self.connector.connect(&route).await?,
        };
        self.connector.adapt(&mut outgoing, &route);
        let Connection { stream, peer } = connection;
        let head = outgoing.request.head(&route.authority);
        let answering = http1::send(stream, &head, &outgoing.request.body).await;
        let answering = answering.map_err(|error| SendError::Network(error.to_string()))?;
        Ok(Exchanged { answering, peer, route })
    }
}

/// An answer whose status is known, and where it came from.
struct Exchanged {
    answering: http1::Answering<http1::Stream>,
    peer: SocketAddr,
    route: Route,
}

impl Exchanged {
    /// The status has decided: a broken, slow or endless body changes nothing.
    async fn finish(mut self, idle: &Idle, deadline: Instant) -> Answer {
        let mut body = Vec::new();
        let end = deadline.min(Instant::now() + BODY_TIME);
        let read = timeout_at(end, self.answering.read_body(BODY_LIMIT, &mut body, BODY_LIMIT)).await;
        let whole = matches!(read, Ok(Ok(true)));
        let answer = Answer {
            status: self.answering.head.status,
            retry_after: self.answering.head.header("retry-after").map(str::to_owned),
            body: body.into(),
        };
        if let Some(stream) = self.answering.into_reusable(whole) {
            idle.put(&self.route, Connection { stream, peer: self.peer });
        }
        answer
    }
}

impl Sender for HttpSender {
    fn send(
        &self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Answer, SendError>> {
        Box::pin(async move {
            let route = Route::to(&outgoing.url, addresses).map_err(SendError::Unsendable)?;
            match timeout_at(deadline, self.exchange(outgoing, route)).await {
                Ok(exchanged) => Ok(exchanged?.finish(&self.idle, deadline).await),
                Err(_) => Err(SendError::Timeout("no answer within the attempt's time".to_owned())),
            }
        })
    }
}
