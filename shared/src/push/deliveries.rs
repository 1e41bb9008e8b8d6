//! What operators see of deliveries, and do with them.

use super::error::OperatorError;
use super::event_replay::bounds;
use super::statements::*;
use super::work::Work;
use crate::db::{Session, notify_once};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use time::{Date, OffsetDateTime, UtcOffset};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

pub use super::detail::{Attempt, Detail, show};

/// Deliveries moved by one transaction of a bulk action.
const BATCH: i64 = 1_000;

/// A delivery as operators see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Delivery {
    pub id: String,
    pub subscription_id: String,
    pub source: String,
    pub sequence: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub received_at: OffsetDateTime,
    pub state: String,
    /// Requests of its whole life.
    pub attempts: i32,
    /// Requests of the present cycle.
    pub cycle_attempts: i32,
    #[serde(with = "time::serde::rfc3339")]
    pub next_attempt_at: OffsetDateTime,
    pub due_because: String,
    #[serde(with = "time::serde::rfc3339::option")]
    pub claim_expires_at: Option<OffsetDateTime>,
    pub claimed_by: Option<String>,
    pub replayed: bool,
    pub failure: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339::option")]
    pub completed_at: Option<OffsetDateTime>,
}

/// Which deliveries.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    pub subscription: Option<String>,
    pub source: Option<String>,
    pub state: Option<String>,
    /// When the event arrived (for lists: when the delivery was made), from here …
    #[serde(with = "time::serde::rfc3339::option")]
    pub from: Option<OffsetDateTime>,
    /// … to before here.
    #[serde(with = "time::serde::rfc3339::option")]
    pub to: Option<OffsetDateTime>,
    /// Status of the last attempt.
    pub status: Option<i32>,
    pub ids: Option<Vec<String>>,
}

/// What a bulk action would do, or did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    pub count: i64,
    /// Arrival of the oldest and newest event.
    #[serde(with = "time::serde::rfc3339::option")]
    pub oldest: Option<OffsetDateTime>,
    #[serde(with = "time::serde::rfc3339::option")]
    pub newest: Option<OffsetDateTime>,
}

/// A failed delivery begins a new cycle, due now; attempts and history stay.
pub async fn replay(session: &Session, actor: &str, id: &str) -> Result<(), OperatorError> {
    let work = Work::begin(session).await?;
    let found = match find(session, id).await {
        Ok(found) => found,
        Err(error) => return work.refuse(error).await,
    };
    if let Err(error) = lock_live(&work, &found.subscription).await {
        return work.refuse(error).await;
    }
    let (lower, upper) = bounds(found.received_at.to_offset(UtcOffset::UTC).date());
    if session.row(REPLAY_DELIVERY, &[&id, &lower, &upper]).await?.is_none() {
        // Read again: what it is now, under the lock, is why.
        let state = find(session, id).await?.state;
        let error = match state.as_str() {
            "failed" => OperatorError::EventExpired,
            _ => OperatorError::NotReplayable { state },
        };
        return work.refuse(error).await;
    }
    work.audit(actor, "delivery.replay", id, 1, None).await?;
    work.commit().await?;
    notify_once(session, "!push").await;
    Ok(())
}

/// What [`replay_where`] would do. Deliveries whose event is gone are counted here and passed over there.
pub async fn plan_replay(session: &Session, filter: &Filter) -> Result<Plan, OperatorError> {
    let mut plan = Plan::default();
    for row in session.rows(PLAN_REPLAY, &filter.params()).await? {
        plan.add(row.get("count"), row.get("oldest"));
        plan.add(0, row.get("newest"));
    }
    Ok(plan)
}

/// Replays every failed delivery that the filter matches, in batches, each with its audit row, so that nothing is done
/// without one wherever this ends; what matches none has one too. `progress` is told how many there have been so far.
pub async fn replay_where(
    session: &Session,
    actor: &str,
    filter: &Filter,
    mut progress: impl FnMut(i64) + Send,
) -> Result<Plan, OperatorError> {
    let mut done = Plan::default();
    for row in session.rows(PLAN_REPLAY, &filter.params()).await? {
        let one = Filter { subscription: row.get("subscription_id"), ..filter.clone() };
        let mut behind = Some(String::new());
        while let Some(id) = behind {
            behind = replay_batch(session, actor, &one, &id, &mut done).await?;
            progress(done.count);
            notify_once(session, "!push").await;
        }
    }
    if done.count == 0 {
        let work = Work::begin(session).await?;
        audit_replayed(&work, actor, filter, 0).await?;
        work.commit().await?;
    }
    Ok(done)
}

async fn audit_replayed(
    work: &Work<'_>,
    actor: &str,
    filter: &Filter,
    count: i64,
) -> Result<(), OperatorError> {
    let details = json!({
        "subscription": filter.subscription, "source": filter.source, "status": filter.status,
        "ids": filter.ids.as_ref().map(Vec::len),
    });
    work.audit(actor, "delivery.replay_many", "deliveries", count, Some(details)).await
}

