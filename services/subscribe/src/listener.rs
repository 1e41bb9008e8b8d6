//! One event stream: a cursor that pulls. It has no task and no queue of its own; the server asks it for the
//! next message when the last one has gone out.
//!
//! A stream begins with [`Listener::initial_drain`], the only place where an event's age matters, and then stays
//! in [`Listener::live_drain`], which sends everything. Both go through [`Listener::read_next`].

use crate::backfill::{Skipped, Window};
use crate::frame::{AHEAD_OF_LOG, KEEPALIVE, skipped_comment};
use crate::hub::{Ask, Attached, Entry, Feed, Found, Hub, Next, Page};
use crate::registry::Place;
use crate::store::Head;
use bytes::Bytes;
use futures_util::Stream;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

/// How a stream begins.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    pub cursor: i64,
    /// The newest event when the client came.
    pub head: Head,
    pub window: Window,
    pub keepalive: Duration,
}

/// The stream of one client.
#[derive(Debug)]
pub struct Listener {
    hub: Arc<Hub>,
    feed: Arc<Feed>,
    place: Place,
    _attached: Attached,
    wake: watch::Receiver<()>,
    phase: Phase,
    cursor: i64,
    /// What was read for this listener alone, because it is behind the ring.
    page: VecDeque<Arc<Entry>>,
    page_through: i64,
    reading: Option<AbortOnDropHandle<Page>>,
    skipped: Skipped,
    comments: VecDeque<Bytes>,
    next_replay: u64,
    keepalive: Duration,
    keepalive_at: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Up to what was there when the client came; filtered by age.
    Initial {
        window: Window,
        head: i64,
    },
    Live,
}

/// What a read found.
enum Read {
    Entry(Arc<Entry>),
    /// Nothing behind the cursor, up to this sequence.
    NothingThrough(i64),
    /// The ring is being loaded, or the source is paused.
    NotNow,
}

impl Listener {
    /// Must be called right after `begin.head` was read.
    pub fn new(hub: Arc<Hub>, feed: Arc<Feed>, place: Place, begin: Begin) -> Self {
        feed.saw_head(begin.head);
        let attached = hub.attach(&feed);
        let next_replay = feed.next_replay_number();
        let mut listener = Self {
            wake: feed.watch(),
            hub,
            feed,
            place,
            _attached: attached,
            phase: Phase::Initial { window: begin.window, head: begin.head.sequence },
            cursor: begin.cursor,
            page: VecDeque::new(),
            page_through: begin.cursor,
            reading: None,
            skipped: Skipped::default(),
            comments: VecDeque::new(),
            next_replay,
            keepalive: begin.keepalive,
            keepalive_at: Instant::now() + begin.keepalive,
        };
        if begin.cursor >= begin.head.sequence {
            listener.go_live(begin.head.sequence);
        }
        listener
    }

