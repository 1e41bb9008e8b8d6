//! The worker's statements. Each file says what must hold before it and which locks it takes.

mod claims;
mod events;
mod results;

pub use claims::{
    Claimed, Day, Limits, Most, Pick, Picked, Reclaimed, begin, claim_due, commit, fan_out, pick, reclaim,
    rollback,
};
pub use claims::{confirm, fail_unsent, give_back, give_back_unknown};
pub use events::{EventKey, Fetched, fetch_body, fetch_events};
pub use results::{Disabled, Health, HealthRules, Recorded, Row, record, update_health};

use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;

type Error = tokio_postgres::Error;

const PICK: Sql = sql!("pick.sql");
const CLAIM_DUE: Sql = sql!("claim_due.sql");
const RECLAIM: Sql = sql!("reclaim.sql");
const FAN_OUT: Sql = sql!("fan_out.sql");
const CONFIRM: Sql = sql!("confirm.sql");
const FETCH_EVENTS: Sql = sql!("fetch_events.sql");
const FETCH_BODY: Sql = sql!("fetch_body.sql");
const LOCK_DELIVERIES: Sql = sql!("lock_deliveries.sql");
const RECORD: Sql = sql!("record.sql");
const GIVE_BACK: Sql = sql!("give_back.sql");
const LOCK_CURSORS: Sql = sql!("lock_cursors.sql");
const GIVE_BACK_UNKNOWN: Sql = sql!("give_back_unknown.sql");
const FAIL_UNSENT: Sql = sql!("fail_unsent.sql");
const UPDATE_HEALTH: Sql = sql!("update_health.sql");
const PROTOCOL: Sql = sql!("protocol.sql");
const DEPTH: Sql = sql!("depth.sql");
const ANNOUNCE: Sql = sql!("announce.sql");
const WITHHELD: Sql = sql!("withheld.sql");

/// All of them.
pub const STATEMENTS: &[Sql] = &[
    PICK,
    CLAIM_DUE,
    RECLAIM,
    FAN_OUT,
    CONFIRM,
    FETCH_EVENTS,
    FETCH_BODY,
    LOCK_DELIVERIES,
    RECORD,
    GIVE_BACK,
    LOCK_CURSORS,
    GIVE_BACK_UNKNOWN,
    FAIL_UNSENT,
    UPDATE_HEALTH,
    PROTOCOL,
    DEPTH,
    ANNOUNCE,
    WITHHELD,
];

/// The claim protocol that the database speaks.
pub async fn protocol(session: &Session) -> Result<i32, Error> {
    Ok(session.row(PROTOCOL, &[]).await?.map_or(0, |row| row.get("version")))
}

/// What is owed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Depth {
    pub open: i64,
    pub due: i64,
    /// Seconds for which the oldest due delivery has been due.
    pub oldest: f64,
}

pub async fn depth(session: &Session) -> Result<Depth, Error> {
    let row = session.row(DEPTH, &[]).await?;
    Ok(row.map_or(Depth { open: 0, due: 0, oldest: 0.0 }, |row| Depth {
        open: row.get("open"),
        due: row.get("due"),
        oldest: row.get("oldest"),
    }))
}

/// Says something about a subscription on `hooks.system`, or counts it; the event's number where one was appended.
pub async fn announce(
    session: &Session,
    subscription: &str,
    kind: &str,
    event_id: &str,
    details: Option<&serde_json::Value>,
    happened: i32,
) -> Result<Option<i64>, Error> {
    let row = session.row(ANNOUNCE, &[&subscription, &kind, &event_id, &details, &happened]).await?;
    Ok(row.and_then(|row| row.get("number")))
}

/// Subscriptions and kinds about which something was counted that may be told by now.
pub async fn withheld(session: &Session) -> Result<Vec<(String, String)>, Error> {
    let rows = session.rows(WITHHELD, &[]).await?;
    Ok(rows.iter().map(|row| (row.get("subscription_id"), row.get("kind"))).collect())
}
