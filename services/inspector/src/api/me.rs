//! What a person does with their own account.

use super::tokens::{kind_of, made, page};
use crate::auth::idempotency;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::ops::audit::{Entry, record};
use crate::ops::{tokens, users};
use crate::store::people::Person;
use crate::store::{self, tokens::Owner};
use crate::who::{ACCOUNT_SCOPE, Who};
use hooks_shared::token::{ADMIN_SCOPE, TokenKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Serialize, ToSchema)]
pub struct Me {
    user_id: Uuid,
    email: String,
    name: String,
    role: String,
    /// The sources one may see; an administrator sees all.
    default_scopes: Vec<String>,
    /// What one may give to a token.
    held_scopes: Vec<String>,
    created_at: Moment,
}

fn view(person: &Person) -> Me {
    let mut held = person.scopes.clone();
    held.push(ACCOUNT_SCOPE.to_owned());
    if person.is_admin() {
        held.push(ADMIN_SCOPE.to_owned());
    }
    Me {
        user_id: person.id,
        email: person.email.clone(),
        name: person.name.clone(),
        role: person.role.clone(),
        default_scopes: person.scopes.clone(),
        held_scopes: held,
        created_at: Moment(person.created_at),
    }
}

fn person(who: &Who) -> Result<&Person, Error> {
    who.person.as_ref().ok_or(Error::Unauthorized)
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    Ok(Answer::json(200, &view(person(&call.who)?)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    name: Option<String>,
}

pub async fn rename(call: Call) -> Result<Answer, Error> {
    let wish: Rename = call.json()?;
    let name = wish.name.ok_or(Error::invalid("no fields to update"))?;
    if name.trim().is_empty() {
        return Err(Error::invalid("name must be non-empty"));
    }
    Ok(Answer::json(200, &view(&users::rename_self(&call, &name).await?)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    #[serde(default)]
    current_password: String,
    #[serde(default)]
    new_password: String,
}

pub async fn password(call: Call) -> Result<Answer, Error> {
    let wish: NewPassword = call.json()?;
    users::change_own_password(&call, &wish.current_password, &wish.new_password).await?;
    Ok(Answer::no_content())
}

pub async fn tokens(call: Call) -> Result<Answer, Error> {
    let owner = Owner::Person(person(&call.who)?.id);
    Ok(Answer::json(200, &page(&call, owner).await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOwnToken {
    #[serde(default)]
    name: String,
    #[serde(default)]
    scopes: Vec<String>,
    /// `pat` where nothing is said, or `listener`.
    kind: Option<String>,
    /// Ends after a day without use.
    #[serde(default)]
    ephemeral: bool,
    /// Seconds, at most a year; nothing: until revoked.
    #[schema(minimum = 1)]
    expires_in_seconds: Option<i64>,
}

pub async fn create_token(call: Call) -> Result<Answer, Error> {
    let wish: NewOwnToken = call.json()?;
    if wish.name.trim().is_empty() {
        return Err(Error::invalid("name required"));
    }
    let kind = kind_of(wish.kind.as_deref())?.unwrap_or(TokenKind::Pat);
    let scopes = tokens::clean_scopes(&wish.scopes)?;
    idempotency::once(&call, async {
        let wish = tokens::Wish {
            name: wish.name.clone(),
            kind,
            scopes,
            ephemeral: wish.ephemeral,
            lifetime: wish.expires_in_seconds,
        };
        let (row, text) = tokens::create_own(&call, wish).await?;
        Ok(made(&call, &row, &text))
    })
    .await
}

/// Ending a token twice is no fault: it has ended.
pub async fn revoke_token(call: Call) -> Result<Answer, Error> {
    let owner = person(&call.who)?.id;
    let id = match (call.param("id"), &call.who.token) {
        ("self", Some(token)) => token.id,
        ("self", None) => return Err(Error::invalid("self alias requires bearer token")),
        _ => call.uuid("id", "token")?,
    };
    if !tokens::revoke(&call, id, Some(owner)).await? {
        let row = store::tokens::get(&*call.session().await?, id).await?;
        row.filter(|row| row.owner_id == Some(owner)).ok_or(Error::NotFound("token"))?;
    }
    Ok(Answer::no_content())
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    id: Uuid,
    created_at: Moment,
    last_used_at: Moment,
    expires_at: Moment,
    address: Option<String>,
    user_agent: String,
    /// The one of this request.
    current: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SessionList {
    sessions: Vec<SessionView>,
}

pub async fn sessions(call: Call) -> Result<Answer, Error> {
    let rows = store::sessions::list(&*call.session().await?, person(&call.who)?.id).await?;
    let current = call.who.browser.as_ref().map(|browser| browser.session_id);
    let view = |row: store::sessions::Listed| SessionView {
        id: row.id,
        created_at: Moment(row.created_at),
        last_used_at: Moment(row.last_used_at),
        expires_at: Moment(row.expires_at),
        address: row.address.map(|address| address.to_string()),
        user_agent: row.user_agent,
        current: current == Some(row.id),
    };
    Ok(Answer::json(200, &SessionList { sessions: rows.into_iter().map(view).collect() }))
}

pub async fn end_session(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "session")?;
    let owner = person(&call.who)?.id;
    let db = call.session().await?;
    if !store::sessions::delete(&db, id, Some(owner)).await? {
        return Err(Error::NotFound("session"));
    }
    record(&db, &call.who, &call.incoming.origin, Entry::new("session.delete", format!("session:{id}")))
        .await?;
    Ok(Answer::no_content())
}
