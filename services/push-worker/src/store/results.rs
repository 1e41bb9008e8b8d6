//! Recording what attempts came to, and what they say about the receivers.

use super::*;
use crate::outcome::{Outcome, Verdict};
use std::time::Duration;
use uuid::Uuid;

/// One attempt to be recorded.
#[derive(Debug, Clone)]
pub struct Row {
    pub delivery: String,
    pub token: Uuid,
    /// How long ago it ended.
    pub age: Duration,
    pub duration: Duration,
    pub outcome: Outcome,
    pub status: Option<u16>,
    pub error: Option<String>,
    pub url: String,
    pub response: Option<Vec<u8>>,
    /// What the owner does; a late attempt does nothing.
    pub verdict: Verdict,
}

/// What became of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub delivery: String,
    pub token: Uuid,
    pub number: i32,
    /// False: the claim had been superseded, and the attempt was recorded as late.
    pub owner: bool,
    /// An earlier commit, whose outcome was not known, had recorded it already.
    pub again: bool,
}

/// Records a batch in one transaction of two statements. What does not come back was of a delivery that is gone, or
/// of a worker whose protocol is too old.
pub async fn record(
    session: &Session,
    protocol: i32,
    worker: &str,
    batch: &[Row],
) -> Result<Vec<Recorded>, Error> {
    // Prepared first, so that the burst below is four messages in a row.
    let lock = session.statement(LOCK_DELIVERIES).await?;
    let write = session.statement(RECORD).await?;
    let columns = Columns::of(batch);
    let lock_params: [&(dyn tokio_postgres::types::ToSql + Sync); 1] = [&columns.ids];
    let params = columns.params(&protocol, &worker);
    // One round trip: requests go out in the order in which these are first polled.
    let (begun, locked, written, committed) = tokio::join!(
        biased;
        session.batch_execute("begin"),
        session.query(&lock, &lock_params),
        session.query(&write, &params),
        session.batch_execute("commit"),
    );
    begun?;
    locked?;
    let rows = written?;
    committed?;
    Ok(rows.iter().map(recorded).collect())
}

fn recorded(row: &tokio_postgres::Row) -> Recorded {
    Recorded {
        delivery: row.get("id"),
        token: row.get("token"),
        number: row.get("number"),
        owner: row.get("owner"),
        again: row.get("again"),
    }
}

/// A batch turned into the arrays of the statement.
struct Columns<'a> {
    ids: Vec<&'a str>,
    tokens: Vec<Uuid>,
    ages: Vec<f64>,
    durations: Vec<i32>,
    outcomes: Vec<&'static str>,
    statuses: Vec<Option<i32>>,
    errors: Vec<Option<&'a str>>,
    urls: Vec<&'a str>,
    responses: Vec<Option<&'a [u8]>>,
    states: Vec<&'static str>,
    waits: Vec<f64>,
    becauses: Vec<&'static str>,
    failures: Vec<Option<&'static str>>,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a [Row]) -> Self {
        let millis = |span: Duration| span.as_secs_f64() * 1000.0;
        let verdicts = || batch.iter().map(|row| parts(&row.verdict));
        Self {
            ids: batch.iter().map(|row| row.delivery.as_str()).collect(),
            tokens: batch.iter().map(|row| row.token).collect(),
            ages: batch.iter().map(|row| millis(row.age)).collect(),
            durations: batch
                .iter()
                .map(|row| i32::try_from(row.duration.as_millis()).unwrap_or(i32::MAX))
                .collect(),
            outcomes: batch.iter().map(|row| row.outcome.as_str()).collect(),
            statuses: batch.iter().map(|row| row.status.map(i32::from)).collect(),
            errors: batch.iter().map(|row| row.error.as_deref()).collect(),
            urls: batch.iter().map(|row| row.url.as_str()).collect(),
            responses: batch.iter().map(|row| row.response.as_deref()).collect(),
            states: verdicts().map(|(state, ..)| state).collect(),
            waits: verdicts().map(|(_, wait, ..)| millis(wait)).collect(),
            becauses: verdicts().map(|(_, _, because, _)| because).collect(),
            failures: verdicts().map(|(.., failure)| failure).collect(),
        }
    }

    fn params<'p>(
        &'p self,
        protocol: &'p i32,
        worker: &'p &'p str,
    ) -> [&'p (dyn tokio_postgres::types::ToSql + Sync); 15] {
        [
            protocol,
            &self.ids,
            &self.tokens,
            &self.ages,
            &self.durations,
            &self.outcomes,
            &self.statuses,
            &self.errors,
            &self.urls,
            &self.responses,
            &self.states,
            &self.waits,
            &self.becauses,
            &self.failures,
            worker,
        ]
    }
}

/// State, wait, why then, why it failed.
fn parts(verdict: &Verdict) -> (&'static str, Duration, &'static str, Option<&'static str>) {
    match verdict {
        Verdict::Delivered => ("delivered", Duration::ZERO, "new", None),
        Verdict::Retry(wait, because) => ("pending", *wait, because.as_str(), None),
        Verdict::Failed(why) => ("failed", Duration::ZERO, "new", Some(why)),
    }
}

/// What a batch says about one subscription's receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// Whether its last attempt succeeded.
    pub succeeded: bool,
    /// Timeouts and refused connections since the last success.
    pub strikes: i32,
    /// Whether any attempt got an answer that was no success.
    pub answered: bool,
    /// Why the subscription is to be disabled.
    pub disable: Option<&'static str>,
}

/// When the circuit opens and when a subscription is given up.
#[derive(Debug, Clone, Copy)]
pub struct HealthRules {
    pub open_after: i32,
    pub first_pause: Duration,
    pub longest_pause: Duration,
    pub disable_after: Duration,
}

/// A subscription that was disabled just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disabled {
    pub subscription: String,
    pub source: String,
    pub reason: String,
}

/// Writes health down, under the cursor rows' locks. Nothing depends on it being exact.
pub async fn update_health(
    session: &Session,
    rules: &HealthRules,
    said: &[(String, Health)],
) -> Result<Vec<Disabled>, Error> {
    let ids: Vec<&str> = said.iter().map(|(id, _)| id.as_str()).collect();
    let succeeded: Vec<bool> = said.iter().map(|(_, health)| health.succeeded).collect();
    let strikes: Vec<i32> = said.iter().map(|(_, health)| health.strikes).collect();
    let answered: Vec<bool> = said.iter().map(|(_, health)| health.answered).collect();
    let disable: Vec<Option<&str>> = said.iter().map(|(_, health)| health.disable).collect();
    begin(session).await?;
    let work = async {
        session.rows(LOCK_CURSORS, &[&ids]).await?;
        let rows = session
            .rows(
                UPDATE_HEALTH,
                &[
                    &ids,
                    &succeeded,
                    &strikes,
                    &answered,
                    &disable,
                    &rules.open_after,
                    &rules.first_pause.as_secs_f64(),
                    &rules.longest_pause.as_secs_f64(),
                    &rules.disable_after.as_secs_f64(),
                ],
            )
            .await?;
        commit(session).await?;
        Ok(rows)
    };
    let rows = match work.await {
        Ok(rows) => rows,
        Err(error) => {
            let _ = rollback(session).await;
            return Err(error);
        }
    };
    let disabled = rows.iter().map(|row| Disabled {
        subscription: row.get("subscription_id"),
        source: row.get("source"),
        reason: row.get("disable"),
    });
    Ok(disabled.collect())
}
