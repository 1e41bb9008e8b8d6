//! Follows the log for open live pages: one reader a process, however many pages are open, and none while none is.

use crate::state::State;
use crate::store::days::Day;
use crate::store::events::{self, EventRow};
use crate::store::{StoreError, sources};
use hooks_shared::db::Hint;
use hooks_shared::shutdown::Shutdown;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, watch};

/// New events of one source and look shown at most; who wants them all looks at the list.
const MOST: i64 = 100;
/// Events that a slow page may be behind.
const BUFFER: usize = 512;

/// Where live pages subscribe.
#[derive(Debug, Clone)]
pub struct Live {
    events: broadcast::Sender<Arc<EventRow>>,
    /// Raised when the log may have grown.
    hint: watch::Sender<u64>,
}

impl Default for Live {
    fn default() -> Self {
        Self { events: broadcast::channel(BUFFER).0, hint: watch::channel(0).0 }
    }
}

impl Live {
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<EventRow>> {
        let receiver = self.events.subscribe();
        self.hint.send_modify(|n| *n += 1);
        receiver
    }

    /// Told when the log may have grown.
    pub fn hints(&self) -> watch::Receiver<u64> {
        self.hint.subscribe()
    }

    /// Follows the log until shutdown. Without LISTEN the poll alone does it, only later.
    pub async fn run(self, state: State, mut hints: Option<mpsc::Receiver<Hint>>, shutdown: Shutdown) {
        let mut seen: HashMap<String, i64> = HashMap::new();
        loop {
            if let Err(error) = self.look(&state, &mut seen).await {
                log::debug!("the live page waits: {error}");
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
                () = next(&mut hints) => self.hint.send_modify(|n| *n += 1),
                () = shutdown.wait() => return,
            }
        }
    }

    async fn look(&self, state: &State, seen: &mut HashMap<String, i64>) -> Result<(), StoreError> {
        if self.events.receiver_count() == 0 {
            seen.clear();
            return Ok(());
        }
        let db = state.session().await?;
        for head in sources::heads(&db).await? {
            let before = seen.insert(head.source.clone(), head.sequence);
            let (Some(before), Some(at)) = (before, head.received_at) else { continue };
            if before >= head.sequence {
                continue;
            }
            for row in events::after(&db, &head.source, before, Day::of(at), MOST).await? {
                // Nobody left to tell is no fault.
                let _ = self.events.send(Arc::new(row));
            }
        }
        Ok(())
    }
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
