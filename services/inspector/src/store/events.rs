//! Reading the log, newest first over any number of sources, one day a statement.

use super::Result;
use super::days::Day;
use hooks_shared::db::{Session, Sql};
use hooks_shared::event::Event;
use hooks_shared::sql;
use std::collections::HashMap;
use std::net::IpAddr;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

const LIST: Sql = sql!("events_list.sql");
const SEARCH: Sql = sql!("events_search.sql");
const SHOW: Sql = sql!("events_show.sql");
const BODY: Sql = sql!("events_body.sql");
const PUSH: Sql = sql!("events_push.sql");
const AFTER: Sql = sql!("events_after.sql");
pub(super) const STATEMENTS: &[Sql] = &[LIST, SEARCH, SHOW, BODY, PUSH, AFTER];

/// An event as lists show it: neither headers nor body.
#[derive(Debug, Clone)]
pub struct EventRow {
    pub source: String,
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub event_id: String,
    pub delivery_id: Option<String>,
    pub event_type: Option<String>,
    pub provider_timestamp: Option<OffsetDateTime>,
    pub method: String,
    pub target: Vec<u8>,
    pub remote_addr: Option<IpAddr>,
    pub body_bytes: i64,
}

impl EventRow {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            source: row.try_get("source")?,
            sequence: row.try_get("sequence")?,
            received_at: row.try_get("received_at")?,
            event_id: row.try_get("event_id")?,
            delivery_id: row.try_get("delivery_id")?,
            event_type: row.try_get("event_type")?,
            provider_timestamp: row.try_get("provider_timestamp")?,
            method: row.try_get("method")?,
            target: row.try_get("target")?,
            remote_addr: row.try_get("remote_addr")?,
            body_bytes: row.try_get("body_bytes")?,
        })
    }

    pub fn place(&self) -> Place {
        Place { at: self.received_at, source: self.source.clone(), sequence: self.sequence }
    }

    /// What clients call the delivery id: the provider's, else the relay's own.
    pub fn delivery_id(&self) -> &str {
        self.delivery_id.as_deref().unwrap_or(&self.event_id)
    }
}

/// Where a list stands: newest first, sources in their order where two arrived at the same instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub at: OffsetDateTime,
    pub source: String,
    pub sequence: i64,
}

/// One day's share of a list.
#[derive(Debug)]
pub struct DayAsk<'a> {
    pub sources: &'a [String],
    pub day: Day,
    pub from: Option<OffsetDateTime>,
    pub to: Option<OffsetDateTime>,
    pub behind: Option<&'a Place>,
    pub limit: i64,
}

impl DayAsk<'_> {
    /// Nothing that arrived at or after this instant is wanted.
    fn upper(&self) -> OffsetDateTime {
        let behind = self.behind.map(|place| place.at + time::Duration::MICROSECOND);
        let bounds = [Some(self.day.end()), self.to, behind];
        bounds.into_iter().flatten().min().unwrap_or(self.day.end())
    }

    fn lower(&self) -> OffsetDateTime {
        self.from.map_or(self.day.start(), |from| from.max(self.day.start()))
    }
}

/// The newest events of a day behind a place.
pub async fn list(db: &Session, ask: &DayAsk<'_>) -> Result<Vec<EventRow>> {
    let (at, source, sequence) = split(ask.behind);
    let params: [&(dyn ToSql + Sync); 9] = [
        &ask.sources,
        &ask.day.start(),
        &ask.day.end(),
        &ask.upper(),
        &ask.lower(),
        &at,
        &source,
        &sequence,
        &ask.limit,
    ];
    db.rows(LIST, &params).await?.iter().map(EventRow::from_row).collect()
}

/// A hit of the index, with what is needed to compare it: headers, and the body unless it is long.
#[derive(Debug)]
pub struct Hit {
    pub row: EventRow,
    pub headers: Vec<u8>,
    pub body: Vec<u8>,
}

