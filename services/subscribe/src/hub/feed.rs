//! What listeners of one source share: its ring, the replays, the newest known head, and the wake-up.

use super::entry::Page;
use super::ring::{Found, Ring};
use crate::metrics::SourceMetrics;
use crate::store::Head;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Replays kept for listeners that have not taken them yet.
const MOST_REPLAYS: usize = 256;
const MOST_REPLAY_BYTES: usize = 8 << 20;

/// What the configuration says about a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRules {
    /// Events older than this are left out of a first drain.
    pub skew: Duration,
    /// Nothing is sent until the source is resumed.
    pub paused: bool,
}

/// A source and what its listeners share.
#[derive(Debug)]
pub struct Feed {
    pub source: Arc<str>,
    pub metrics: SourceMetrics,
    rules: Mutex<SourceRules>,
    ring_limit: usize,
    ring: RwLock<Option<Ring>>,
    replays: Mutex<Replays>,
    head: watch::Sender<Head>,
    wake: watch::Sender<()>,
    usage: Mutex<Usage>,
}

#[derive(Debug, Default)]
struct Replays {
    /// Number of the first message kept.
    first: u64,
    messages: VecDeque<Bytes>,
    bytes: usize,
}

#[derive(Debug)]
struct Usage {
    listeners: usize,
    fed: bool,
    idle_since: Instant,
}

/// What a listener gets when it asks for what comes next.
#[derive(Debug)]
pub enum Next {
    Ring(Found),
    /// The ring is being loaded, or the source is paused: a wake-up follows.
    NotNow,
}

/// Counts a listener as long as it lives.
#[derive(Debug)]
pub struct Attached(Arc<Feed>);

impl Feed {
    pub fn new(source: &str, rules: SourceRules, ring_limit: usize, metrics: SourceMetrics) -> Self {
        Self {
            source: source.into(),
            metrics,
            rules: Mutex::new(rules),
            ring_limit,
            ring: RwLock::new(None),
            replays: Mutex::default(),
            head: watch::Sender::new(Head::NONE),
            wake: watch::Sender::new(()),
            usage: Mutex::new(Usage { listeners: 0, fed: false, idle_since: Instant::now() }),
        }
    }

    pub fn rules(&self) -> SourceRules {
        *lock(&self.rules)
    }

    /// New rules from a changed configuration; a resumed source goes on at once.
    pub fn set_rules(&self, rules: SourceRules) {
        *lock(&self.rules) = rules;
        self.wake.send_replace(());
    }

    /// Counts one more listener. True when somebody has to start feeding the ring.
    pub fn attach(self: &Arc<Self>) -> (Attached, bool) {
        let mut usage = lock(&self.usage);
        usage.listeners += 1;
        self.metrics.listeners.inc();
        let start = !std::mem::replace(&mut usage.fed, true);
        drop(usage);
        (Attached(Arc::clone(self)), start)
    }

    pub fn is_fed(&self) -> bool {
        lock(&self.usage).fed
    }

    /// Drops the ring and says true when nobody has listened for `limit`; the feeder ends then.
    pub(super) fn retire(&self, limit: Duration) -> bool {
        let mut usage = lock(&self.usage);
        if usage.listeners > 0 || usage.idle_since.elapsed() < limit {
            return false;
        }
        // Under the lock, so that the next listener either finds the ring or starts a new feeder.
        *self.write_ring() = None;
        self.metrics.ring_bytes.set(0);
        usage.fed = false;
        true
    }

    /// A head was read somewhere. Heads only grow here; see [`Feed::log_is_shorter`].
    pub fn saw_head(&self, head: Head) {
        self.head.send_if_modified(|known| {
            let newer = head.sequence > known.sequence;
            if newer {
                *known = head;
            }
            newer
        });
    }

    /// The log ends before what was known: a standby without the last commits was promoted.
    pub fn log_is_shorter(&self, head: Head) {
        self.head.send_replace(head);
        if let Some(ring) = self.write_ring().as_mut() {
            ring.shorten(head.sequence);
        }
    }

    pub fn head(&self) -> Head {
        *self.head.borrow()
    }

    pub(super) fn watch_head(&self) -> watch::Receiver<Head> {
        self.head.subscribe()
    }

    /// Tells a listener that something of what it waits for may have changed.
    pub fn watch(&self) -> watch::Receiver<()> {
        self.wake.subscribe()
    }

    pub(super) fn load(&self, base: i64, page: Page) {
        let ring = Ring::new(self.ring_limit, base, page);
        self.metrics.ring_bytes.set(ring.weight() as i64);
        *self.write_ring() = Some(ring);
        self.wake.send_replace(());
    }

    pub(super) fn extend(&self, page: Page) {
        if let Some(ring) = self.write_ring().as_mut() {
            ring.extend(page);
            self.metrics.ring_bytes.set(ring.weight() as i64);
        }
        self.wake.send_replace(());
    }

    pub(super) fn tail(&self) -> Option<i64> {
        self.read_ring().as_ref().map(Ring::tail)
    }

    /// When the newest event in the ring arrived.
    pub(super) fn newest_at(&self) -> Option<time::OffsetDateTime> {
        self.read_ring().as_ref()?.newest().map(|entry| entry.received_at)
    }

    pub fn next_after(&self, cursor: i64) -> Next {
        if self.rules().paused {
            return Next::NotNow;
        }
        match self.read_ring().as_ref() {
            Some(ring) => Next::Ring(ring.after(cursor)),
            None => Next::NotNow,
        }
    }

    /// The number that the next replay will get.
    pub fn next_replay_number(&self) -> u64 {
        let replays = lock(&self.replays);
        replays.first + replays.messages.len() as u64
    }

    pub fn add_replay(&self, message: Bytes) {
        let mut replays = lock(&self.replays);
        replays.bytes += message.len();
        replays.messages.push_back(message);
        while replays.messages.len() > MOST_REPLAYS || replays.bytes > MOST_REPLAY_BYTES {
            let Some(oldest) = replays.messages.pop_front() else { break };
            replays.bytes -= oldest.len();
            replays.first += 1;
        }
        drop(replays);
        self.wake.send_replace(());
    }

    /// The first replay from `number` on, with its number; those before it were dropped as too many.
    pub fn replay_from(&self, number: u64) -> Option<(u64, Bytes)> {
        if self.rules().paused {
            return None;
        }
        let replays = lock(&self.replays);
        let number = number.max(replays.first);
        let message = replays.messages.get((number - replays.first) as usize)?;
        Some((number, message.clone()))
    }

    fn read_ring(&self) -> RwLockReadGuard<'_, Option<Ring>> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_ring(&self) -> RwLockWriteGuard<'_, Option<Ring>> {
        self.ring.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut usage = lock(&self.0.usage);
        usage.listeners -= 1;
        usage.idle_since = Instant::now();
        self.0.metrics.listeners.dec();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
