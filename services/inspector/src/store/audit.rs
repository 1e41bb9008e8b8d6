//! The audit. It is only ever added to.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use serde_json::Value;
use std::net::IpAddr;
use time::{Duration, OffsetDateTime};
use tokio_postgres::Row;
use uuid::Uuid;

const ADD: Sql = sql!("audit_add.sql");
const LIST: Sql = sql!("audit_list.sql");
const BOUNDS: Sql = sql!("audit_bounds.sql");
const AT: Sql = sql!("audit_at.sql");
pub(super) const STATEMENTS: &[Sql] = &[ADD, LIST, BOUNDS, AT];

/// Rows looked at for one page where no index leads to what is asked for.
const STRETCH: i64 = 20_000;
/// By how much the order of times and the order of ids may differ: rows are numbered and timed in one statement, so
/// this is for clocks that were set back.
const SLACK: Duration = Duration::minutes(1);

#[derive(Debug)]
pub struct NewRow<'a> {
    pub actor: &'a str,
    pub person_id: Option<Uuid>,
    pub token_id: Option<Uuid>,
    pub session_id: Option<Uuid>,
    pub address: Option<IpAddr>,
    pub request_id: &'a str,
    pub action: &'a str,
    pub subject: &'a str,
    pub outcome: &'a str,
    pub affected: i64,
    pub details: Option<&'a Value>,
}

#[derive(Debug, Clone)]
pub struct AuditRow {
    pub id: i64,
    pub at: OffsetDateTime,
    pub actor: String,
    pub person_id: Option<Uuid>,
    pub token_id: Option<Uuid>,
    pub session_id: Option<Uuid>,
    pub address: Option<IpAddr>,
    pub request_id: Option<String>,
    pub action: String,
    pub subject: String,
    pub outcome: String,
    pub affected: i64,
    pub details: Option<Value>,
}

pub async fn add(db: &Session, row: &NewRow<'_>) -> Result<()> {
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 11] = [
        &row.actor,
        &row.person_id,
        &row.token_id,
        &row.session_id,
        &row.address,
        &row.request_id,
        &row.action,
        &row.subject,
        &row.outcome,
        &row.affected,
        &row.details,
    ];
    db.run(ADD, &params).await?;
    Ok(())
}

/// Which rows, newest first.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// An address, a name of a token, or the id of a person, token or session.
    pub actor: Option<String>,
    pub actor_id: Option<Uuid>,
    pub action: Option<String>,
    pub subject: Option<String>,
    pub outcome: Option<String>,
    pub since: Option<OffsetDateTime>,
    pub until: Option<OffsetDateTime>,
    /// Ids below this.
    pub before: Option<i64>,
    pub limit: i64,
}

impl Ask {
    /// Whether an index leads straight to the rows.
    fn is_narrow(&self) -> bool {
        let more = self.actor.is_some() || self.actor_id.is_some() || self.outcome.is_some();
        self.subject.is_some() || self.action.as_ref().is_some_and(|name| !name.ends_with('.')) && !more
    }
}

/// Rows, and the id below which the next page begins, if there may be one: it may be empty, since a page looks at a
/// bounded stretch.
#[derive(Debug, Default)]
pub struct Page {
    pub rows: Vec<AuditRow>,
    pub next: Option<i64>,
}

pub async fn page(db: &Session, ask: &Ask) -> Result<Page> {
    let Some((mut lower, mut upper)) = bounds(db).await? else { return Ok(Page::default()) };
    if let Some(since) = ask.since {
        lower = first_at(db, lower, upper, since - SLACK).await?;
    }
    if let Some(until) = ask.until {
        upper = first_at(db, lower, upper, until + SLACK).await?;
    }
    upper = ask.before.map_or(upper, |before| upper.min(before));
    let floor = if ask.is_narrow() { lower } else { lower.max(upper.saturating_sub(STRETCH)) };
    let mut rows = list(db, ask, floor, upper).await?;
    // One more than wanted tells whether there is more.
    if rows.len() as i64 > ask.limit {
        rows.truncate(usize::try_from(ask.limit).unwrap_or_default());
        let next = rows.last().map(|row| row.id);
        return Ok(Page { rows, next });
    }
    Ok(Page { rows, next: (floor > lower).then_some(floor) })
}

async fn list(db: &Session, ask: &Ask, lower: i64, upper: i64) -> Result<Vec<AuditRow>> {
    let most = ask.limit + 1;
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 10] = [
        &ask.actor,
        &ask.actor_id,
        &ask.action,
        &ask.subject,
        &ask.outcome,
        &ask.since,
        &ask.until,
        &lower,
        &upper,
        &most,
    ];
    db.rows(LIST, &params).await?.iter().map(read).collect()
}

/// The lowest id, and one above the highest.
async fn bounds(db: &Session) -> Result<Option<(i64, i64)>> {
    let Some(row) = db.row(BOUNDS, &[]).await? else { return Ok(None) };
    let (lowest, highest): (Option<i64>, Option<i64>) = (row.try_get("lowest")?, row.try_get("highest")?);
    Ok(lowest.zip(highest).map(|(lowest, highest)| (lowest, highest + 1)))
}

/// The first id in [low, high) whose row was written at a moment or later, else `high`: ids rise with time.
async fn first_at(db: &Session, mut low: i64, mut high: i64, moment: OffsetDateTime) -> Result<i64> {
    while low < high {
        let middle = low + (high - low) / 2;
        let Some(row) = db.row(AT, &[&middle]).await? else {
            high = middle;
            continue;
        };
        let (id, at): (i64, OffsetDateTime) = (row.try_get("id")?, row.try_get("at")?);
        if at < moment { low = id + 1 } else { high = middle }
    }
    Ok(low)
}

fn read(row: &Row) -> Result<AuditRow> {
    Ok(AuditRow {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        actor: row.try_get("actor")?,
        person_id: row.try_get("person_id")?,
        token_id: row.try_get("token_id")?,
        session_id: row.try_get("session_id")?,
        address: row.try_get("address")?,
        request_id: row.try_get("request_id")?,
        action: row.try_get("action")?,
        subject: row.try_get("subject")?,
        outcome: row.try_get("outcome")?,
        affected: row.try_get("affected")?,
        details: row.try_get("details")?,
    })
}
