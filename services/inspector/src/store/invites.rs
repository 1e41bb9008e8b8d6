//! Invites.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use uuid::Uuid;

const LOOK: Sql = sql!("invites_look.sql");
const CLAIM: Sql = sql!("invites_claim.sql");
const CONSUME: Sql = sql!("invites_consume.sql");
const CREATE: Sql = sql!("invites_create.sql");
const LIST: Sql = sql!("invites_list.sql");
const REVOKE: Sql = sql!("invites_revoke.sql");
pub(super) const STATEMENTS: &[Sql] = &[LOOK, CLAIM, CONSUME, CREATE, LIST, REVOKE];

/// What there is about a code.
#[derive(Debug)]
pub struct Claim {
    pub id: Uuid,
    pub role: String,
    pub scopes: Vec<String>,
    pub consumed: bool,
    pub expired: bool,
}

/// Looks without locking.
pub async fn look(db: &Session, code_hash: &[u8]) -> Result<Option<Claim>> {
    claimed(db.row(LOOK, &[&code_hash]).await?)
}

/// Locks the invite until the end of the transaction.
pub async fn claim(db: &Session, code_hash: &[u8]) -> Result<Option<Claim>> {
    claimed(db.row(CLAIM, &[&code_hash]).await?)
}

fn claimed(row: Option<tokio_postgres::Row>) -> Result<Option<Claim>> {
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Claim {
        id: row.try_get("id")?,
        role: row.try_get("role")?,
        scopes: row.try_get("scopes")?,
        consumed: row.try_get("consumed")?,
        expired: row.try_get("expired")?,
    }))
}

/// Marks an invite as used by a person, and ends those that were made while there was nobody.
pub async fn consume(db: &Session, id: Uuid, person_id: Uuid) -> Result<()> {
    db.run(CONSUME, &[&id, &person_id]).await?;
    Ok(())
}

#[derive(Debug)]
pub struct NewInvite<'a> {
    pub id: Uuid,
    pub code_hash: Vec<u8>,
    pub role: &'a str,
    pub scopes: &'a [String],
    pub created_by: Option<Uuid>,
    /// Seconds.
    pub lifetime: f64,
}

/// When it expires.
pub async fn create(db: &Session, new: &NewInvite<'_>) -> Result<(OffsetDateTime, OffsetDateTime)> {
    let statement = db.statement(CREATE).await?;
    let row = db
        .query_one(
            &statement,
            &[&new.id, &new.code_hash, &new.role, &new.scopes, &new.created_by, &new.lifetime],
        )
        .await?;
    Ok((row.try_get("created_at")?, row.try_get("expires_at")?))
}

#[derive(Debug)]
pub struct Listed {
    pub id: Uuid,
    pub role: String,
    pub scopes: Vec<String>,
    pub bootstrap: bool,
    pub created_by: Option<Uuid>,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
    pub consumed_at: Option<OffsetDateTime>,
    pub consumed_by: Option<Uuid>,
}

/// Newest first, behind `before`.
pub async fn list(
    db: &Session,
    consumed: Option<bool>,
    before: Option<(OffsetDateTime, Uuid)>,
    limit: i64,
) -> Result<Vec<Listed>> {
    let (at, id) = before.unzip();
    let rows = db.rows(LIST, &[&consumed, &at, &id, &limit]).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Listed {
            id: row.try_get("id")?,
            role: row.try_get("role")?,
            scopes: row.try_get("scopes")?,
            bootstrap: row.try_get("bootstrap")?,
            created_by: row.try_get("created_by")?,
            created_at: row.try_get("created_at")?,
            expires_at: row.try_get("expires_at")?,
            consumed_at: row.try_get("consumed_at")?,
            consumed_by: row.try_get("consumed_by")?,
        })
    };
    rows.iter().map(read).collect()
}

/// What a revocation met.
#[derive(Debug, PartialEq, Eq)]
pub enum Revoked {
    Done(Uuid),
    Consumed,
    Unknown,
}

/// Ends an invite at once, named by its id or by its code's hash.
pub async fn revoke(db: &Session, id: Option<Uuid>, code_hash: &[u8]) -> Result<Revoked> {
    let Some(row) = db.row(REVOKE, &[&id, &code_hash]).await? else { return Ok(Revoked::Unknown) };
    Ok(if row.try_get("consumed")? { Revoked::Consumed } else { Revoked::Done(row.try_get("id")?) })
}
