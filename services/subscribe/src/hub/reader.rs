//! Reading stretches of the log into pages of entries.

use super::entry::{Entry, Page};
use crate::frame::{LONGEST_INLINE_BODY, Sending, message};
use crate::store::{self, Day, Head, PageAsk, PageRow};
use hooks_shared::db::Session;
use std::sync::Arc;
use time::OffsetDateTime;
use tokio_postgres::Error;

/// Rows and bytes of one read. A thousand skipped events cost as little as a few sent ones.
const PAGE_ROWS: i64 = 1_000;
/// Small, since every listener that is behind holds a page until its client has taken it.
const PAGE_BYTES: i64 = 128 << 10;
/// New events are read once for all listeners.
const TAIL_BYTES: i64 = 1 << 20;
/// Events with which a ring begins.
const FIRST_ROWS: i64 = 1_000;

/// What is to be read.
#[derive(Debug, Clone)]
pub struct Ask {
    pub source: Arc<str>,
    pub after: i64,
    /// A head read before: everything up to it is visible now.
    pub head: Head,
    /// Of events signed before this only what a skip needs is read.
    pub fresh_from: Option<OffsetDateTime>,
}

/// The next page behind a cursor, wherever in the past that is.
pub async fn page(session: &Session, ask: &Ask) -> Result<Page, Error> {
    let Some(span) = store::day_after(session, &ask.source, ask.after).await? else {
        return Ok(Page { entries: Vec::new(), through: ask.head.sequence.max(ask.after) });
    };
    let through = span.last.unwrap_or(ask.head.sequence);
    read_day(session, ask, span.day, through, PAGE_BYTES).await
}

/// New events behind the ring, whose newest event arrived at `newest_at`.
pub async fn tail(session: &Session, ask: &Ask, newest_at: Option<OffsetDateTime>) -> Result<Page, Error> {
    let day = Day::of(ask.head.received_at);
    if newest_at.map(Day::of) == Some(day) {
        // Arrival times never go back within a source: all that is new arrived on this day.
        return read_day(session, ask, day, ask.head.sequence, TAIL_BYTES).await;
    }
    page(session, ask).await
}

/// The events with which a ring begins: the newest of the newest day, and the sequence they continue at.
pub async fn newest(session: &Session, ask: &Ask, bytes: i64) -> Result<(i64, Page), Error> {
    let head = ask.head;
    let asked = PageAsk {
        source: &ask.source,
        after: head.sequence,
        day: Day::of(head.received_at),
        rows: FIRST_ROWS,
        bytes,
        fresh_from: None,
        longest_body: LONGEST_INLINE_BODY,
    };
    let rows = store::newest(session, &asked).await?;
    let entries: Vec<_> =
        rows.into_iter().map(|stored| Entry::from_row(&PageRow { stored, stale: false })).collect();
    let base = entries.first().map_or(head.sequence, |first| first.sequence - 1);
    Ok((base, Page { entries, through: head.sequence }))
}

/// A whole message for one event of a known day.
pub async fn replay(
    session: &Session,
    source: &str,
    sequence: i64,
    received_at: OffsetDateTime,
) -> Result<Option<bytes::Bytes>, Error> {
    let day = Day::of(received_at);
    let stored = store::event(session, source, sequence, day, LONGEST_INLINE_BODY).await?;
    Ok(stored.map(|stored| message(&stored, Sending::Replay)))
}

async fn read_day(session: &Session, ask: &Ask, day: Day, end: i64, bytes: i64) -> Result<Page, Error> {
    let asked = PageAsk {
        source: &ask.source,
        after: ask.after,
        day,
        rows: PAGE_ROWS,
        bytes,
        fresh_from: ask.fresh_from,
        longest_body: LONGEST_INLINE_BODY,
    };
    let entries: Vec<_> = store::page(session, &asked).await?.iter().map(Entry::from_row).collect();
    // A page that brought something may have been cut short; an empty one says that the day has no more.
    let through = entries.last().map_or(end.max(ask.after), |last| last.sequence);
    Ok(Page { entries, through })
}
