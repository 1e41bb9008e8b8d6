//! A scripted webhook receiver on loopback that keeps every request byte for byte.

mod connection;
mod script;
mod state;
mod tls;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

pub use script::Script;
pub use state::Request;
pub use tls::Certificate;

use crate::until;
use state::{Plan, State};

/// A receiver of webhooks. Paths without a script are answered 200 with an empty body. It lives on the runtime
/// of the test that started it and closes every connection when dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    certificate: Option<Certificate>,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl Receiver {
    /// Listens on a free port of 127.0.0.1 without TLS.
    pub async fn start() -> Self {
        Self::listen((Ipv4Addr::LOCALHOST, 0).into(), None).await
    }

    /// The same on an address that others on a network reach.
    pub async fn start_on(address: SocketAddr) -> Self {
        Self::listen(address, None).await
    }

    /// The same behind TLS with `certificate`.
    pub async fn start_tls(certificate: Certificate) -> Self {
        Self::listen((Ipv4Addr::LOCALHOST, 0).into(), Some(certificate)).await
    }

    async fn listen(address: SocketAddr, certificate: Option<Certificate>) -> Self {
        let listener = TcpListener::bind(address).await.expect("bind a receiver");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::<State>::default();
        let acceptor = certificate.as_ref().map(Certificate::acceptor);
        let accepting = tokio::spawn(accept(listener, acceptor, state.clone()));
        Self { address, certificate, state, accepting }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of `path`, which starts with a slash; by name (`localhost`) under TLS.
    pub fn url(&self, path: &str) -> String {
        match self.certificate {
            Some(_) => format!("https://localhost:{}{path}", self.address.port()),
            None => format!("http://{}{path}", self.address),
        }
    }

    /// Answers every request to `path` (without its query) from now on with `script`.
    pub fn respond(&self, path: &str, script: Script) {
        self.respond_in_turn(path, [script]);
    }

    /// Answers the requests to `path` with each script in turn; the last one repeats.
    pub fn respond_in_turn(&self, path: &str, scripts: impl IntoIterator<Item = Script>) {
        self.state.plan(Some(path), Plan::in_turn(scripts));
    }

    /// Answers the requests to `path` with what `choose` makes of each, its body included.
    pub fn respond_with(&self, path: &str, choose: impl Fn(&Request) -> Script + Send + Sync + 'static) {
        self.state.plan(Some(path), Plan::computed(choose));
    }

    /// Answers requests to every path that has no script of its own with `script`.
    pub fn respond_elsewhere(&self, script: Script) {
        self.state.plan(None, Plan::in_turn([script]));
    }

    /// Answers requests to every path that has no script of its own with what `choose` makes of each.
    pub fn respond_elsewhere_with(&self, choose: impl Fn(&Request) -> Script + Send + Sync + 'static) {
        self.state.plan(None, Plan::computed(choose));
    }

    /// Every request so far, in the order in which they were read whole.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests().clone()
    }

    /// The requests to `path`, without its query.
    pub fn requests_to(&self, path: &str) -> Vec<Request> {
        self.state.requests().iter().filter(|request| request.path() == path).cloned().collect()
    }

    /// Forgets all requests.
    pub fn clear(&self) {
        self.state.requests().clear();
    }

    /// Waits for at least `n` requests and returns all.
    pub async fn wait_for(&self, n: usize, deadline: Duration) -> Vec<Request> {
        until(deadline, &format!("{n} requests at the receiver"), async || {
            let requests = self.requests();
            let seen = format!("{} requests: {}", requests.len(), first_lines(&requests));
            if requests.len() >= n { Ok(requests) } else { Err(seen) }
        })
        .await
    }

    /// How many requests have begun and are not answered.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight()
    }

    /// The most requests ever in flight at once.
    pub fn most_in_flight(&self) -> usize {
        self.state.most_in_flight()
    }

    /// How many clients closed the connection while they were owed an answer.
    pub fn hang_ups(&self) -> usize {
        self.state.hang_ups()
    }

    /// How many connections were ever accepted.
    pub fn connections(&self) -> usize {
        self.state.connections()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The last few first lines, for messages.
fn first_lines(requests: &[Request]) -> String {
    let lines = requests.iter().rev().take(5).map(|request| request.head.start_line.as_str());
    lines.collect::<Vec<_>>().join(", ")
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let number = state.connection();
        connections.spawn(connection::serve(stream, acceptor.clone(), number, state.clone()));
    }
}
