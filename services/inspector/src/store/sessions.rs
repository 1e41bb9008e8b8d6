//! Sessions of browsers.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use std::net::IpAddr;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

const FIND: Sql = sql!("sessions_find.sql");
const CREATE: Sql = sql!("sessions_create.sql");
const PROLONG: Sql = sql!("sessions_prolong.sql");
const DELETE: Sql = sql!("sessions_delete.sql");
const DELETE_OF: Sql = sql!("sessions_delete_of.sql");
const LIST: Sql = sql!("sessions_list.sql");
pub(super) const STATEMENTS: &[Sql] = &[FIND, CREATE, PROLONG, DELETE, DELETE_OF, LIST];

/// A live session.
#[derive(Debug)]
pub struct Found {
    pub person_id: Uuid,
    pub secret_hash: Vec<u8>,
    pub idle_seconds: f64,
}

#[derive(Debug)]
pub struct NewSession<'a> {
    pub id: Uuid,
    pub person_id: Uuid,
    pub secret_hash: Vec<u8>,
    pub ttl: Duration,
    pub address: Option<IpAddr>,
    pub user_agent: &'a str,
}

/// A session as its person sees it.
#[derive(Debug)]
pub struct Listed {
    pub id: Uuid,
    pub created_at: OffsetDateTime,
    pub last_used_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub address: Option<IpAddr>,
    pub user_agent: String,
}

pub async fn find(db: &Session, id: Uuid) -> Result<Option<Found>> {
    let Some(row) = db.row(FIND, &[&id]).await? else { return Ok(None) };
    Ok(Some(Found {
        person_id: row.try_get("person_id")?,
        secret_hash: row.try_get("secret_hash")?,
        idle_seconds: row.try_get("idle_seconds")?,
    }))
}

pub async fn create(db: &Session, new: &NewSession<'_>) -> Result<()> {
    let ttl = new.ttl.as_secs_f64();
    db.run(CREATE, &[&new.id, &new.person_id, &new.secret_hash, &ttl, &new.address, &new.user_agent]).await?;
    Ok(())
}

pub async fn prolong(db: &Session, id: Uuid, ttl: Duration) -> Result<()> {
    db.run(PROLONG, &[&id, &ttl.as_secs_f64()]).await?;
    Ok(())
}

/// Ends a session, of `owner` only where one is given. False where there is none.
pub async fn delete(db: &Session, id: Uuid, owner: Option<Uuid>) -> Result<bool> {
    Ok(db.run(DELETE, &[&id, &owner]).await? == 1)
}

/// Ends all sessions of a person but one; how many.
pub async fn delete_of(db: &Session, person_id: Uuid, but: Option<Uuid>) -> Result<u64> {
    Ok(db.run(DELETE_OF, &[&person_id, &but]).await?)
}

pub async fn list(db: &Session, person_id: Uuid) -> Result<Vec<Listed>> {
    let rows = db.rows(LIST, &[&person_id]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Listed {
            id: row.try_get("id")?,
            created_at: row.try_get("created_at")?,
            last_used_at: row.try_get("last_used_at")?,
            expires_at: row.try_get("expires_at")?,
            address: row.try_get("address")?,
            user_agent: row.try_get("user_agent")?,
        })
    };
    rows.iter().map(read).collect()
}