/// As [`list`], of the events that the index says have all these terms.
pub async fn search(db: &Session, ask: &DayAsk<'_>, terms: &[i64]) -> Result<Vec<Hit>> {
    let (at, source, sequence) = split(ask.behind);
    let longest = crate::search::LONGEST_BODY;
    let params: [&(dyn ToSql + Sync); 11] = [
        &ask.sources,
        &ask.day.start(),
        &ask.day.end(),
        &ask.upper(),
        &ask.lower(),
        &at,
        &source,
        &sequence,
        &ask.limit,
        &terms,
        &longest,
    ];
    let rows = db.rows(SEARCH, &params).await?;
    let read = |row: &Row| {
        Ok(Hit {
            row: EventRow::from_row(row)?,
            headers: row.try_get("headers")?,
            body: row.try_get("body")?,
        })
    };
    rows.iter().map(read).collect()
}

type Split<'a> = (Option<OffsetDateTime>, Option<&'a str>, Option<i64>);

fn split(place: Option<&Place>) -> Split<'_> {
    match place {
        Some(place) => (Some(place.at), Some(&place.source), Some(place.sequence)),
        None => (None, None, None),
    }
}

/// One event. A body longer than `longest_body` is left out.
pub async fn show(
    db: &Session,
    source: &str,
    sequence: i64,
    longest_body: i64,
) -> Result<Option<(Event, i64)>> {
    match super::days::day_of(db, source, sequence).await? {
        Some(day) => show_of(db, source, sequence, day, longest_body).await,
        None => Ok(None),
    }
}

/// As [`show`], where the day of the event is known.
pub async fn show_of(
    db: &Session,
    source: &str,
    sequence: i64,
    day: Day,
    longest_body: i64,
) -> Result<Option<(Event, i64)>> {
    let row = db.row(SHOW, &[&source, &sequence, &day.start(), &day.end(), &longest_body]).await?;
    row.map(|row| Ok((Event::from_row(&row)?, row.try_get("body_bytes")?))).transpose()
}

/// The body of one event, and the `Content-Type` it came with.
pub async fn body(db: &Session, source: &str, sequence: i64) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let Some(day) = super::days::day_of(db, source, sequence).await? else { return Ok(None) };
    let row = db.row(BODY, &[&source, &sequence, &day.start(), &day.end()]).await?;
    row.map(|row| Ok((row.try_get("body")?, row.try_get("headers")?))).transpose()
}

/// How an event's deliveries stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PushCounts {
    pub delivered: i64,
    pub failed: i64,
    pub open: i64,
    pub cancelled: i64,
}

impl PushCounts {
    pub fn total(self) -> i64 {
        self.delivered + self.failed + self.open + self.cancelled
    }

    /// Whether the event is in the state that a filter names.
    pub fn is(self, state: &str) -> bool {
        match state {
            "delivered" => self.delivered > 0 && self.failed + self.open == 0,
            "failed" => self.failed > 0,
            "pending" => self.open > 0,
            "none" => self.total() == 0,
            _ => false,
        }
    }
}

/// How the deliveries of these events stand; events without any are missing.
pub async fn push_counts(db: &Session, rows: &[EventRow]) -> Result<HashMap<(String, i64), PushCounts>> {
    let sources: Vec<&str> = rows.iter().map(|row| row.source.as_str()).collect();
    let sequences: Vec<i64> = rows.iter().map(|row| row.sequence).collect();
    let counted = db.rows(PUSH, &[&sources, &sequences]).await?;
    let read = |row: &Row| {
        let counts = PushCounts {
            delivered: row.try_get("delivered")?,
            failed: row.try_get("failed")?,
            open: row.try_get("open")?,
            cancelled: row.try_get("cancelled")?,
        };
        Ok(((row.try_get("source")?, row.try_get("sequence")?), counts))
    };
    counted.iter().map(read).collect()
}

/// The events of a source behind one sequence and up to another that arrived on a day or the one before, oldest first.
pub async fn after(db: &Session, source: &str, sequence: i64, last: i64, day: Day) -> Result<Vec<EventRow>> {
    let from = day.start() - time::Duration::DAY;
    let rows = db.rows(AFTER, &[&source, &sequence, &last, &from, &day.end()]).await?;
    rows.iter().map(EventRow::from_row).collect()
}
