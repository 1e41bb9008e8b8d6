//! Filling the search index behind the log.

use super::Result;
use super::days::Day;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Row;

const TRY_LOCK: Sql = sql!("index_try_lock.sql");
const BEHIND: Sql = sql!("index_behind.sql");
const DAY_AFTER: Sql = sql!("index_day_after.sql");
const PAGE: Sql = sql!("index_page.sql");
const ADD: Sql = sql!("index_add.sql");
const ADVANCE: Sql = sql!("index_advance.sql");
pub(super) const STATEMENTS: &[Sql] = &[TRY_LOCK, BEHIND, DAY_AFTER, PAGE, ADD, ADVANCE];

/// Takes the indexers' lock for this session; false where another process has it.
pub async fn try_lock(db: &Session) -> Result<bool> {
    let statement = db.statement(TRY_LOCK).await?;
    Ok(db.query_one(&statement, &[]).await?.try_get("locked")?)
}

/// Sources with events that are not indexed yet: how far they are, and how far they could be.
pub async fn behind(db: &Session) -> Result<Vec<(String, i64, i64)>> {
    let read = |row: &Row| Ok((row.try_get("source")?, row.try_get("indexed")?, row.try_get("newest")?));
    db.rows(BEHIND, &[]).await?.iter().map(read).collect()
}

/// The day of the first event behind a sequence.
pub async fn day_after(db: &Session, source: &str, sequence: i64) -> Result<Option<Day>> {
    let row = db.row(DAY_AFTER, &[&source, &sequence]).await?;
    row.map(|row| Ok(Day(row.try_get("day")?))).transpose()
}

/// What of an event goes into the index.
#[derive(Debug)]
pub struct Raw {
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub event_id: String,
    pub delivery_id: Option<String>,
    pub event_type: Option<String>,
    pub headers: Vec<u8>,
    /// Empty where it is longer than is indexed.
    pub body: Vec<u8>,
}

/// The next events of one day, oldest first.
pub async fn page(db: &Session, source: &str, after: i64, day: Day, limit: i64) -> Result<Vec<Raw>> {
    let longest = crate::search::LONGEST_BODY;
    let rows = db.rows(PAGE, &[&source, &after, &day.start(), &day.end(), &limit, &longest]).await?;
    let read = |row: &Row| {
        Ok(Raw {
            sequence: row.try_get("sequence")?,
            received_at: row.try_get("received_at")?,
            event_id: row.try_get("event_id")?,
            delivery_id: row.try_get("delivery_id")?,
            event_type: row.try_get("event_type")?,
            headers: row.try_get("headers")?,
            body: row.try_get("body")?,
        })
    };
    rows.iter().map(read).collect()
}

/// Adds events with the terms of each. Twice is once.
pub async fn add(db: &Session, source: &str, rows: &[Raw], terms: &[Vec<i64>]) -> Result<()> {
    let sequences: Vec<i64> = rows.iter().map(|row| row.sequence).collect();
    let moments: Vec<OffsetDateTime> = rows.iter().map(|row| row.received_at).collect();
    // An array of arrays of different lengths is nothing PostgreSQL knows.
    let terms: Vec<String> = terms.iter().map(|terms| array(terms)).collect();
    db.run(ADD, &[&source, &sequences, &moments, &terms]).await?;
    Ok(())
}

fn array(terms: &[i64]) -> String {
    let terms: Vec<String> = terms.iter().map(i64::to_string).collect();
    format!("{{{}}}", terms.join(","))
}

/// The source is indexed up to here.
pub async fn advance(db: &Session, source: &str, sequence: i64) -> Result<()> {
    db.run(ADVANCE, &[&source, &sequence]).await?;
    Ok(())
}
