//! Answers to creating requests, kept for a day.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;

const BEGIN: Sql = sql!("idempotency_begin.sql");
const FIND: Sql = sql!("idempotency_find.sql");
const FINISH: Sql = sql!("idempotency_finish.sql");
const FORGET: Sql = sql!("idempotency_forget.sql");
pub(super) const STATEMENTS: &[Sql] = &[BEGIN, FIND, FINISH, FORGET];

#[derive(Debug)]
pub struct Kept {
    pub request_hash: Vec<u8>,
    pub status: Option<i32>,
    pub answer: Option<Vec<u8>>,
}

/// True for the first with this key; also where the first never came to an end.
pub async fn begin(db: &Session, key_hash: &[u8], request_hash: &[u8]) -> Result<bool> {
    Ok(db.run(BEGIN, &[&key_hash, &request_hash]).await? == 1)
}

pub async fn find(db: &Session, key_hash: &[u8]) -> Result<Option<Kept>> {
    let Some(row) = db.row(FIND, &[&key_hash]).await? else { return Ok(None) };
    Ok(Some(Kept {
        request_hash: row.try_get("request_hash")?,
        status: row.try_get("status")?,
        answer: row.try_get("answer")?,
    }))
}

pub async fn finish(db: &Session, key_hash: &[u8], status: i32, answer: &[u8]) -> Result<()> {
    db.run(FINISH, &[&key_hash, &status, &answer]).await?;
    Ok(())
}

pub async fn forget(db: &Session, key_hash: &[u8]) -> Result<()> {
    db.run(FORGET, &[&key_hash]).await?;
    Ok(())
}
