//! Command lines that wait for a token.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use std::net::IpAddr;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

const CREATE: Sql = sql!("pairings_create.sql");
const LOCK_BY_DEVICE: Sql = sql!("pairings_lock_by_device.sql");
const BY_CODE: Sql = sql!("pairings_by_code.sql");
const APPROVE: Sql = sql!("pairings_approve.sql");
const DENY: Sql = sql!("pairings_deny.sql");
const FINISH: Sql = sql!("pairings_finish.sql");
pub(super) const STATEMENTS: &[Sql] = &[CREATE, LOCK_BY_DEVICE, BY_CODE, APPROVE, DENY, FINISH];

#[derive(Debug)]
pub struct NewPairing<'a> {
    pub id: Uuid,
    pub device_hash: Vec<u8>,
    pub user_code: &'a str,
    pub scopes: &'a [String],
    /// Seconds.
    pub lifetime: u32,
    pub address: Option<IpAddr>,
    pub user_agent: &'a str,
}

#[derive(Debug)]
pub struct Pairing {
    pub id: Uuid,
    pub state: String,
    pub expired: bool,
    pub requested_scopes: Vec<String>,
    pub granted_scopes: Option<Vec<String>>,
    pub person_id: Option<Uuid>,
    pub created_at: OffsetDateTime,
    pub address: Option<IpAddr>,
    pub user_agent: String,
}

impl Pairing {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            state: row.try_get("state")?,
            expired: row.try_get("expired")?,
            requested_scopes: row.try_get("requested_scopes")?,
            granted_scopes: row.try_get("granted_scopes")?,
            person_id: row.try_get("person_id")?,
            created_at: row.try_get("created_at")?,
            address: row.try_get("address")?,
            user_agent: row.try_get("user_agent")?,
        })
    }
}

pub async fn create(db: &Session, new: &NewPairing<'_>) -> Result<()> {
    let lifetime = f64::from(new.lifetime);
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&new.id, &new.device_hash, &new.user_code, &new.scopes, &lifetime, &new.address, &new.user_agent];
    db.run(CREATE, &params).await?;
    Ok(())
}

/// The pairing of a device code, locked until the end of the transaction.
pub async fn lock_by_device(db: &Session, device_hash: &[u8]) -> Result<Option<Pairing>> {
    db.row(LOCK_BY_DEVICE, &[&device_hash]).await?.as_ref().map(Pairing::from_row).transpose()
}

pub async fn by_code(db: &Session, user_code: &str) -> Result<Option<Pairing>> {
    db.row(BY_CODE, &[&user_code]).await?.as_ref().map(Pairing::from_row).transpose()
}

/// False where it is not pending any more.
pub async fn approve(db: &Session, id: Uuid, person_id: Uuid, scopes: &[String]) -> Result<bool> {
    Ok(db.run(APPROVE, &[&id, &person_id, &scopes]).await? == 1)
}

pub async fn deny(db: &Session, id: Uuid) -> Result<bool> {
    Ok(db.run(DENY, &[&id]).await? == 1)
}

/// False where it was fetched already.
pub async fn finish(db: &Session, id: Uuid) -> Result<bool> {
    Ok(db.run(FINISH, &[&id]).await? == 1)
}
