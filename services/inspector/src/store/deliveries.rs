//! Lists of deliveries that stay cheap over a long history: each request looks at a bounded stretch.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Row;

const OF_SUBSCRIPTION: Sql = sql!("deliveries_of_subscription.sql");
const NEWEST: Sql = sql!("deliveries_newest.sql");
const FAILED: Sql = sql!("deliveries_failed.sql");
const OF_EVENT: Sql = sql!("deliveries_of_event.sql");
const LATENCY: Sql = sql!("deliveries_latency.sql");
const ATTEMPTS_OF_EVENT: Sql = sql!("attempts_of_event.sql");
const PLAN_CANCEL: Sql = sql!("plan_cancel.sql");
pub(super) const STATEMENTS: &[Sql] =
    &[OF_SUBSCRIPTION, NEWEST, FAILED, OF_EVENT, LATENCY, ATTEMPTS_OF_EVENT, PLAN_CANCEL];

/// Rows looked at for one page.
pub const STRETCH: i64 = 2_000;

#[derive(Debug, Clone)]
pub struct DeliveryRow {
    pub id: String,
    pub subscription_id: String,
    pub subscription_name: String,
    pub source: String,
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub state: String,
    pub attempts: i32,
    pub cycle_attempts: i32,
    pub next_attempt_at: OffsetDateTime,
    pub due_because: String,
    pub claim_expires_at: Option<OffsetDateTime>,
    pub claimed_by: Option<String>,
    pub replayed: bool,
    pub failure: Option<String>,
    pub created_at: OffsetDateTime,
    pub completed_at: Option<OffsetDateTime>,
    pub last_status: Option<i32>,
    pub last_outcome: Option<String>,
    pub last_error: Option<String>,
}

impl DeliveryRow {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            subscription_id: row.try_get("subscription_id")?,
            subscription_name: row.try_get("subscription_name")?,
            source: row.try_get("source")?,
            sequence: row.try_get("sequence")?,
            received_at: row.try_get("received_at")?,
            state: row.try_get("state")?,
            attempts: row.try_get("attempts")?,
            cycle_attempts: row.try_get("cycle_attempts")?,
            next_attempt_at: row.try_get("next_attempt_at")?,
            due_because: row.try_get("due_because")?,
            claim_expires_at: row.try_get("claim_expires_at")?,
            claimed_by: row.try_get("claimed_by")?,
            replayed: row.try_get("replayed")?,
            failure: row.try_get("failure")?,
            created_at: row.try_get("created_at")?,
            completed_at: row.try_get("completed_at")?,
            last_status: row.try_get("last_status")?,
            last_outcome: row.try_get("last_outcome")?,
            last_error: row.try_get("last_error")?,
        })
    }
}

/// Which deliveries, newest first.
#[derive(Debug, Default)]
pub struct Ask<'a> {
    /// With the source it belongs to.
    pub subscription: Option<(&'a str, &'a str)>,
    pub sources: Option<&'a [String]>,
    pub state: Option<&'a str>,
    pub from: Option<OffsetDateTime>,
    pub to: Option<OffsetDateTime>,
    /// The key behind which to go on: a sequence within a subscription, else an id.
    pub behind_sequence: Option<i64>,
    pub behind_id: Option<&'a str>,
    pub limit: i64,
}

/// A page, and the key behind which the next begins, where there may be one.
#[derive(Debug)]
pub struct Page {
    pub rows: Vec<DeliveryRow>,
    pub more: bool,
    /// The last row that was looked at, shown or not.
    pub end_id: Option<String>,
    pub end_sequence: Option<i64>,
}

impl Ask<'_> {
    /// Without a filter every row that is looked at is shown.
    fn stretch(&self) -> i64 {
        // A subscription has one source, so there is nothing of others to leave out.
        let narrowed = self.sources.is_some() && self.subscription.is_none();
        let filtered = self.state.is_some() || narrowed || self.from.is_some() || self.to.is_some();
        if filtered { STRETCH } else { self.limit }
    }
}