    /// The body of the answer. It never ends by itself and never fails: streams end by being cut.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        futures_util::stream::unfold(Box::new(self), |mut listener| async move {
            let chunk = listener.next_chunk().await;
            Some((Ok(chunk), listener))
        })
    }

    async fn next_chunk(&mut self) -> Bytes {
        self.place.connected.polled();
        loop {
            if let Some(comment) = self.comments.pop_front() {
                return comment;
            }
            match self.phase {
                Phase::Initial { window, head } => match self.initial_drain(window, head).await {
                    Some(chunk) => return chunk,
                    None => self.go_live(head),
                },
                Phase::Live => return self.live_drain().await,
            }
        }
    }

    /// The next message of the first drain, without what is stale; None when the drain has ended: `head` is
    /// reached and a read found nothing more. A skipped event moves the cursor like a sent one, or else the
    /// live drain would send it after all.
    async fn initial_drain(&mut self, window: Window, head: i64) -> Option<Bytes> {
        loop {
            self.wake.borrow_and_update();
            let keepalive_at = self.keepalive_at;
            let read = tokio::select! {
                biased;
                read = self.read_next(Some(window.cutoff())) => read,
                // A whole interval without a word: say that the link lives, and nothing else.
                () = sleep_until(keepalive_at) => return Some(self.keepalive()),
            };
            match read {
                Read::Entry(entry) => {
                    self.moved_to(entry.sequence);
                    match window.stale_by_age(entry.provider_timestamp) {
                        Some(age) => self.skip(&entry, age, window.skew()),
                        None => {
                            self.keepalive_at = Instant::now() + self.keepalive;
                            return Some(self.send(&entry));
                        }
                    }
                }
                Read::NothingThrough(sequence) if sequence >= head.min(self.feed.head().sequence) => {
                    return None;
                }
                Read::NothingThrough(_) | Read::NotNow => tokio::select! {
                    () = self.wait_for_more() => {}
                    () = sleep_until(keepalive_at) => return Some(self.keepalive()),
                },
            }
        }
    }

    /// The next message, keepalive or replay of a live stream. Never looks at an event's age.
    async fn live_drain(&mut self) -> Bytes {
        loop {
            // Before looking: what comes after the look is a wake-up.
            self.wake.borrow_and_update();
            let keepalive_at = self.keepalive_at;
            if Instant::now() >= keepalive_at {
                return self.keepalive();
            }
            if let Some(message) = self.take_replay() {
                return message;
            }
            let read = tokio::select! {
                biased;
                read = self.read_next(None) => read,
                () = sleep_until(keepalive_at) => continue,
            };
            if let Read::Entry(entry) = read {
                self.moved_to(entry.sequence);
                return self.send(&entry);
            }
            // Nothing new: until a wake-up, or until the keepalive, behind which everything is looked at again.
            tokio::select! {
                () = self.wait_for_more() => {}
                () = sleep_until(keepalive_at) => {}
            }
        }
    }

    /// The next stored event behind the cursor, from the page in hand, the ring or the log. `fresh_from` only
    /// saves reading what will be skipped. May be dropped and called again at any time.
    async fn read_next(&mut self, fresh_from: Option<OffsetDateTime>) -> Read {
        loop {
            if let Some(reading) = self.reading.as_mut() {
                let page = reading.await;
                self.reading = None;
                self.take_page(page.ok());
            }
            if let Some(entry) = self.page.pop_front() {
                return Read::Entry(entry);
            }
            if self.page_through > self.cursor {
                self.moved_to(self.page_through);
            }
            match self.feed.next_after(self.cursor) {
                Next::Ring(Found::Next(entry)) => return Read::Entry(entry),
                Next::Ring(Found::NothingThrough(tail)) => return Read::NothingThrough(tail),
                Next::Ring(Found::Behind) => self.reading = Some(self.read_behind(fresh_from)),
                Next::NotNow => return Read::NotNow,
            }
        }
    }

    fn read_behind(&self, fresh_from: Option<OffsetDateTime>) -> AbortOnDropHandle<Page> {
        let source = Arc::clone(&self.feed.source);
        self.hub.read_behind(Ask { source, after: self.cursor, head: self.feed.head(), fresh_from })
    }

    /// A read that was interrupted is one that is made again.
    fn take_page(&mut self, page: Option<Page>) {
        if let Some(page) = page {
            self.page_through = page.through;
            self.page = page.entries.into();
        }
    }

    async fn wait_for_more(&mut self) {
        if self.wake.changed().await.is_err() {
            // The source is gone; the stream is about to be cut.
            std::future::pending().await
        }
    }

    fn go_live(&mut self, head: i64) {
        self.phase = Phase::Live;
        self.feed.metrics.initial_drains.inc();
        if self.skipped.count > 0 {
            self.comments.push_back(skipped_comment(self.skipped));
        }
        let head = head.max(self.feed.head().sequence);
        if self.cursor > head {
            self.comments.push_back(AHEAD_OF_LOG);
            log::warn!(source:% = self.feed.source, cursor = self.cursor, head; "a listener has seen more than there is");
        }
    }

    fn take_replay(&mut self) -> Option<Bytes> {
        let (number, message) = self.feed.replay_from(self.next_replay)?;
        self.feed.metrics.replays_missed.inc_by(number - self.next_replay);
        self.next_replay = number + 1;
        self.count(&message);
        Some(message)
    }

    fn send(&self, entry: &Entry) -> Bytes {
        self.count(&entry.message);
        entry.message.clone()
    }

    fn count(&self, message: &Bytes) {
        self.feed.metrics.messages.inc();
        self.feed.metrics.message_bytes.inc_by(message.len() as u64);
    }

    fn keepalive(&mut self) -> Bytes {
        self.keepalive_at = Instant::now() + self.keepalive;
        KEEPALIVE
    }

    fn moved_to(&mut self, cursor: i64) {
        self.cursor = cursor;
        self.place.connected.moved_to(cursor);
    }

    fn skip(&mut self, entry: &Entry, age: Duration, skew_window: Duration) {
        self.skipped.add(entry.sequence);
        self.feed.metrics.skipped.inc();
        log::debug!(
            source:% = self.feed.source,
            seq = entry.sequence,
            delivery_id = &*entry.delivery_id,
            age:? = age,
            skew_window:? = skew_window;
            "skipping a stale event in a first drain"
        );
    }
}
