//! The table that tells people who listens. Nothing depends on it.

use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Error;
use uuid::Uuid;

pub(super) const SAY_LISTENERS: Sql = sql!("say_listeners.sql");
pub(super) const FORGET_LISTENERS: Sql = sql!("forget_listeners.sql");

/// A listener of this process.
#[derive(Debug, Clone)]
pub struct ListenerRow {
    pub id: Uuid,
    pub token_id: Uuid,
    pub source: String,
    pub since: OffsetDateTime,
    pub cursor: i64,
}

/// Writes all rows of the instance in one statement.
pub async fn say_listeners(session: &Session, instance: Uuid, rows: &[ListenerRow]) -> Result<(), Error> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let tokens: Vec<Uuid> = rows.iter().map(|row| row.token_id).collect();
    let sources: Vec<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    let since: Vec<OffsetDateTime> = rows.iter().map(|row| row.since).collect();
    let cursors: Vec<i64> = rows.iter().map(|row| row.cursor).collect();
    session.run(SAY_LISTENERS, &[&instance, &ids, &tokens, &sources, &since, &cursors]).await.map(|_| ())
}

/// Removes the rows of listeners that have left.
pub async fn forget_listeners(session: &Session, instance: Uuid, staying: &[Uuid]) -> Result<(), Error> {
    session.run(FORGET_LISTENERS, &[&instance, &staying]).await.map(|_| ())
}
