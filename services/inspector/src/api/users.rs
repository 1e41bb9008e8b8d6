//! People, as administrators see them.

use super::paging;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::ops::invites::role_of;
use crate::ops::users;
use crate::store;
use crate::store::people::{Change, Person};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Serialize, ToSchema)]
pub struct User {
    id: Uuid,
    email: String,
    name: String,
    role: String,
    default_scopes: Vec<String>,
    created_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    deactivated_at: Option<Moment>,
}

impl From<&Person> for User {
    fn from(person: &Person) -> Self {
        Self {
            id: person.id,
            email: person.email.clone(),
            name: person.name.clone(),
            role: person.role.clone(),
            default_scopes: person.scopes.clone(),
            created_at: Moment(person.created_at),
            deactivated_at: person.deactivated_at.map(Moment),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct UserList {
    users: Vec<User>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let limit = paging::limit(&call)?;
    let role = call.query.get("role").map(role_of).transpose()?;
    let after: String = paging::cursor(&call)?.unwrap_or_default();
    if after.contains('\0') {
        return Err(Error::invalid("cursor: is not one of a `next` link"));
    }
    let mut rows = store::people::list(&*call.session().await?, role, &after, limit + 1).await?;
    let next = paging::next(&call, &mut rows, limit, |row| row.email.to_lowercase());
    Ok(Answer::json(200, &UserList { users: rows.iter().map(User::from).collect(), next }))
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "user")?;
    let person = store::people::get(&*call.session().await?, id).await?.ok_or(Error::NotFound("user"))?;
    Ok(Answer::json(200, &User::from(&person)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    name: Option<String>,
    /// `admin` or `member`.
    role: Option<String>,
    default_scopes: Option<Vec<String>>,
}

pub async fn update(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "user")?;
    let wish: UserChange = call.json()?;
    let role = wish.role.as_deref().map(role_of).transpose()?.map(str::to_owned);
    let name = wish.name.map(|name| name.trim().to_owned());
    if name.is_none() && role.is_none() && wish.default_scopes.is_none() {
        return Err(Error::invalid("no fields to update"));
    }
    let person = users::update(&call, id, Change { name, role, scopes: wish.default_scopes }).await?;
    Ok(Answer::json(200, &User::from(&person)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Deactivate {
    /// The person's address.
    #[serde(default)]
    confirm: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Deactivated {
    tokens_revoked: u64,
    sessions_ended: u64,
}

pub async fn deactivate(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "user")?;
    let wish: Deactivate = call.json()?;
    let ended = users::deactivate(&call, id, &wish.confirm).await?;
    Ok(Answer::json(200, &Deactivated { tokens_revoked: ended.tokens, sessions_ended: ended.sessions }))
}

pub async fn reactivate(call: Call) -> Result<Answer, Error> {
    users::reactivate(&call, call.uuid("id", "user")?).await?;
    Ok(Answer::no_content())
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetPassword {
    #[serde(default)]
    new_password: String,
}

pub async fn reset_password(call: Call) -> Result<Answer, Error> {
    let wish: ResetPassword = call.json()?;
    users::reset_password(&call, call.uuid("id", "user")?, &wish.new_password).await?;
    Ok(Answer::no_content())
}
