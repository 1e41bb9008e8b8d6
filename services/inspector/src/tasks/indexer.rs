//! Fills the search index behind the log, in one process at a time. It reads what ingest has committed and writes to
//! tables that ingest never touches; being late costs nothing but a search that does not find the newest yet. So while
//! much arrives it works a tenth of the time, and catches up when it is quiet.

use crate::search;
use crate::store::{StoreError, Tx, index};
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Session, SessionOptions, Target, connect};
use hooks_shared::event::decode_headers;
use hooks_shared::shutdown::Shutdown;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Events of one transaction.
const BATCH: i64 = 64;
/// How often a process that does not index asks whether it should.
const TRY_LOCK_EVERY: Duration = Duration::from_secs(5);
/// How often is looked without a hint.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Events a second above which ingest needs the processors more. Indexing takes about 0.2 ms an event of 1.5 KB, so a
/// tenth of the time is enough for twice as many.
const MUCH: f64 = 200.0;
/// While that is so, this many times what a batch took is waited after it, at most [`LONGEST_REST`].
const REST: u32 = 9;
const LONGEST_REST: Duration = Duration::from_secs(1);

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
    let mut arrivals = Arrivals::default();
    loop {
        hint.mark_unchanged();
        let behind = index::behind(&session).await?;
        let much = arrivals.rate(&behind, Instant::now()).is_some_and(|rate| rate > MUCH);
        let mut more = false;
        // One batch of each source in turn, so that a busy one does not keep the others waiting.
        for (source, indexed, _) in &behind {
            let began = Instant::now();
            more |= index_batch(&session, source, *indexed).await?;
            if much {
                tokio::time::sleep((began.elapsed() * REST).min(LONGEST_REST)).await;
            }
        }
        if !more {
            let _ = tokio::time::timeout(LOOK_EVERY, hint.changed()).await;
        }
        tokio::task::yield_now().await;
    }
}

/// Indexes the next events of a source behind `indexed`; whether there may be more.
async fn index_batch(session: &Session, source: &str, indexed: i64) -> Result<bool, StoreError> {
    let Some(day) = index::day_after(session, source, indexed).await? else { return Ok(false) };
    let rows = index::page(session, source, indexed, day, BATCH).await?;
    let Some(last) = rows.last().map(|row| row.sequence) else { return Ok(false) };
    let terms: Vec<Vec<i64>> = rows.iter().map(terms).collect();
    let tx = Tx::begin(session).await?;
    index::add(session, source, &rows, &terms).await?;
    index::advance(session, source, last).await?;
    tx.commit().await?;
    Ok(true)
}

fn terms(row: &index::Raw) -> Vec<i64> {
    let known = [Some(row.event_id.as_str()), row.delivery_id.as_deref(), row.event_type.as_deref()];
    let known: Vec<&str> = known.into_iter().flatten().collect();
    search::of_event(&known, &decode_headers(&row.headers), &row.body)
}

/// How fast events arrive, from how far the heads moved between two looks.
#[derive(Debug, Default)]
struct Arrivals {
    heads: HashMap<String, i64>,
    since: Option<Instant>,
    /// Of the last stretch that was long enough to be told.
    rate: Option<f64>,
}

impl Arrivals {
    /// Shorter stretches say too little.
    const SHORTEST: Duration = Duration::from_millis(200);

    /// Events a second; None before two looks. A source that is not `behind` has not grown.
    fn rate(&mut self, behind: &[(String, i64, i64)], now: Instant) -> Option<f64> {
        let elapsed = self.since.map(|since| now.duration_since(since));
        if elapsed.is_some_and(|elapsed| elapsed < Self::SHORTEST) {
            return self.rate;
        }
        let mut grown = 0;
        for (source, indexed, newest) in behind {
            // A source that is seen for the first time has grown by what is not indexed of it.
            let known = self.heads.insert(source.clone(), *newest).unwrap_or(*indexed);
            grown += (newest - known).max(0);
        }
        self.since = Some(now);
        self.rate = elapsed.map(|elapsed| grown as f64 / elapsed.as_secs_f64());
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_told_from_how_far_the_heads_moved() {
        let mut arrivals = Arrivals::default();
        let start = Instant::now();
        let look = |alpha: i64, beta: i64| vec![("alpha".to_owned(), 0, alpha), ("beta".to_owned(), 0, beta)];
        assert_eq!(arrivals.rate(&look(1_000_000, 5), start), None, "a backlog is no arrival");
        let later = start + Duration::from_secs(2);
        assert_eq!(arrivals.rate(&look(1_000_500, 105), later), Some(300.0));
        let soon = later + Duration::from_millis(1);
        assert_eq!(arrivals.rate(&look(1_000_501, 105), soon), Some(300.0), "too soon to tell anew");
        assert_eq!(arrivals.rate(&[], later + Duration::from_secs(1)), Some(0.0));
    }
}
