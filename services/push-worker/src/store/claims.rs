//! Claiming, and giving claims back.

use super::*;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};
use tokio_postgres::Row;
use uuid::Uuid;

/// Which subscriptions to look for.
#[derive(Debug, Clone)]
pub struct Pick<'a> {
    pub protocol: i32,
    pub paused_sources: &'a [String],
    pub skip: &'a [String],
    pub limit: i64,
    pub only_proven: bool,
    pub low: OffsetDateTime,
}

/// A subscription whose cursor row is locked.
#[derive(Debug, Clone)]
pub struct Picked {
    pub id: String,
    pub source: String,
    pub strikes: i32,
    pub proven: bool,
    pub failing: bool,
    pub url: String,
    pub signing: String,
    pub secret: Vec<u8>,
    pub previous_secret: Option<Vec<u8>>,
    pub stop_on_failure: bool,
    pub preserve_method: bool,
    pub forward_credentials: bool,
    pub record_response: i32,
    pub retry: Option<Value>,
    pub has_due: bool,
    pub has_more: bool,
    /// Where the next event lies.
    pub day: Option<Day>,
}

/// A UTC day of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub Date);

impl Day {
    pub fn of(at: OffsetDateTime) -> Self {
        Self(at.to_offset(time::UtcOffset::UTC).date())
    }

    pub fn lower(self) -> OffsetDateTime {
        PrimitiveDateTime::new(self.0, Time::MIDNIGHT).assume_utc()
    }

    pub fn upper(self) -> OffsetDateTime {
        self.lower() + time::Duration::DAY
    }
}

/// How many of which subscription.
pub type Most = HashMap<String, usize>;

/// How much may be claimed, by whom and for how long.
#[derive(Debug, Clone)]
pub struct Limits<'a> {
    pub protocol: i32,
    pub worker: &'a str,
    pub lease: Duration,
    /// In all.
    pub budget: usize,
    /// Of each subscription; of others nothing.
    pub most: &'a Most,
    pub low: OffsetDateTime,
}

impl Limits<'_> {
    fn lease_seconds(&self) -> f64 {
        self.lease.as_secs_f64()
    }

    fn each_of(&self, subscriptions: &[String]) -> Vec<i32> {
        let most =
            subscriptions.iter().map(|id| self.most.get(id).copied().unwrap_or_default().min(self.budget));
        most.map(|most| i32::try_from(most).unwrap_or(i32::MAX)).collect()
    }
}

/// A delivery that this worker holds until its lease ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub id: String,
    pub subscription: String,
    pub source: String,
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub attempts: i32,
    pub cycle_attempts: i32,
    pub token: Uuid,
    pub replayed: bool,
    /// Since when it was due.
    pub due: OffsetDateTime,
    /// Taken over from a claim that was lost; claimed alone.
    pub alone: bool,
}

/// Opens the transaction of a claim.
pub async fn begin(session: &Session) -> Result<(), Error> {
    session.batch_execute("begin").await
}

pub async fn commit(session: &Session) -> Result<(), Error> {
    session.batch_execute("commit").await
}

pub async fn rollback(session: &Session) -> Result<(), Error> {
    session.batch_execute("rollback").await
}

/// Chooses and locks subscriptions.
pub async fn pick(session: &Session, pick: &Pick<'_>) -> Result<Vec<Picked>, Error> {
    let rows = session
        .rows(
            PICK,
            &[&pick.protocol, &pick.paused_sources, &pick.skip, &pick.limit, &pick.only_proven, &pick.low],
        )
        .await?;
    Ok(rows.iter().map(picked).collect())
}

fn picked(row: &Row) -> Picked {
    let on_failure: String = row.get("on_failure");
    let ordered: bool = row.get("ordered");
    let previous_holds: bool = row.get("previous_holds");
    Picked {
        id: row.get("subscription_id"),
        source: row.get("source"),
        strikes: row.get("strikes"),
        proven: row.get("proven"),
        failing: row.get("failing"),
        url: row.get("url"),
        signing: row.get("signing"),
        secret: row.get("secret"),
        previous_secret: row.get::<_, Option<Vec<u8>>>("previous_secret").filter(|_| previous_holds),
        stop_on_failure: ordered && on_failure == "stop",
        preserve_method: row.get("preserve_method"),
        forward_credentials: row.get("forward_credentials"),
        record_response: row.get("record_response"),
        retry: row.get("retry"),
        has_due: row.get("has_due"),
        has_more: row.get("has_more"),
        day: row.get::<_, Option<Date>>("day").map(Day),
    }
}

