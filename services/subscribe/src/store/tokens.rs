//! Bearer tokens: found by the hash of their text.

use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use hooks_shared::token::TokenKind;
use tokio_postgres::Error;
use uuid::Uuid;

pub(super) const FIND_TOKEN: Sql = sql!("find_token.sql");
pub(super) const VALID_TOKENS: Sql = sql!("valid_tokens.sql");
pub(super) const NOTE_TOKEN_USE: Sql = sql!("note_token_use.sql");

/// A token that is neither revoked nor expired.
#[derive(Debug, Clone)]
pub struct Token {
    pub id: Uuid,
    pub kind: Option<TokenKind>,
    pub scopes: Vec<String>,
    /// Its use was noted within the last minute.
    pub noted: bool,
}

pub async fn find_token(session: &Session, hash: &[u8]) -> Result<Option<Token>, Error> {
    let Some(row) = session.row(FIND_TOKEN, &[&hash]).await? else { return Ok(None) };
    Ok(Some(Token {
        id: row.try_get("id")?,
        kind: TokenKind::parse(row.try_get("kind")?),
        scopes: row.try_get("scopes")?,
        noted: row.try_get("noted")?,
    }))
}

/// Those of the tokens that are still good.
pub async fn valid_tokens(session: &Session, ids: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let rows = session.rows(VALID_TOKENS, &[&ids]).await?;
    rows.iter().map(|row| row.try_get("id")).collect()
}

/// Notes that the tokens are in use; at most once a minute each.
pub async fn note_token_use(session: &Session, ids: &[Uuid]) -> Result<(), Error> {
    session.run(NOTE_TOKEN_USE, &[&ids]).await.map(|_| ())
}
