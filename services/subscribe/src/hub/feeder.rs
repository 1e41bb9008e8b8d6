//! Fills the ring of one source as long as somebody listens to it.

use super::feed::Feed;
use super::link::Link;
use super::reader::{self, Ask};
use hooks_shared::shutdown::Shutdown;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Feeder {
    pub feed: Arc<Feed>,
    pub link: Link,
    /// The ring is dropped so long after the last listener has left.
    pub ring_idle: Duration,
    pub first_bytes: i64,
}

impl Feeder {
    /// Runs until nobody has listened for a while, or until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        tokio::select! {
            () = self.feed() => {}
            () = shutdown.wait() => {}
        }
    }

    async fn feed(&self) {
        let mut heads = self.feed.watch_head();
        self.load().await;
        loop {
            heads.borrow_and_update();
            while self.is_behind() {
                self.extend().await;
            }
            tokio::select! {
                _ = heads.changed() => {}
                () = tokio::time::sleep(self.ring_idle) => {
                    if self.feed.retire(self.ring_idle) {
                        return;
                    }
                }
            }
        }
    }

    fn is_behind(&self) -> bool {
        self.feed.tail().is_some_and(|tail| tail < self.feed.head().sequence)
    }

    async fn load(&self) {
        loop {
            let session = self.link.session().await;
            let ask = self.ask(0);
            let read = reader::newest(&session, &ask, self.first_bytes);
            if let Some((base, page)) = self.link.run(&session, read).await {
                self.feed.load(base, page);
                return;
            }
        }
    }

    async fn extend(&self) {
        let session = self.link.session().await;
        let ask = self.ask(self.feed.tail().unwrap_or(0));
        let newest_at = self.feed.newest_at();
        if let Some(page) = self.link.run(&session, reader::tail(&session, &ask, newest_at)).await {
            self.feed.extend(page);
        }
    }

    fn ask(&self, after: i64) -> Ask {
        Ask { source: Arc::clone(&self.feed.source), after, head: self.feed.head(), fresh_from: None }
    }
}
