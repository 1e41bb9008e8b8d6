//! How one push subscription stands, and why it does not move.

use super::push::find;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::ops::standing::why;
use crate::store;
use serde::Serialize;
use time::OffsetDateTime;
use utoipa::ToSchema;

/// Deliveries that success and times are told by.
const NEWEST: i64 = 200;

#[derive(Debug, Serialize, ToSchema)]
pub struct Standing {
    id: String,
    /// What keeps it from moving, or how it moves, in words.
    why: String,
    /// Events behind the cursor and deliveries not at an end.
    owed: i64,
    /// Requests under way.
    under_way: i32,
    /// When the first delivery not at an end is due.
    next_due: Option<Moment>,
    /// Seconds for which the oldest due delivery has been due.
    oldest_due_seconds: Option<f64>,
    /// Attempts of the newest 200 deliveries, and those of them that succeeded.
    attempts: i64,
    succeeded: i64,
    /// How long the middle one, and the slowest but one in twenty, took.
    median_ms: Option<f64>,
    slow_ms: Option<f64>,
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let one = find(&call).await?;
    let db = call.session().await?;
    let stands =
        store::standing::standing(&db, &[&one.id], NEWEST).await?.remove(&one.id).unwrap_or_default();
    let processes = store::listeners::instances(&db).await?;
    let workers =
        processes.iter().filter(|process| process.alive && process.service == "push-worker").count();
    let view = Standing {
        why: why(&one, &stands, workers, OffsetDateTime::now_utc()),
        owed: one.behind + one.open,
        under_way: stands.busy,
        next_due: stands.next_due.map(Moment),
        oldest_due_seconds: stands.due_seconds.filter(|seconds| *seconds > 0.0),
        attempts: stands.attempts,
        succeeded: stands.succeeded,
        median_ms: stands.median_ms,
        slow_ms: stands.slow_ms,
        id: one.id,
    };
    Ok(Answer::json(200, &view))
}
