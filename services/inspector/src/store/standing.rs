//! How push subscriptions stand.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use std::collections::HashMap;
use time::OffsetDateTime;
use tokio_postgres::Row;

const STANDING: Sql = sql!("push_standing.sql");
pub(super) const STATEMENTS: &[Sql] = &[STANDING];

/// One subscription at this moment.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Requests under way.
    pub busy: i32,
    /// Requests that may start now.
    pub room: i32,
    /// When the first delivery not at an end is due; None where there is none.
    pub next_due: Option<OffsetDateTime>,
    /// Seconds since then, by the database's clock; negative where it is still to come.
    pub due_seconds: Option<f64>,
    /// Attempts of the newest deliveries, and those of them that succeeded.
    pub attempts: i64,
    pub succeeded: i64,
    /// How long the middle one, and the slowest but one in twenty, took.
    pub median_ms: Option<f64>,
    pub slow_ms: Option<f64>,
}

/// How these subscriptions stand, by the newest so many deliveries of each; those that are gone are missing.
pub async fn standing(db: &Session, ids: &[&str], newest: i64) -> Result<HashMap<String, Standing>> {
    let read = |row: &Row| {
        let standing = Standing {
            busy: row.try_get("busy")?,
            room: row.try_get("room")?,
            next_due: row.try_get("next_due")?,
            due_seconds: row.try_get("due_seconds")?,
            attempts: row.try_get("attempts")?,
            succeeded: row.try_get("succeeded")?,
            median_ms: row.try_get("median_ms")?,
            slow_ms: row.try_get("slow_ms")?,
        };
        Ok((row.try_get("subscription_id")?, standing))
    };
    db.rows(STANDING, &[&ids, &newest]).await?.iter().map(read).collect()
}
