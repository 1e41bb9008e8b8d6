//! Keeps the heads of all sources with listeners current: read on every hint, and always by a slow poll, since
//! a hint may be lost. Also keeps the link open.

use super::Hub;
use crate::store::{self, Head};
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Hint, ListenState, Session};
use hooks_shared::shutdown::Shutdown;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// A session that has lasted so long was a good one.
const PROVEN: Duration = Duration::from_secs(3);

pub(super) struct HeadWatcher {
    pub hub: Arc<Hub>,
    /// None: polling only.
    pub hints: Option<mpsc::Receiver<Hint>>,
    pub listen: ListenState,
    /// What this task read last, to notice a log that became shorter.
    pub known: HashMap<String, Head>,
    /// The feeds' heads that the last read did not reach. A feed may have heard of a number from somebody who read
    /// later than this task, but then the next read reaches it.
    pub unreached: HashMap<String, i64>,
}

/// Why the watcher stops waiting.
enum Woken {
    For(Vec<String>),
    ForAll,
    LinkLost,
}

impl HeadWatcher {
    /// Runs until shutdown.
    pub async fn run(mut self, shutdown: Shutdown) {
        tokio::select! {
            () = self.watch() => {}
            () = shutdown.wait() => {}
        }
    }

    async fn watch(&mut self) {
        let mut pause = Reconnect::default();
        loop {
            let session = self.hub.link.open(&mut pause).await;
            let opened = Instant::now();
            self.follow(&session).await;
            // A session that opens and then fails at once is no reason to try faster.
            if opened.elapsed() > PROVEN {
                pause.reset();
                self.hub.link.is_well();
            }
            self.hub.link.condemn(&session);
            pause.wait().await;
        }
    }

    /// Reads heads until the link is lost.
    async fn follow(&mut self, session: &Arc<Session>) {
        let mut woken = Woken::ForAll;
        loop {
            let read = match woken {
                Woken::For(names) => self.read(session, self.hub.fed_among(&names)).await,
                Woken::ForAll => self.read(session, self.hub.fed()).await,
                Woken::LinkLost => return,
            };
            if !read {
                return;
            }
            woken = self.next(session).await;
        }
    }

    async fn next(&mut self, session: &Arc<Session>) -> Woken {
        self.hub.metrics.listen_healthy.set(self.listen.is_healthy().into());
        let poll = Instant::now() + self.listen.poll_interval();
        loop {
            tokio::select! {
                hint = next_hint(&mut self.hints) => match hint {
                    Hint::Sources(names) => return Woken::For(names),
                    Hint::Everything => {
                        self.hub.replay_hint.notify_one();
                        self.hub.token_hint.notify_one();
                        return Woken::ForAll;
                    }
                    Hint::Replay => self.hub.replay_hint.notify_one(),
                    Hint::Tokens => self.hub.token_hint.notify_one(),
                    Hint::Push => {}
                },
                () = self.hub.link.lost(session) => return Woken::LinkLost,
                () = sleep_until(poll) => return Woken::ForAll,
            }
        }
    }

    async fn read(&mut self, session: &Arc<Session>, names: Vec<String>) -> bool {
        if names.is_empty() {
            return !session.is_broken();
        }
        self.hub.metrics.head_reads.inc();
        let Some(rows) = self.hub.link.run(session, store::heads(session, &names)).await else {
            return false;
        };
        if rows.iter().any(|(_, _, standby)| *standby) {
            log::warn!("the database server is a standby; looking for the primary");
            return false;
        }
        for (source, head, _) in rows {
            self.saw(source, head);
        }
        true
    }

    fn saw(&mut self, source: String, head: Head) {
        let Some(feed) = self.hub.feed(&source) else { return };
        let before = self.known.insert(source.clone(), head).map(|before| before.sequence);
        let heard = feed.head().sequence;
        let doubted = match heard > head.sequence {
            true => self.unreached.insert(source.clone(), heard),
            false => self.unreached.remove(&source),
        };
        let lost = before.max(doubted).filter(|before| *before > head.sequence);
        match lost {
            Some(before) => {
                log::warn!(source, before, now = head.sequence; "the log became shorter: commits were lost in a failover");
                self.unreached.remove(&source);
                feed.log_is_shorter(head);
            }
            None => feed.saw_head(head),
        }
    }
}

/// The next hint; never, when there is nobody to give one.
async fn next_hint(hints: &mut Option<mpsc::Receiver<Hint>>) -> Hint {
    if let Some(receiver) = hints {
        match receiver.recv().await {
            Some(hint) => return hint,
            None => *hints = None,
        }
    }
    std::future::pending().await
}
