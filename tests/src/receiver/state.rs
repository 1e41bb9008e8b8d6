//! What a receiver remembers and what it is told to do.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Script;
use crate::http::Head;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    /// Request line and headers.
    pub head: Head,
    /// The body, decoded from its chunks if it was chunked.
    pub body: Vec<u8>,
    /// The chunks of a chunked body.
    pub chunks: Vec<Vec<u8>>,
    /// False if the client ended the connection before the body was whole, or the script left it unread.
    pub complete: bool,
    /// When the head was whole.
    pub arrived: Instant,
    /// When the body was.
    pub finished: Instant,
    /// The connection it came on, counted from 1.
    pub connection: usize,
}

impl Request {
    /// The method.
    pub fn method(&self) -> &str {
        self.head.word(0)
    }

    /// Path and query as sent.
    pub fn target(&self) -> &str {
        self.head.word(1)
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target().split('?').next().unwrap_or_default()
    }

    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.header(name)
    }

    /// The body as JSON; panics if it is none.
    pub fn json(&self) -> serde_json::Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in: {text}"))
    }
}

type Choice = dyn Fn(&Request) -> Script + Send + Sync;

/// How the requests to a path are answered.
#[derive(Clone)]
pub(super) enum Plan {
    InTurn(VecDeque<Script>),
    Computed(Arc<Choice>),
}

impl Plan {
    pub fn in_turn(scripts: impl IntoIterator<Item = Script>) -> Self {
        let scripts: VecDeque<_> = scripts.into_iter().collect();
        assert!(!scripts.is_empty(), "a path needs at least one script");
        Self::InTurn(scripts)
    }

    pub fn computed(choose: impl Fn(&Request) -> Script + Send + Sync + 'static) -> Self {
        Self::Computed(Arc::new(choose))
    }

    /// The next request's share of it.
    fn next(&mut self) -> Chosen {
        match self {
            Self::InTurn(scripts) if scripts.len() > 1 => {
                Chosen::Now(scripts.pop_front().unwrap_or_default())
            }
            Self::InTurn(scripts) => Chosen::Now(scripts.front().cloned().unwrap_or_default()),
            Self::Computed(choose) => Chosen::Later(choose.clone()),
        }
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InTurn(scripts) => f.debug_tuple("InTurn").field(scripts).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

/// A script, or how to find one once the request is whole.
pub(super) enum Chosen {
    Now(Script),
    Later(Arc<Choice>),
}

/// Shared by the receiver and its connections.
#[derive(Debug, Default)]
pub(super) struct State {
    /// By path; `None` is everywhere else.
    plans: Mutex<HashMap<Option<String>, Plan>>,
    requests: Mutex<Vec<Request>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    hang_ups: AtomicUsize,
    connections: AtomicUsize,
}

impl State {
    pub fn plan(&self, path: Option<&str>, plan: Plan) {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).insert(path.map(String::from), plan);
    }

    pub fn choose(&self, path: &str) -> Chosen {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let own = Some(path.to_owned());
        let key = if plans.contains_key(&own) { own } else { None };
        plans.get_mut(&key).map_or_else(|| Chosen::Now(Script::default()), Plan::next)
    }

    pub fn requests(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight.load(Ordering::SeqCst)
    }

    pub fn hang_ups(&self) -> usize {
        self.hang_ups.load(Ordering::SeqCst)
    }

    pub fn hung_up(&self) {
        self.hang_ups.fetch_add(1, Ordering::SeqCst);
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Counts a connection; its number.
    pub fn connection(&self) -> usize {
        self.connections.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Counts a request in flight until the guard is dropped.
    pub fn begin(&self) -> InFlight<'_> {
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_in_flight.fetch_max(now, Ordering::SeqCst);
        InFlight(self)
    }
}

/// One request in flight.
pub(super) struct InFlight<'a>(&'a State);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}
