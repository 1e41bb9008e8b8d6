//! The list of stored events: one partition a statement, at most thirty of them a request.

use super::log::{Day, DaySpan};
use crate::query::{ListQuery, Order};
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::{Error, Row};

pub(super) const DAYS_NEWEST: Sql = sql!("days_newest.sql");
pub(super) const DAYS_OLDEST: Sql = sql!("days_oldest.sql");
pub(super) const LIST_NEWEST: Sql = sql!("list_newest.sql");
pub(super) const LIST_OLDEST: Sql = sql!("list_oldest.sql");

/// Days looked at in one request; the next link goes on behind them.
const MOST_DAYS: usize = 30;

/// An event as lists show it: everything but headers and body.
#[derive(Debug)]
pub struct Listed {
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub event_id: String,
    pub delivery_id: Option<String>,
    pub event_type: Option<String>,
    pub provider_timestamp: Option<OffsetDateTime>,
    pub method: String,
    pub target: Vec<u8>,
    pub body_sha256: Vec<u8>,
    pub body_bytes: i64,
    pub remote_addr: Option<String>,
}

/// A page of the list, and behind which sequence the next one begins, if there may be one.
#[derive(Debug)]
pub struct ListPage {
    pub events: Vec<Listed>,
    pub next_behind: Option<i64>,
}

/// The events that the query names.
pub async fn list(session: &Session, source: &str, query: &ListQuery) -> Result<ListPage, Error> {
    let mut days = days(session, source, query).await?;
    let more_days = days.len() > MOST_DAYS;
    days.truncate(MOST_DAYS);
    let mut events: Vec<Listed> = Vec::new();
    for span in &days {
        // One more than wanted tells whether there is a next page.
        let wanted = query.limit + 1 - events.len() as i64;
        events.extend(on_day(session, source, query, span.day, wanted).await?);
        if events.len() as i64 > query.limit {
            events.truncate(query.limit as usize);
            let next_behind = events.last().map(|event| event.sequence);
            return Ok(ListPage { events, next_behind });
        }
    }
    let next_behind = days.last().filter(|_| more_days).map(|span| match query.order {
        Order::NewestFirst => span.first,
        Order::OldestFirst => span.last.unwrap_or(span.first),
    });
    Ok(ListPage { events, next_behind })
}

async fn days(session: &Session, source: &str, query: &ListQuery) -> Result<Vec<DaySpan>, Error> {
    let first_day = query.from.map_or(OffsetDateTime::UNIX_EPOCH.date(), |from| Day::of(from).0);
    let last_day = query.to.map_or(time::Date::MAX, |to| Day::of(to).0);
    let (after, before) = bounds(query);
    let statement = match query.order {
        Order::NewestFirst => DAYS_NEWEST,
        Order::OldestFirst => DAYS_OLDEST,
    };
    let most = MOST_DAYS as i64 + 1;
    let rows = session.rows(statement, &[&source, &after, &before, &first_day, &last_day, &most]).await?;
    rows.iter().map(DaySpan::from_row).collect()
}

async fn on_day(
    session: &Session,
    source: &str,
    query: &ListQuery,
    day: Day,
    wanted: i64,
) -> Result<Vec<Listed>, Error> {
    let from = query.from.map_or(day.start(), |from| from.max(day.start()));
    let to = query.to.map_or(day.end(), |to| to.min(day.end()));
    let (after, before) = bounds(query);
    let statement = match query.order {
        Order::NewestFirst => LIST_NEWEST,
        Order::OldestFirst => LIST_OLDEST,
    };
    // The relay's own id names an event only where the provider gave none, and has no index.
    let event_id = query.delivery_id.as_deref().filter(|id| is_event_id(id));
    let rows = session
        .rows(
            statement,
            &[
                &source,
                &after,
                &before,
                &from,
                &to,
                &wanted,
                &query.delivery_id,
                &query.event_type,
                &event_id,
            ],
        )
        .await?;
    rows.iter().map(listed).collect()
}

fn bounds(query: &ListQuery) -> (i64, i64) {
    (query.after.unwrap_or(0), query.before.unwrap_or(i64::MAX))
}

fn is_event_id(id: &str) -> bool {
    id.len() == 30
        && id.starts_with("evt_")
        && id[4..].bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn listed(row: &Row) -> Result<Listed, Error> {
    Ok(Listed {
        sequence: row.try_get("sequence")?,
        received_at: row.try_get("received_at")?,
        event_id: row.try_get("event_id")?,
        delivery_id: row.try_get("delivery_id")?,
        event_type: row.try_get("event_type")?,
        provider_timestamp: row.try_get("provider_timestamp")?,
        method: row.try_get("method")?,
        target: row.try_get("target")?,
        body_sha256: row.try_get("body_sha256")?,
        body_bytes: row.try_get("body_bytes")?,
        remote_addr: row.try_get("remote_addr")?,
    })
}