pub async fn page(db: &Session, ask: &Ask<'_>) -> Result<Page> {
    let stretch = ask.stretch();
    let rows = match ask.subscription {
        Some((id, source)) => {
            let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
                [&id, &source, &ask.behind_sequence, &ask.state, &ask.from, &ask.to, &stretch, &ask.limit];
            db.rows(OF_SUBSCRIPTION, &params).await?
        }
        None => {
            let sql = if ask.state == Some("failed") { FAILED } else { NEWEST };
            let params: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
                [&ask.sources, &ask.behind_id, &ask.state, &ask.from, &ask.to, &stretch, &ask.limit];
            db.rows(sql, &params).await?
        }
    };
    let mut page = Page { rows: Vec::new(), more: false, end_id: None, end_sequence: None };
    for row in &rows {
        // A row without an id tells only where the looked-at stretch ended.
        if row.try_get::<_, bool>("is_end")? {
            page.end_id = row.try_get("end_id")?;
            page.end_sequence = row.try_get("end_sequence")?;
            page.more = row.try_get("end_more")?;
        } else {
            page.rows.push(DeliveryRow::from_row(row)?);
        }
    }
    if page.rows.len() as i64 == ask.limit {
        page.more = true;
        page.end_id = page.rows.last().map(|row| row.id.clone());
        page.end_sequence = page.rows.last().map(|row| row.sequence);
    }
    Ok(page)
}

/// All deliveries of one event.
pub async fn of_event(db: &Session, source: &str, sequence: i64) -> Result<Vec<DeliveryRow>> {
    let rows = db.rows(OF_EVENT, &[&source, &sequence]).await?;
    rows.iter().map(DeliveryRow::from_row).collect()
}

/// One recent attempt of a subscription.
#[derive(Debug, Clone)]
pub struct Recent {
    pub started_at: OffsetDateTime,
    pub duration_ms: i32,
    pub succeeded: bool,
}

/// The attempts of a subscription's newest deliveries, oldest first.
pub async fn latency(db: &Session, subscription: &str, source: &str) -> Result<Vec<Recent>> {
    let read = |row: &Row| {
        Ok(Recent {
            started_at: row.try_get("started_at")?,
            duration_ms: row.try_get("duration_ms")?,
            succeeded: row.try_get("succeeded")?,
        })
    };
    db.rows(LATENCY, &[&subscription, &source]).await?.iter().map(read).collect()
}

/// One request of a delivery.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub delivery_id: String,
    pub number: i32,
    pub started_at: OffsetDateTime,
    pub duration_ms: i32,
    pub outcome: String,
    pub status: Option<i32>,
    pub error: Option<String>,
    /// Ended after another worker had taken over.
    pub late: bool,
}

/// The attempts of all deliveries of one event, the newest first for each.
pub async fn attempts_of_event(db: &Session, source: &str, sequence: i64) -> Result<Vec<Attempt>> {
    let read = |row: &Row| {
        Ok(Attempt {
            delivery_id: row.try_get("delivery_id")?,
            number: row.try_get("number")?,
            started_at: row.try_get("started_at")?,
            duration_ms: row.try_get("duration_ms")?,
            outcome: row.try_get("outcome")?,
            status: row.try_get("status")?,
            error: row.try_get("error")?,
            late: row.try_get("late")?,
        })
    };
    db.rows(ATTEMPTS_OF_EVENT, &[&source, &sequence]).await?.iter().map(read).collect()
}

/// What a cancellation would be about.
#[derive(Debug)]
pub struct CancelPlan {
    /// 10,001 stands for more than 10,000.
    pub count: i64,
    /// Arrival of the oldest and of the newest event.
    pub oldest: Option<OffsetDateTime>,
    pub newest: Option<OffsetDateTime>,
}

/// What is pending of a subscription, of events that arrived in this time.
pub async fn plan_cancel(
    db: &Session,
    subscription: &str,
    from: Option<OffsetDateTime>,
    to: Option<OffsetDateTime>,
) -> Result<CancelPlan> {
    let statement = db.statement(PLAN_CANCEL).await?;
    let row = db.query_one(&statement, &[&subscription, &from, &to]).await?;
    Ok(CancelPlan {
        count: row.try_get("count")?,
        oldest: row.try_get("oldest")?,
        newest: row.try_get("newest")?,
    })
}
