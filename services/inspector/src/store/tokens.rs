//! Bearer tokens.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use hooks_shared::token::TokenKind;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

const FIND: Sql = sql!("tokens_find.sql");
const NOTE_USE: Sql = sql!("tokens_note_use.sql");
const CREATE: Sql = sql!("tokens_create.sql");
const LIST: Sql = sql!("tokens_list.sql");
const GET: Sql = sql!("tokens_get.sql");
const REVOKE: Sql = sql!("tokens_revoke.sql");
const REVOKE_OF: Sql = sql!("tokens_revoke_of.sql");
const SET_OWNER: Sql = sql!("tokens_set_owner.sql");
pub(super) const STATEMENTS: &[Sql] = &[FIND, NOTE_USE, CREATE, LIST, GET, REVOKE, REVOKE_OF, SET_OWNER];

/// A token, without its secret.
#[derive(Debug, Clone)]
pub struct TokenRow {
    pub id: Uuid,
    pub name: String,
    pub kind: String,
    pub scopes: Vec<String>,
    pub owner_id: Option<Uuid>,
    pub ephemeral: bool,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub revoked_at: Option<OffsetDateTime>,
    pub last_used_at: Option<OffsetDateTime>,
}

impl TokenRow {
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|known| known == scope)
    }

    pub fn is_pat(&self) -> bool {
        self.kind == TokenKind::Pat.as_str()
    }

    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            kind: row.try_get("kind")?,
            scopes: row.try_get("scopes")?,
            owner_id: row.try_get("owner_id")?,
            ephemeral: row.try_get("ephemeral")?,
            created_at: row.try_get("created_at")?,
            expires_at: row.try_get("expires_at")?,
            revoked_at: row.try_get("revoked_at")?,
            last_used_at: row.try_get("last_used_at")?,
        })
    }
}

#[derive(Debug)]
pub struct NewToken<'a> {
    pub id: Uuid,
    pub name: &'a str,
    pub kind: TokenKind,
    pub scopes: &'a [String],
    pub secret_hash: Vec<u8>,
    pub owner_id: Option<Uuid>,
    pub ephemeral: bool,
    /// Seconds.
    pub lifetime: Option<f64>,
}

/// The token whose text hashes to this, and `revoked` or `expired` where it no longer counts.
pub async fn find(db: &Session, secret_hash: &[u8]) -> Result<Option<(TokenRow, Option<String>)>> {
    let row = db.row(FIND, &[&secret_hash]).await?;
    row.map(|row| Ok((TokenRow::from_row(&row)?, row.try_get("ended")?))).transpose()
}

/// Notes the use, at most once a minute.
pub async fn note_use(db: &Session, id: Uuid) -> Result<()> {
    db.run(NOTE_USE, &[&id]).await?;
    Ok(())
}

pub async fn create(db: &Session, new: &NewToken<'_>) -> Result<TokenRow> {
    let kind = new.kind.as_str();
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] = [
        &new.id,
        &new.name,
        &kind,
        &new.scopes,
        &new.secret_hash,
        &new.owner_id,
        &new.ephemeral,
        &new.lifetime,
    ];
    let statement = db.statement(CREATE).await?;
    TokenRow::from_row(&db.query_one(&statement, &params).await?)
}

/// Whose tokens to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Any,
    /// Of nobody: made by administrators and by hooksctl.
    System,
    Person(Uuid),
}

/// Which tokens to list, newest first.
#[derive(Debug)]
pub struct Ask<'a> {
    pub owner: Owner,
    pub kind: Option<&'a str>,
    pub include_ended: bool,
    /// Older than this one.
    pub before: Option<(OffsetDateTime, Uuid)>,
    pub limit: i64,
}

pub async fn list(db: &Session, ask: &Ask<'_>) -> Result<Vec<TokenRow>> {
    let (system, owner) = match ask.owner {
        Owner::Any => (false, None),
        Owner::System => (true, None),
        Owner::Person(id) => (false, Some(id)),
    };
    let (at, id) = ask.before.unzip();
    let rows = db.rows(LIST, &[&system, &owner, &ask.kind, &ask.include_ended, &at, &id, &ask.limit]).await?;
    rows.iter().map(TokenRow::from_row).collect()
}

pub async fn get(db: &Session, id: Uuid) -> Result<Option<TokenRow>> {
    db.row(GET, &[&id]).await?.as_ref().map(TokenRow::from_row).transpose()
}

/// Revokes a token, of `owner` only where one is given. False where there is none to revoke.
pub async fn revoke(db: &Session, id: Uuid, owner: Option<Uuid>) -> Result<bool> {
    Ok(db.run(REVOKE, &[&id, &owner]).await? == 1)
}

/// Revokes all of a person's tokens; how many.
pub async fn revoke_of(db: &Session, owner: Uuid) -> Result<u64> {
    Ok(db.run(REVOKE_OF, &[&owner]).await?)
}

pub async fn set_owner(db: &Session, id: Uuid, owner: Option<Uuid>) -> Result<bool> {
    Ok(db.run(SET_OWNER, &[&id, &owner]).await? == 1)
}
