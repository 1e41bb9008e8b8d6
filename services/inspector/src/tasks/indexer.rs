//! Fills the search index behind the log, in one process at a time. It reads what ingest has committed and writes to
//! tables that ingest never touches; being late costs nothing but a search that does not find the newest yet.

use crate::search;
use crate::store::{self, StoreError, Tx, index};
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Session, SessionOptions, Target, connect};
use hooks_shared::event::decode_headers;
use hooks_shared::shutdown::Shutdown;
use std::time::Duration;
use tokio::sync::watch;

/// Events of one transaction.
const BATCH: i64 = 64;
/// How often a process that does not index asks whether it should.
const TRY_LOCK_EVERY: Duration = Duration::from_secs(5);
/// How often is looked without a hint.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs until shutdown. `hint` changes when there may be something new.
pub async fn run(target: Target, mut hint: watch::Receiver<u64>, shutdown: Shutdown) {
    let mut pause = Reconnect::default();
    loop {
        let worked = tokio::select! {
            worked = work(&target, &mut hint) => worked,
            () = shutdown.wait() => return,
        };
        if let Err(error) = worked {
            log::warn!("the search index waits: {error}");
        } else {
            pause.reset();
        }
        tokio::select! {
            () = pause.wait() => {}
            () = shutdown.wait() => return,
        }
    }
}

async fn work(target: &Target, hint: &mut watch::Receiver<u64>) -> Result<(), StoreError> {
    let session = connect(target, &SessionOptions::service("hooks-inspector index")).await?;
    while !index::try_lock(&session).await? {
        tokio::time::sleep(TRY_LOCK_EVERY).await;
    }
    loop {
        hint.mark_unchanged();
        for (source, indexed, _) in index::behind(&session).await? {
            catch_up(&session, &source, indexed).await?;
        }
        let _ = tokio::time::timeout(LOOK_EVERY, hint.changed()).await;
        tokio::task::yield_now().await;
    }
}

/// Indexes what a source has behind `indexed`.
async fn catch_up(session: &Session, source: &str, mut indexed: i64) -> Result<(), StoreError> {
    while let Some(day) = index::day_after(session, source, indexed).await? {
        let rows = index::page(session, source, indexed, day, BATCH).await?;
        let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(()) };
        let tx = Tx::begin(session).await?;
        for row in &rows {
            let known = [Some(row.event_id.as_str()), row.delivery_id.as_deref(), row.event_type.as_deref()];
            let known: Vec<&str> = known.into_iter().flatten().collect();
            let terms = search::of_event(&known, &decode_headers(&row.headers), &row.body);
            store::index::add(session, source, row.sequence, row.received_at, &terms).await?;
        }
        index::advance(session, source, last).await?;
        tx.commit().await?;
        indexed = last;
    }
    Ok(())
}
