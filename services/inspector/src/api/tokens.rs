//! Tokens, as administrators see them.

use super::paging;
use crate::auth::idempotency;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::ops::tokens::{self, Wish};
use crate::store;
use crate::store::tokens::{Ask, Owner, TokenRow};
use hooks_shared::Secret;
use hooks_shared::token::TokenKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Serialize, ToSchema)]
pub struct Token {
    pub id: Uuid,
    pub name: String,
    pub scopes: Vec<String>,
    /// `pat` or `listener`.
    pub kind: String,
    pub owner_user_id: Option<Uuid>,
    pub ephemeral: bool,
    pub created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Moment>,
}

impl From<&TokenRow> for Token {
    fn from(row: &TokenRow) -> Self {
        Self {
            id: row.id,
            name: row.name.clone(),
            scopes: row.scopes.clone(),
            kind: row.kind.clone(),
            owner_user_id: row.owner_id,
            ephemeral: row.ephemeral,
            created_at: Moment(row.created_at),
            last_used_at: row.last_used_at.map(Moment),
            revoked_at: row.revoked_at.map(Moment),
            expires_at: row.expires_at.map(Moment),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TokenList {
    pub tokens: Vec<Token>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A token at the one moment at which its text is shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenMade {
    #[serde(flatten)]
    pub token: Token,
    /// The token itself. It is stored nowhere.
    pub plaintext: String,
    /// Sources in its scopes that the configuration does not name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_sources: Vec<String>,
}

/// The reply to a creation.
pub fn made(call: &Call, row: &TokenRow, text: &Secret) -> Answer {
    let view = TokenMade {
        token: Token::from(row),
        plaintext: text.expose().to_owned(),
        unknown_sources: tokens::unknown_sources(call, &row.scopes),
    };
    Answer::json(201, &view)
}

/// Whose tokens the query asks for.
pub fn owner_of(call: &Call) -> Result<Owner, Error> {
    match call.query.get("owner") {
        None => Ok(Owner::Any),
        Some("system") => Ok(Owner::System),
        Some(id) => id
            .parse()
            .map(Owner::Person)
            .map_err(|_| Error::invalid("owner: must be `system` or a user's id")),
    }
}

pub fn kind_of(text: Option<&str>) -> Result<Option<TokenKind>, Error> {
    text.map(|text| TokenKind::parse(text).ok_or(Error::invalid("kind must be pat or listener"))).transpose()
}

/// A page of tokens.
pub async fn page(call: &Call, owner: Owner) -> Result<TokenList, Error> {
    let limit = paging::limit(call)?;
    let ask = Ask {
        owner,
        kind: kind_of(call.query.get("kind"))?.map(TokenKind::as_str),
        include_ended: call.query.flag("include_revoked"),
        before: paging::age_of(paging::cursor(call)?)?,
        limit: limit + 1,
    };
    let mut rows = store::tokens::list(&*call.session().await?, &ask).await?;
    let next = paging::next(call, &mut rows, limit, |row| paging::by_age(row.created_at, row.id));
    Ok(TokenList { tokens: rows.iter().map(Token::from).collect(), next })
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    Ok(Answer::json(200, &page(&call, owner_of(&call)?).await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    #[serde(default)]
    name: String,
    /// Sources, `admin`, `account`; an element may be a comma-separated list.
    #[serde(default)]
    scopes: Vec<String>,
    /// `listener` where nothing is said.
    kind: Option<String>,
    /// Seconds, at most a year; nothing: until revoked.
    #[schema(minimum = 1)]
    expires_in_seconds: Option<i64>,
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let wish: NewToken = call.json()?;
    let scopes = tokens::clean_scopes(&wish.scopes)?;
    if wish.name.trim().is_empty() || scopes.is_empty() {
        return Err(Error::invalid("name and scopes are required"));
    }
    let wish = Wish {
        name: wish.name,
        kind: kind_of(wish.kind.as_deref())?.unwrap_or(TokenKind::Listener),
        scopes,
        ephemeral: false,
        lifetime: wish.expires_in_seconds,
    };
    idempotency::once(&call, async {
        let (row, text) = tokens::create_system(&call, &wish).await?;
        Ok(made(&call, &row, &text))
    })
    .await
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "token")?;
    let row = store::tokens::get(&*call.session().await?, id).await?.ok_or(Error::NotFound("token"))?;
    Ok(Answer::json(200, &Token::from(&row)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// A user's id; null, empty or `system` is nobody.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    owner_user_id: Option<Value>,
}

/// Keeps `null` apart from "not there".
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub async fn transfer(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "token")?;
    let wish: Transfer = call.json()?;
    let owner = match wish.owner_user_id {
        None => return Err(Error::invalid("no fields to update")),
        Some(Value::Null) => None,
        Some(Value::String(text)) if text.is_empty() || text == "system" => None,
        Some(Value::String(text)) => {
            Some(text.parse().map_err(|_| Error::invalid("owner_user_id: must be a user's id"))?)
        }
        Some(_) => return Err(Error::invalid("owner_user_id: must be a string or null")),
    };
    tokens::transfer(&call, id, owner).await?;
    Ok(Answer::no_content())
}

pub async fn revoke(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "token")?;
    match tokens::revoke(&call, id, None).await? {
        true => Ok(Answer::no_content()),
        false => Err(Error::NotFound("token")),
    }
}