fn claimed(row: &Row, alone: bool) -> Claimed {
    Claimed {
        id: row.get("id"),
        subscription: row.get("subscription_id"),
        source: row.get("source"),
        sequence: row.get("sequence"),
        received_at: row.get("received_at"),
        attempts: row.get("attempts"),
        cycle_attempts: row.get("cycle_attempts"),
        token: row.get("claim_token"),
        replayed: row.get("replayed"),
        due: row.get("due"),
        alone,
    }
}

/// Claims retries that are due. `tokens` holds one for each row that the budget allows.
pub async fn claim_due(
    session: &Session,
    limits: &Limits<'_>,
    subscriptions: &[String],
    tokens: &[Uuid],
) -> Result<Vec<Claimed>, Error> {
    let rows = session
        .rows(
            CLAIM_DUE,
            &[
                &limits.protocol,
                &subscriptions,
                &limits.each_of(subscriptions),
                &tokens,
                &limits.lease_seconds(),
                &limits.worker,
                &limits.low,
                &(limits.budget as i64),
            ],
        )
        .await?;
    Ok(rows.iter().map(|row| claimed(row, false)).collect())
}

/// A lost claim that was taken over, or whose delivery has lost too many.
#[derive(Debug, Clone, PartialEq)]
pub enum Reclaimed {
    Claimed(Claimed),
    Failed { id: String, subscription: String, source: String, sequence: i64 },
}

/// Takes over at most one lost claim, alone.
pub async fn reclaim(
    session: &Session,
    limits: &Limits<'_>,
    subscriptions: &[String],
    token: Uuid,
    ceiling: i32,
) -> Result<Option<Reclaimed>, Error> {
    let row = session
        .row(
            RECLAIM,
            &[&limits.protocol, &subscriptions, &token, &limits.lease_seconds(), &limits.worker, &ceiling],
        )
        .await?;
    Ok(row.map(|row| {
        if row.get("failed") {
            Reclaimed::Failed {
                id: row.get("id"),
                subscription: row.get("subscription_id"),
                source: row.get("source"),
                sequence: row.get("sequence"),
            }
        } else {
            Reclaimed::Claimed(claimed(&row, true))
        }
    }))
}

/// Makes claimed deliveries of the next events of one day, and moves the cursors.
pub async fn fan_out(
    session: &Session,
    limits: &Limits<'_>,
    subscriptions: &[String],
    day: Day,
    ids: &[String],
    tokens: &[Uuid],
) -> Result<Vec<Claimed>, Error> {
    let rows = session
        .rows(
            FAN_OUT,
            &[
                &limits.protocol,
                &subscriptions,
                &limits.each_of(subscriptions),
                &ids,
                &tokens,
                &limits.lease_seconds(),
                &limits.worker,
                &day.0,
                &day.lower(),
                &day.upper(),
                &(limits.budget as i32),
            ],
        )
        .await?;
    Ok(rows.iter().map(|row| claimed(row, false)).collect())
}

/// Which of these claims may be sent now.
pub async fn confirm(session: &Session, ids: &[String], tokens: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let rows = session.rows(CONFIRM, &[&ids, &tokens]).await?;
    Ok(rows.iter().map(|row| row.get("claim_token")).collect())
}

/// Gives claims back unsent; how many were still held.
pub async fn give_back(session: &Session, ids: &[String], tokens: &[Uuid]) -> Result<usize, Error> {
    Ok(session.rows(GIVE_BACK, &[&ids, &tokens]).await?.len())
}

/// After a commit whose outcome is not known: waits for it to be decided, and gives back what it claimed.
pub async fn give_back_unknown(
    session: &Session,
    subscriptions: &[String],
    tokens: &[Uuid],
) -> Result<usize, Error> {
    begin(session).await?;
    let work = async {
        session.rows(LOCK_CURSORS, &[&subscriptions]).await?;
        let given = session.rows(GIVE_BACK_UNKNOWN, &[&subscriptions, &tokens]).await?.len();
        commit(session).await?;
        Ok(given)
    };
    let done = work.await;
    if done.is_err() {
        let _ = rollback(session).await;
    }
    done
}

/// Fails claims that can never be sent; which of them were still held.
pub async fn fail_unsent(
    session: &Session,
    ids: &[String],
    tokens: &[Uuid],
    failure: &str,
) -> Result<Vec<String>, Error> {
    let failures = vec![failure; ids.len()];
    let rows = session.rows(FAIL_UNSENT, &[&ids, &tokens, &failures]).await?;
    Ok(rows.iter().map(|row| row.get("id")).collect())
}