/// Replays the next batch of the filter's subscription behind an id; the id behind which there may be more.
async fn replay_batch(
    session: &Session,
    actor: &str,
    filter: &Filter,
    behind: &str,
    done: &mut Plan,
) -> Result<Option<String>, OperatorError> {
    let work = Work::begin(session).await?;
    match lock_live(&work, filter.subscription.as_deref().unwrap_or_default()).await {
        Ok(()) => {}
        // Deleted since the plan was made: nothing of it is left to replay.
        Err(OperatorError::NoSubscription(_)) => {
            work.commit().await?;
            return Ok(None);
        }
        Err(error) => return work.refuse(error).await,
    }
    let [subscription, source, from, to, status, ids] = filter.params();
    let params = [subscription, source, from, to, status, ids, &behind, &BATCH];
    let picked = session.rows(PICK_FAILED, &params).await?;
    let mut days: BTreeMap<Date, Vec<String>> = BTreeMap::new();
    for row in picked.iter().filter(|row| row.get("wanted")) {
        let received_at: OffsetDateTime = row.get("received_at");
        days.entry(received_at.to_offset(UtcOffset::UTC).date()).or_default().push(row.get("id"));
    }
    let mut batch = Plan::default();
    for (day, ids) in days {
        let (lower, upper) = bounds(day);
        for row in session.rows(REPLAY_PICKED, &[&ids, &lower, &upper]).await? {
            batch.add(1, row.get("received_at"));
        }
    }
    if batch.count > 0 {
        audit_replayed(&work, actor, filter, batch.count).await?;
    }
    work.commit().await?;
    done.join(&batch);
    let full = picked.len() as i64 == BATCH;
    Ok(picked.last().filter(|_| full).map(|row| row.get("id")))
}

/// A pending delivery is not to be sent.
pub async fn cancel(session: &Session, actor: &str, id: &str) -> Result<(), OperatorError> {
    let work = Work::begin(session).await?;
    let found = match find(session, id).await {
        Ok(found) => found,
        Err(error) => return work.refuse(error).await,
    };
    if let Err(error) = work.lock(&found.subscription).await {
        return work.refuse(error).await;
    }
    if session.row(CANCEL_DELIVERY, &[&id]).await?.is_none() {
        let state = find(session, id).await?.state;
        return work.refuse(OperatorError::NotCancellable { state }).await;
    }
    work.audit(actor, "delivery.cancel", id, 1, None).await?;
    work.commit().await
}

/// Cancels what is pending of one subscription, of events that arrived in the filter's time, in batches, each with its
/// audit row; how many.
pub async fn cancel_where(
    session: &Session,
    actor: &str,
    subscription: &str,
    from: Option<OffsetDateTime>,
    to: Option<OffsetDateTime>,
) -> Result<i64, OperatorError> {
    let mut cancelled = 0;
    loop {
        let work = Work::begin(session).await?;
        if let Err(error) = work.lock(subscription).await {
            return work.refuse(error).await;
        }
        let rows = session.rows(CANCEL_WHERE, &[&subscription, &from, &to, &BATCH]).await?;
        let count = rows.len() as i64;
        if count > 0 || cancelled == 0 {
            work.audit(actor, "delivery.cancel_many", subscription, count, None).await?;
        }
        work.commit().await?;
        cancelled += count;
        if count < BATCH {
            return Ok(cancelled);
        }
    }
}

struct Found {
    subscription: String,
    received_at: OffsetDateTime,
    state: String,
}

async fn find(session: &Session, id: &str) -> Result<Found, OperatorError> {
    let row = session.row(FIND_DELIVERY, &[&id]).await?;
    let row = row.ok_or_else(|| OperatorError::NoDelivery(id.to_owned()))?;
    Ok(Found {
        subscription: row.get("subscription_id"),
        received_at: row.get("received_at"),
        state: row.get("state"),
    })
}

async fn lock_live(work: &Work<'_>, subscription: &str) -> Result<(), OperatorError> {
    let (state, _) = work.lock(subscription).await?;
    if state == "deleted" {
        return Err(OperatorError::NoSubscription(subscription.to_owned()));
    }
    Ok(())
}

impl Filter {
    /// As plan_replay takes them; `state` is always `failed` there.
    fn params(&self) -> [&(dyn ToSql + Sync); 6] {
        [&self.subscription, &self.source, &self.from, &self.to, &self.status, &self.ids]
    }
}

impl Plan {
    fn join(&mut self, other: &Plan) {
        for at in [other.oldest, other.newest].into_iter().flatten() {
            self.add(0, at);
        }
        self.count += other.count;
    }

    fn add(&mut self, count: i64, at: OffsetDateTime) {
        self.count += count;
        self.oldest = Some(self.oldest.map_or(at, |known| known.min(at)));
        self.newest = Some(self.newest.map_or(at, |known| known.max(at)));
    }
}

pub(super) fn read(row: &Row) -> Delivery {
    Delivery {
        id: row.get("id"),
        subscription_id: row.get("subscription_id"),
        source: row.get("source"),
        sequence: row.get("sequence"),
        received_at: row.get("received_at"),
        state: row.get("state"),
        attempts: row.get("attempts"),
        cycle_attempts: row.get("cycle_attempts"),
        next_attempt_at: row.get("next_attempt_at"),
        due_because: row.get("due_because"),
        claim_expires_at: row.get("claim_expires_at"),
        claimed_by: row.get("claimed_by"),
        replayed: row.get("replayed"),
        failure: row.get("failure"),
        created_at: row.get("created_at"),
        completed_at: row.get("completed_at"),
    }
}
