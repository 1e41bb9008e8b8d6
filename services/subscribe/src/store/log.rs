//! Reading the log. Every statement on `events` bounds the arrival time by one day, since a statement without a
//! bound plans and locks all partitions.

use crate::frame::Stored;
use hooks_shared::db::{Session, Sql};
use hooks_shared::event::Event;
use hooks_shared::sql;
use time::{Date, OffsetDateTime, Time};
use tokio_postgres::{Error, Row};

pub(super) const HEADS: Sql = sql!("heads.sql");
pub(super) const DAY_AFTER: Sql = sql!("day_after.sql");
pub(super) const DAY_OF: Sql = sql!("day_of.sql");
pub(super) const PAGE: Sql = sql!("page.sql");
pub(super) const NEWEST: Sql = sql!("newest.sql");
pub(super) const EVENT: Sql = sql!("event.sql");
pub(super) const BODY: Sql = sql!("body.sql");

/// The newest sequence of a source, and when it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub sequence: i64,
    pub received_at: OffsetDateTime,
}

impl Head {
    /// Of a source in which nothing has been stored.
    pub const NONE: Head = Head { sequence: 0, received_at: OffsetDateTime::UNIX_EPOCH };
}

/// A UTC day: a partition of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub Date);

impl Day {
    pub fn of(at: OffsetDateTime) -> Self {
        Self(at.to_offset(time::UtcOffset::UTC).date())
    }

    pub fn start(self) -> OffsetDateTime {
        self.0.with_time(Time::MIDNIGHT).assume_utc()
    }

    pub fn end(self) -> OffsetDateTime {
        self.0.next_day().unwrap_or(Date::MAX).with_time(Time::MIDNIGHT).assume_utc()
    }
}

/// What a source has on a day; the last sequence is None while the day is the source's newest.
#[derive(Debug, Clone, Copy)]
pub struct DaySpan {
    pub day: Day,
    pub first: i64,
    pub last: Option<i64>,
}

impl DaySpan {
    pub(super) fn from_row(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            day: Day(row.try_get("day")?),
            first: row.try_get("first_sequence")?,
            last: row.try_get("last_sequence")?,
        })
    }
}

/// The head of each of the sources that has one, and whether the server is a standby.
pub async fn heads(session: &Session, sources: &[String]) -> Result<Vec<(String, Head, bool)>, Error> {
    let rows = session.rows(HEADS, &[&sources]).await?;
    let read = |row: &Row| {
        let head =
            Head { sequence: row.try_get("last_sequence")?, received_at: row.try_get("last_received_at")? };
        Ok((row.try_get("source")?, head, row.try_get("standby")?))
    };
    rows.iter().map(read).collect()
}

/// The day with the first event behind `after`; None when nothing behind it is stored.
pub async fn day_after(session: &Session, source: &str, after: i64) -> Result<Option<DaySpan>, Error> {
    let row = session.row(DAY_AFTER, &[&source, &after]).await?;
    row.as_ref().map(DaySpan::from_row).transpose()
}

/// The day of a sequence, if that number was ever given.
pub async fn day_of(session: &Session, source: &str, sequence: i64) -> Result<Option<Day>, Error> {
    let row = session.row(DAY_OF, &[&source, &sequence]).await?;
    row.map(|row| row.try_get("day").map(Day)).transpose()
}

/// Which events of one day are wanted.
#[derive(Debug, Clone, Copy)]
pub struct PageAsk<'a> {
    pub source: &'a str,
    pub after: i64,
    pub day: Day,
    pub rows: i64,
    /// Bodies and headers, roughly; at least one event is read.
    pub bytes: i64,
    /// Of events signed before this, only what a skip needs is read.
    pub fresh_from: Option<OffsetDateTime>,
    /// Longer bodies are left out.
    pub longest_body: i64,
}

/// An event of a page; a stale one has neither headers nor body.
#[derive(Debug)]
pub struct PageRow {
    pub stored: Stored,
    pub stale: bool,
}

/// The next events behind a cursor, oldest first.
pub async fn page(session: &Session, ask: &PageAsk<'_>) -> Result<Vec<PageRow>, Error> {
    let rows = session
        .rows(
            PAGE,
            &[
                &ask.source,
                &ask.after,
                &ask.day.start(),
                &ask.day.end(),
                &ask.rows,
                &ask.longest_body,
                &ask.fresh_from,
                &ask.bytes,
            ],
        )
        .await?;
    rows.iter().map(|row| Ok(PageRow { stored: stored(row)?, stale: row.try_get("stale")? })).collect()
}

/// The newest events up to `ask.after`, oldest first. `fresh_from` does not apply.
pub async fn newest(session: &Session, ask: &PageAsk<'_>) -> Result<Vec<Stored>, Error> {
    let rows = session
        .rows(
            NEWEST,
            &[
                &ask.source,
                &ask.after,
                &ask.day.start(),
                &ask.day.end(),
                &ask.rows,
                &ask.longest_body,
                &ask.bytes,
            ],
        )
        .await?;
    rows.iter().rev().map(stored).collect()
}

/// One event of a known day. A body above `longest_body` is left out.
pub async fn event(
    session: &Session,
    source: &str,
    sequence: i64,
    day: Day,
    longest_body: i64,
) -> Result<Option<Stored>, Error> {
    let row = session.row(EVENT, &[&source, &sequence, &day.start(), &day.end(), &longest_body]).await?;
    row.as_ref().map(stored).transpose()
}

/// The body of one event of a known day.
pub async fn body(
    session: &Session,
    source: &str,
    sequence: i64,
    day: Day,
) -> Result<Option<Vec<u8>>, Error> {
    let row = session.row(BODY, &[&source, &sequence, &day.start(), &day.end()]).await?;
    row.map(|row| row.try_get("body")).transpose()
}

fn stored(row: &Row) -> Result<Stored, Error> {
    Ok(Stored { event: Event::from_row(row)?, body_bytes: row.try_get("body_bytes")? })
}
