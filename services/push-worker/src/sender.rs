//! Sends one request and waits for its answer, held to addresses that were checked before.

use crate::connect::{Connection, Connector, Route};
use crate::context::Cut;
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
    /// Sends to one of `addresses`, all of which were checked. Nothing takes longer than `deadline`, or goes on after
    /// `cut`; a status that is known by then stands.
    fn send<'a>(
        &'a self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
        cut: &'a Cut,
    ) -> BoxFuture<'a, Result<Answer, SendError>>;
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
        let kept = self.idle.take(&route, |peer| self.connector.leads(&route, peer)).await;
        let was_kept = kept.is_some();
        let Connection { stream, peer } = match kept {
            Some(connection) => connection,
            None => self.connector.connect(&route).await?,
        };
        self.connector.adapt(&mut outgoing, &route);
        let head = outgoing.request.head(&route.authority);
        match http1::send(stream, &head, &outgoing.request.body).await {
            Ok(answering) => Ok(Exchanged { answering, peer, route }),
            Err(error) if was_kept => {
                Err(SendError::Network(format!("on a connection kept from before: {error}")))
            }
            Err(error) => Err(SendError::Network(error.to_string())),
        }
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
    async fn finish(mut self, idle: &Idle, deadline: Instant, cut: &Cut) -> Answer {
        let mut body = Vec::new();
        let end = deadline.min(Instant::now() + BODY_TIME);
        let whole = tokio::select! {
            // What has come by the cut is kept.
            biased;
            read = timeout_at(end, self.answering.read_body(BODY_LIMIT, &mut body, BODY_LIMIT)) => {
                matches!(read, Ok(Ok(true)))
            }
            () = cut.wait() => false,
        };
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
    fn send<'a>(
        &'a self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
        cut: &'a Cut,
    ) -> BoxFuture<'a, Result<Answer, SendError>> {
        Box::pin(async move {
            let route = Route::to(&outgoing.url, addresses).map_err(SendError::Unsendable)?;
            let exchanged = tokio::select! {
                exchanged = timeout_at(deadline, self.exchange(outgoing, route)) => exchanged,
                () = cut.wait() => return Err(SendError::Network("cut off: this worker had to stop".to_owned())),
            };
            match exchanged {
                Ok(exchanged) => Ok(exchanged?.finish(&self.idle, deadline, cut).await),
                Err(_) => Err(SendError::Timeout("no answer within the attempt's time".to_owned())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::io::AsyncWriteExt;
    use tokio::sync::watch;
    use url::Url;

    /// A 2xx decides: a worker that has to stop while the body comes does not forget it.
    #[tokio::test]
    async fn a_status_that_is_known_stands_when_its_body_is_cut() {
        let (here, mut there) = tokio::io::duplex(1 << 10);
        there.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await.expect("room");
        let stream: http1::Stream = Box::new(here);
        let answering = http1::send(stream, b"POST / HTTP/1.1\r\n\r\n", b"").await.expect("a head");
        let peer: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        let route =
            Route::to(&Url::parse("http://127.0.0.1:9/").expect("a URL"), vec![peer]).expect("a route");
        let cut = Cut(watch::channel(true).1);
        let deadline = Instant::now() + Duration::from_secs(60);
        let exchanged = Exchanged { answering, peer, route };
        let answer = exchanged.finish(&Idle::default(), deadline, &cut).now_or_never().expect("at once");
        assert_eq!((answer.status, &answer.body[..]), (200, &b"half"[..]));
    }
}
