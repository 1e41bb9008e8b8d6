//! What must be in place before ingest says that it is ready, and keeps being looked at: the heads of its
//! sources, and tomorrow's partition.

use crate::sources::Current;
use crate::store;
use hooks_shared::admin::Readiness;
use hooks_shared::db::{Pool, describe};
use hooks_shared::shutdown::Shutdown;
use std::time::Duration;

pub const HEADS: &str = "heads";
pub const PARTITION: &str = "partition";

/// Looks once a second until all is well, then once a minute.
pub async fn watch(pool: Pool, sources: Current, readiness: Readiness, shutdown: Shutdown) {
    loop {
        let heads = ensure_heads(&pool, &sources).await;
        let partition = has_partition(&pool).await;
        let good = heads.is_ok() && partition.is_ok();
        tell(&readiness, HEADS, heads);
        tell(&readiness, PARTITION, partition);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(if good { 60 } else { 1 })) => {}
            () = shutdown.wait() => return,
        }
    }
}

fn tell(readiness: &Readiness, condition: &'static str, found: Result<(), String>) {
    match found {
        Ok(()) => readiness.hold(condition),
        Err(reason) => readiness.fail(condition, reason),
    }
}

/// Makes the head rows of the configured sources.
pub async fn ensure_heads(pool: &Pool, sources: &Current) -> Result<(), String> {
    let session = pool.get().await.map_err(|_| "no database connection".to_owned())?;
    let all = sources.all();
    session
        .run(store::ENSURE_HEADS, &[&all.names()])
        .await
        .map(|_| ())
        .map_err(|error| format!("the heads of the sources cannot be made: {}", describe(&error)))
}

async fn has_partition(pool: &Pool) -> Result<(), String> {
    let session = pool.get().await.map_err(|_| "no database connection".to_owned())?;
    let row = session.row(store::HAS_PARTITION, &[]).await.map_err(|error| describe(&error))?;
    if row.is_some_and(|row| row.get("there")) {
        return Ok(());
    }
    Err("tomorrow's partition of `events` is missing: events cannot be stored from midnight UTC on; run a \
         push-worker, whose maintenance makes it, or `hooksctl migrate`"
        .to_owned())
}
