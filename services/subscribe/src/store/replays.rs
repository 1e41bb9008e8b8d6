//! Requests to send an event again to everybody who listens now.

use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::{Error, Row};

pub(super) const REPLAY_HEAD: Sql = sql!("replay_head.sql");
pub(super) const REPLAYS: Sql = sql!("replays.sql");

/// One request.
#[derive(Debug, Clone)]
pub struct ReplayRow {
    pub number: i64,
    pub source: String,
    pub sequence: i64,
    /// When the event arrived.
    pub received_at: OffsetDateTime,
}

/// The number of the newest request.
pub async fn replay_head(session: &Session) -> Result<i64, Error> {
    let row = session.row(REPLAY_HEAD, &[]).await?;
    row.map_or(Ok(0), |row| row.try_get("last_number"))
}

/// The requests behind `number`, in order, a hundred at most.
pub async fn replays(session: &Session, number: i64) -> Result<Vec<ReplayRow>, Error> {
    let read = |row: &Row| {
        Ok(ReplayRow {
            number: row.try_get("number")?,
            source: row.try_get("source")?,
            sequence: row.try_get("sequence")?,
            received_at: row.try_get("received_at")?,
        })
    };
    session.rows(REPLAYS, &[&number]).await?.iter().map(read).collect()
}
