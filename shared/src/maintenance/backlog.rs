//! What push still needs of the log, and what becomes of it when it has waited too long.

use super::partition::Partition;
use super::{Error, statements};
use crate::db::{Session, describe};
use crate::ids;
use serde_json::json;
use time::OffsetDateTime;

/// Whether push still needs events of a source that lie in a partition.
pub async fn needs(session: &Session, source: &str, partition: &Partition) -> Result<bool, Error> {
    let (lower, upper) = (partition.lower(), partition.upper());
    let row = session.row(statements::NEEDED_BY_PUSH, &[&source, &lower, &upper]).await?;
    Ok(row.is_some_and(|row| row.get("needed")))
}

/// Gives up what push is owed of a source's events in `[from, before)`, and tells each subscription that lost
/// something. How many events that were.
pub async fn expire(
    session: &Session,
    source: &str,
    from: OffsetDateTime,
    before: OffsetDateTime,
) -> Result<u64, Error> {
    let lost = under_cursor_locks(session, source, async || {
        session.rows(statements::EXPIRE_BACKLOG, &[&source, &from, &before]).await
    })
    .await?;
    let mut total = 0;
    for row in lost {
        let subscription: String = row.get("subscription_id");
        let (deliveries, events): (i64, i64) = (row.get("deliveries"), row.get("events"));
        let count = deliveries + events;
        if count == 0 {
            continue;
        }
        total += count as u64;
        log::warn!(subscription = subscription.as_str(), source, deliveries, events;
            "the backlog limit has passed: undelivered events expired");
        tell(session, &subscription, source, deliveries, events).await;
    }
    Ok(total)
}

async fn tell(session: &Session, subscription: &str, source: &str, deliveries: i64, events: i64) {
    let millis = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    let event_id = ids::event_id(millis as i64);
    let details = json!({"source": source, "deliveries": deliveries, "events": events});
    let count = i32::try_from(deliveries + events).unwrap_or(i32::MAX);
    let told = session.run(statements::TELL_EXPIRED, &[&subscription, &event_id, &details, &count]).await;
    if let Err(error) = told {
        log::warn!(subscription; "expired events could not be told on hooks.system: {}", describe(&error));
    }
}

/// Runs one statement in a transaction that holds the cursor rows of a source.
pub async fn under_cursor_locks<T>(
    session: &Session,
    source: &str,
    work: impl AsyncFnOnce() -> Result<T, tokio_postgres::Error>,
) -> Result<T, Error> {
    session.batch_execute("begin").await?;
    let done = match session.rows(statements::LOCK_SOURCE_CURSORS, &[&source]).await {
        Ok(_) => work().await,
        Err(error) => Err(error),
    };
    match done {
        Ok(done) => {
            session.batch_execute("commit").await?;
            Ok(done)
        }
        Err(error) => {
            let _ = session.batch_execute("rollback").await;
            Err(error.into())
        }
    }
}
