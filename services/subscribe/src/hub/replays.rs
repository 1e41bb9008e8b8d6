//! Sends an event again to everybody who listens now, when an operator asked for it.

use super::Hub;
use super::reader;
use crate::store::{self, ReplayRow};
use hooks_shared::db::{ListenState, Session};
use hooks_shared::shutdown::Shutdown;
use std::sync::Arc;

pub(super) struct ReplayWatcher {
    pub hub: Arc<Hub>,
    pub listen: ListenState,
    /// The newest request that was taken; None until the head was first read, for what was asked for before
    /// this process ran is not its business.
    pub last: Option<i64>,
}

impl ReplayWatcher {
    /// Runs until shutdown.
    pub async fn run(mut self, shutdown: Shutdown) {
        tokio::select! {
            () = self.watch() => {}
            () = shutdown.wait() => {}
        }
    }

    async fn watch(&mut self) {
        loop {
            let session = self.hub.link.session().await;
            while self.take(&session).await == Some(true) {}
            tokio::select! {
                () = self.hub.replay_hint.notified() => {}
                () = tokio::time::sleep(self.listen.poll_interval()) => {}
            }
        }
    }

    /// Takes the next requests; true if there were some, None if the link was lost.
    async fn take(&mut self, session: &Arc<Session>) -> Option<bool> {
        let link = self.hub.link.clone();
        let Some(last) = self.last else {
            self.last = Some(link.run(session, store::replay_head(session)).await?);
            return Some(false);
        };
        let rows = link.run(session, store::replays(session, last)).await?;
        for row in &rows {
            self.emit(session, row).await?;
            self.last = Some(row.number);
        }
        Some(!rows.is_empty())
    }

    async fn emit(&self, session: &Arc<Session>, row: &ReplayRow) -> Option<()> {
        let feed = self.hub.feed(&row.source).filter(|feed| feed.is_fed());
        let Some(feed) = feed else { return Some(()) };
        let read = reader::replay(session, &row.source, row.sequence, row.received_at);
        match self.hub.link.run(session, read).await? {
            Some(message) => {
                feed.metrics.replays.inc();
                feed.add_replay(message);
            }
            None => {
                log::warn!(source = row.source, seq = row.sequence; "an event asked for again is not stored any more");
            }
        }
        Some(())
    }
}
