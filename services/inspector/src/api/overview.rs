//! The state of the whole in numbers.

use super::sources::{Point, rates};
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::store::samples::{self, Sample};
use crate::store::{self};
use crate::who::Sight;
use serde::Serialize;
use std::collections::BTreeMap;
use time::{Duration, OffsetDateTime};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Serialize, ToSchema)]
pub struct Process {
    pub id: Uuid,
    pub service: String,
    pub version: String,
    pub config_hash: String,
    pub started_at: Moment,
    pub seen_at: Moment,
    /// It has spoken within its usual time.
    pub alive: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Overview {
    pub at: Moment,
    pub sources: i64,
    pub listeners: i64,
    /// Events a minute, newest sample.
    pub events_a_minute: Option<f64>,
    /// Events behind cursors and deliveries not at an end; for administrators.
    pub owed: Option<i64>,
    /// Seconds since the oldest due delivery became due.
    pub oldest_due_seconds: Option<f64>,
    /// Failed deliveries; 10001 stands for more.
    pub failed: Option<i64>,
    pub processes: Vec<Process>,
    /// The configurations of the processes differ.
    pub configurations_differ: bool,
    pub ingest_rate: Vec<Point>,
    pub owed_series: Vec<Point>,
    pub oldest_due_series: Vec<Point>,
    /// Refused requests a minute, as far as they are recorded; for administrators.
    pub refused_series: Vec<Point>,
    /// Push-workers alive; for administrators.
    pub workers_series: Vec<Point>,
}

/// The plots' span.
fn span(call: &Call) -> Result<Duration, Error> {
    match call.query.get("span") {
        None | Some("hour") => Ok(Duration::HOUR),
        Some("day") => Ok(Duration::DAY),
        Some(_) => Err(Error::invalid("span: must be hour or day")),
    }
}

/// Adds or takes the largest of all subjects at each instant.
fn merge(points: impl Iterator<Item = (OffsetDateTime, f64)>, join: fn(f64, f64) -> f64) -> Vec<Point> {
    let mut merged: BTreeMap<OffsetDateTime, f64> = BTreeMap::new();
    for (at, value) in points {
        merged.entry(at).and_modify(|known| *known = join(*known, value)).or_insert(value);
    }
    merged.into_iter().map(|(at, value)| Point { at: Moment(at), value }).collect()
}

fn values(samples: Vec<Sample>) -> impl Iterator<Item = (OffsetDateTime, f64)> {
    samples.into_iter().map(|sample| (sample.at, sample.value))
}

/// What the caller may see of it.
pub async fn read(call: &Call) -> Result<Overview, Error> {
    let since = OffsetDateTime::now_utc() - span(call)?;
    let sight = call.who.sight();
    let all = sight == Sight::All;
    let db = call.session().await?;
    let heads = store::sources::heads(&db).await?;
    let mut sequences = samples::read(&db, "sequence", None, since).await?;
    sequences.retain(|sample| sight.covers(&sample.subject));
    let ingest_rate =
        merge(rates(&sequences).into_iter().map(|point| (point.at.0, point.value)), |a, b| a + b);
    let (mut owed, mut oldest, mut backlog, mut processes) = (Vec::new(), Vec::new(), None, Vec::new());
    let (mut refused, mut workers) = (Vec::new(), Vec::new());
    if all {
        owed = samples::read(&db, "owed", None, since).await?;
        oldest = samples::read(&db, "oldest_due", None, since).await?;
        refused = samples::read(&db, "refused", None, since).await?;
        workers = samples::read(&db, "alive", Some("push-worker"), since).await?;
        backlog = Some(samples::backlog(&db).await?);
        processes = store::listeners::instances(&db).await?;
    }
    let visible = heads.iter().filter(|head| sight.covers(&head.source));
    let hashes: std::collections::BTreeSet<_> =
        processes.iter().filter(|one| one.alive).map(|one| one.config_hash.clone()).collect();
    Ok(Overview {
        at: Moment(OffsetDateTime::now_utc()),
        sources: visible.clone().count() as i64,
        listeners: visible.map(|head| head.listeners).sum(),
        events_a_minute: ingest_rate.last().map(|point| point.value),
        owed: backlog.map(|backlog| backlog.owed),
        oldest_due_seconds: backlog.and_then(|backlog| backlog.oldest_due),
        failed: backlog.map(|backlog| backlog.failed),
        configurations_differ: hashes.len() > 1,
        processes: processes.into_iter().map(process).collect(),
        ingest_rate,
        owed_series: merge(values(owed), |a, b| a + b),
        oldest_due_series: merge(values(oldest), f64::max),
        refused_series: merge(values(refused), |a, b| a + b),
        workers_series: merge(values(workers), |a, b| a + b),
    })
}

fn process(one: store::listeners::Instance) -> Process {
    Process {
        id: one.id,
        service: one.service,
        version: one.version,
        config_hash: one.config_hash,
        started_at: Moment(one.started_at),
        seen_at: Moment(one.seen_at),
        alive: one.alive,
    }
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    Ok(Answer::json(200, &read(&call).await?))
}
