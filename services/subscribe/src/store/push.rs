//! What became of an event in the push subscriptions; read only.

use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::{Error, Row};

pub(super) const PUSH_STATE: Sql = sql!("push_state.sql");

/// One delivery of an event.
#[derive(Debug)]
pub struct PushState {
    pub subscription_id: String,
    pub subscription: String,
    pub delivery_id: String,
    pub state: String,
    pub attempts: i32,
    /// Only while it is pending.
    pub next_attempt_at: Option<OffsetDateTime>,
    pub completed_at: Option<OffsetDateTime>,
    pub failure: Option<String>,
}

/// The deliveries of an event.
pub async fn push_state(session: &Session, source: &str, sequence: i64) -> Result<Vec<PushState>, Error> {
    let read = |row: &Row| {
        Ok(PushState {
            subscription_id: row.try_get("subscription_id")?,
            subscription: row.try_get("subscription")?,
            delivery_id: row.try_get("delivery_id")?,
            state: row.try_get("state")?,
            attempts: row.try_get("attempts")?,
            next_attempt_at: row.try_get("next_attempt_at")?,
            completed_at: row.try_get("completed_at")?,
            failure: row.try_get("failure")?,
        })
    };
    session.rows(PUSH_STATE, &[&source, &sequence]).await?.iter().map(read).collect()
}
