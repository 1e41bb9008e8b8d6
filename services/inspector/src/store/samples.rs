//! A number a minute, for plots.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Row;

const TAKE: Sql = sql!("samples_take.sql");
const READ: Sql = sql!("samples_read.sql");
const BACKLOG: Sql = sql!("samples_backlog.sql");
pub(super) const STATEMENTS: &[Sql] = &[TAKE, READ, BACKLOG];

/// Writes this minute's numbers, unless somebody has.
pub async fn take(db: &Session) -> Result<()> {
    db.run(TAKE, &[]).await?;
    Ok(())
}

/// One number of a series.
#[derive(Debug, Clone)]
pub struct Sample {
    pub subject: String,
    pub at: OffsetDateTime,
    pub value: f64,
}

/// A series since an instant, of one subject or all, oldest first.
pub async fn read(
    db: &Session,
    series: &str,
    subject: Option<&str>,
    since: OffsetDateTime,
) -> Result<Vec<Sample>> {
    let read = |row: &Row| {
        Ok(Sample { subject: row.try_get("subject")?, at: row.try_get("at")?, value: row.try_get("value")? })
    };
    db.rows(READ, &[&series, &subject, &since]).await?.iter().map(read).collect()
}

/// What is owed at this moment, over all subscriptions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backlog {
    /// Events behind cursors and deliveries not at an end.
    pub owed: i64,
    /// Seconds since the oldest due delivery became due.
    pub oldest_due: Option<f64>,
    pub failed: i64,
}

pub async fn backlog(db: &Session) -> Result<Backlog> {
    let statement = db.statement(BACKLOG).await?;
    let row = db.query_one(&statement, &[]).await?;
    Ok(Backlog {
        owed: row.try_get("owed")?,
        oldest_due: row.try_get("oldest_due")?,
        failed: row.try_get("failed")?,
    })
}
