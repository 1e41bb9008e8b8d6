//! The open streams of this process: who they are, how far they are, and how to cut them.

use crate::metrics::SubscribeMetrics;
use crate::socket::StreamSocket;
use crate::store::ListenerRow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use time::OffsetDateTime;
use uuid::Uuid;

/// Why a stream is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Shutdown,
    /// The reader takes nothing.
    Stalled,
    /// Its token was revoked or has expired.
    Token,
    /// Its source is not configured any more.
    SourceGone,
}

impl Cut {
    fn word(self) -> &'static str {
        match self {
            Cut::Shutdown => "shutdown",
            Cut::Stalled => "stalled",
            Cut::Token => "token",
            Cut::SourceGone => "source_gone",
        }
    }
}

/// An open stream.
#[derive(Debug)]
pub struct Connected {
    pub id: Uuid,
    pub token_id: Uuid,
    pub source: Arc<str>,
    pub since: OffsetDateTime,
    cursor: AtomicI64,
    /// How often the server asked for more to write.
    polls: AtomicU64,
    socket: Arc<StreamSocket>,
}

impl Connected {
    pub fn new(token_id: Uuid, source: Arc<str>, cursor: i64, socket: Arc<StreamSocket>) -> Self {
        Self {
            id: Uuid::new_v4(),
            token_id,
            source,
            since: OffsetDateTime::now_utc(),
            cursor: AtomicI64::new(cursor),
            polls: AtomicU64::new(0),
            socket,
        }
    }

    pub fn moved_to(&self, cursor: i64) {
        self.cursor.store(cursor, Ordering::Relaxed);
    }

    pub fn polled(&self) {
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// What changes as long as the reader takes something: (asked for more, bytes not taken).
    pub fn progress(&self) -> (u64, usize) {
        (self.polls.load(Ordering::Relaxed), self.socket.unsent())
    }

    fn row(&self) -> ListenerRow {
        ListenerRow {
            id: self.id,
            token_id: self.token_id,
            source: self.source.to_string(),
            since: self.since,
            cursor: self.cursor.load(Ordering::Relaxed),
        }
    }
}

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    streams: Mutex<Streams>,
    metrics: SubscribeMetrics,
}

#[derive(Debug, Default)]
struct Streams {
    open: HashMap<Uuid, Arc<Connected>>,
    closed: bool,
}

/// A place in the registry; leaving it is dropping this.
#[derive(Debug)]
pub struct Place {
    registry: Registry,
    pub connected: Arc<Connected>,
}

impl Registry {
    pub fn new(metrics: SubscribeMetrics) -> Self {
        Self(Arc::new(Shared { streams: Mutex::default(), metrics }))
    }

    /// Enters a stream. None once the process is stopping.
    pub fn enter(&self, connected: Connected) -> Option<Place> {
        let connected = Arc::new(connected);
        let mut streams = self.lock();
        if streams.closed {
            return None;
        }
        streams.open.insert(connected.id, Arc::clone(&connected));
        drop(streams);
        Some(Place { registry: self.clone(), connected })
    }

    /// Lets no more in and cuts everybody.
    pub fn close(&self) {
        self.lock().closed = true;
        self.cut_where(Cut::Shutdown, |_| true);
    }

    pub fn all(&self) -> Vec<Arc<Connected>> {
        self.lock().open.values().cloned().collect()
    }

    pub fn rows(&self) -> Vec<ListenerRow> {
        self.all().iter().map(|connected| connected.row()).collect()
    }

    /// The tokens in use, each once, in order.
    pub fn tokens(&self) -> Vec<Uuid> {
        let mut tokens: Vec<Uuid> = self.lock().open.values().map(|connected| connected.token_id).collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }

    /// Cuts the streams for which `which` says so.
    pub fn cut_where(&self, reason: Cut, which: impl Fn(&Connected) -> bool) {
        for connected in self.all().into_iter().filter(|connected| which(connected)) {
            if reason == Cut::Stalled {
                connected.socket.cut_hard();
            } else {
                connected.socket.cut();
            }
            self.0.metrics.cut(reason.word());
            log::debug!(source:% = connected.source, listener:% = connected.id, reason = reason.word(); "stream cut");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.registry.lock().open.remove(&self.connected.id);
    }
}
