//! Follows the log for open live pages: one reader a process, however many pages are open, and none while none is.

use crate::state::State;
use crate::store::Result;
use crate::store::days::Day;
use crate::store::events::{self, EventRow};
use crate::store::sources::{self, Head};
use hooks_shared::db::{Hint, Session};
use hooks_shared::shutdown::Shutdown;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, broadcast, mpsc, watch};

/// New events of one source shown at once; who wants them all looks at the list.
const MOST: i64 = 100;
/// Events that a slow page may be behind.
const BUFFER: usize = 512;

/// What open pages hear.
#[derive(Debug, Clone)]
pub enum News {
    Event(Arc<EventRow>),
    /// What was told of a source up to `from` goes on behind `last`: more events came than are told one by one, or the log
    /// lost its end in a failover.
    Jump {
        source: String,
        from: i64,
        last: i64,
    },
}

/// Where live pages subscribe.
#[derive(Debug, Clone)]
pub struct Live {
    news: broadcast::Sender<News>,
    /// The newest sequence of each source that was told; None while no page is open.
    told: Arc<Mutex<Option<HashMap<String, i64>>>>,
    /// Raised when the log may have grown.
    hint: watch::Sender<u64>,
}

impl Default for Live {
    fn default() -> Self {
        Self { news: broadcast::channel(BUFFER).0, told: Arc::default(), hint: watch::channel(0).0 }
    }
}

impl Live {
    /// Everything that comes from now on, and how far the log is now: nothing comes between the two, though some of it
    /// may be told again.
    pub async fn join(&self, state: &State) -> Result<(broadcast::Receiver<News>, Vec<Head>)> {
        let receiver = self.news.subscribe();
        let heads = self.look(state).await?;
        Ok((receiver, heads))
    }

    /// Told when the log may have grown.
    pub fn hints(&self) -> watch::Receiver<u64> {
        self.hint.subscribe()
    }

    /// Follows the log until shutdown. Without LISTEN the poll alone does it, only later.
    pub async fn run(self, state: State, mut hints: Option<mpsc::Receiver<Hint>>, shutdown: Shutdown) {
        loop {
            if let Err(error) = self.look(&state).await {
                log::debug!("the live page waits: {error}");
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
                () = next(&mut hints) => self.hint.send_modify(|n| *n += 1),
                () = shutdown.wait() => return,
            }
        }
    }

    /// Tells what is new since the last look. The heads; none while no page is open.
    async fn look(&self, state: &State) -> Result<Vec<Head>> {
        let mut told = self.told.lock().await;
        if self.news.receiver_count() == 0 {
            *told = None;
            return Ok(Vec::new());
        }
        let db = state.session().await?;
        let heads = sources::heads(&db).await?;
        let Some(told) = told.as_mut() else {
            *told = Some(heads.iter().map(|head| (head.source.clone(), head.sequence)).collect());
            return Ok(heads);
        };
        for head in &heads {
            let seen = told.get(&head.source).copied().unwrap_or_default();
            if seen == head.sequence {
                continue;
            }
            for news in since(&db, head, seen).await? {
                // Nobody left to tell is no fault.
                let _ = self.news.send(news);
            }
            told.insert(head.source.clone(), head.sequence);
        }
        Ok(heads)
    }
}

/// What came of a source between a sequence and its head, oldest first.
pub async fn since(db: &Session, head: &Head, seen: i64) -> Result<Vec<News>> {
    let missing = head.sequence - seen;
    if let Some(at) = head.received_at.filter(|_| (0..=MOST).contains(&missing)) {
        let rows = events::after(db, &head.source, seen, head.sequence, Day::of(at)).await?;
        if rows.len() as i64 == missing {
            return Ok(rows.into_iter().map(|row| News::Event(Arc::new(row))).collect());
        }
    }
    Ok(vec![News::Jump { source: head.source.clone(), from: seen, last: head.sequence }])
}

/// Waits for a hint that events came; for ever where there is no LISTEN.
async fn next(hints: &mut Option<mpsc::Receiver<Hint>>) {
    let Some(receiver) = hints else { return std::future::pending().await };
    loop {
        match receiver.recv().await {
            Some(Hint::Sources(_) | Hint::Everything) => return,
            Some(_) => {}
            None => {
                *hints = None;
                return;
            }
        }
    }
}
