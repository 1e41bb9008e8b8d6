//! Refused requests, as ingest keeps them: credentials are masked before they get here.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::event::{Header, decode_headers};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Row;

const LIST: Sql = sql!("rejected_list.sql");
const SHOW: Sql = sql!("rejected_show.sql");
pub(super) const STATEMENTS: &[Sql] = &[LIST, SHOW];

/// What was refused and why.
#[derive(Debug)]
pub struct Rejected {
    pub id: i64,
    pub at: OffsetDateTime,
    pub verdict: String,
    pub status: i32,
    /// Was the cause proved?
    pub certain: bool,
    pub reasons: Vec<String>,
    pub method: String,
    /// How long the body was, in bytes.
    pub body_bytes: i64,
}

/// The request itself.
#[derive(Debug)]
pub struct Request {
    pub target: Vec<u8>,
    pub headers: Vec<Header>,
    pub remote_addr: Option<String>,
    /// What is kept of it.
    pub body: Vec<u8>,
}

fn read(row: &Row) -> Result<Rejected> {
    Ok(Rejected {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        verdict: row.try_get("verdict")?,
        status: row.try_get("status")?,
        certain: row.try_get("certain")?,
        reasons: row.try_get("reasons")?,
        method: row.try_get("method")?,
        body_bytes: row.try_get("body_bytes")?,
    })
}

/// Newest first.
pub async fn list(db: &Session, source: &str) -> Result<Vec<Rejected>> {
    db.rows(LIST, &[&source]).await?.iter().map(read).collect()
}

/// The one with this id, or the newest.
pub async fn show(db: &Session, source: &str, id: Option<i64>) -> Result<Option<(Rejected, Request)>> {
    let rows = db.rows(SHOW, &[&source, &id]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let request = Request {
        target: row.try_get("target")?,
        headers: decode_headers(row.try_get("headers")?),
        remote_addr: row.try_get("remote_addr")?,
        body: row.try_get("body")?,
    };
    Ok(Some((read(row)?, request)))
}
