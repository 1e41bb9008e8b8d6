//! Invites.

use super::paging;
use crate::auth::idempotency;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::ops::invites;
use crate::ops::tokens::unknown_sources;
use crate::store;
use crate::store::invites::Listed;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvite {
    /// `admin` or `member`.
    #[serde(default)]
    role: String,
    /// The sources a member may see.
    #[serde(default)]
    default_scopes: Option<Vec<String>>,
    /// Seconds, at most 90 days; nothing: 7 days.
    #[schema(minimum = 1)]
    ttl_seconds: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct InviteMade {
    id: Uuid,
    /// Shown once.
    code: String,
    /// What to send to the person.
    url: String,
    role: &'static str,
    default_scopes: Vec<String>,
    created_at: Moment,
    expires_at: Moment,
    /// Sources in its scopes that the configuration does not name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_sources: Vec<String>,
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let wish: NewInvite = call.json()?;
    idempotency::once(&call, async {
        let scopes = wish.default_scopes.unwrap_or_default();
        let made = invites::create(&call, &wish.role, &scopes, wish.ttl_seconds).await?;
        let view = InviteMade {
            id: made.id,
            url: link(&call, made.code.expose()),
            code: made.code.expose().to_owned(),
            role: made.role,
            unknown_sources: unknown_sources(&call, &made.scopes),
            default_scopes: made.scopes,
            created_at: Moment(made.created_at),
            expires_at: Moment(made.expires_at),
        };
        Ok(Answer::json(201, &view))
    })
    .await
}

/// Where an invited person signs up.
pub fn link(call: &Call, code: &str) -> String {
    format!("{}/signup?code={code}", call.incoming.base_url(&call.state))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Invite {
    id: Uuid,
    role: String,
    default_scopes: Vec<String>,
    /// Made while there was nobody.
    bootstrap: bool,
    created_by_user_id: Option<Uuid>,
    created_at: Moment,
    expires_at: Moment,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumed_by_user_id: Option<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct InviteList {
    invites: Vec<Invite>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

fn view(row: Listed) -> Invite {
    Invite {
        id: row.id,
        role: row.role,
        default_scopes: row.scopes,
        bootstrap: row.bootstrap,
        created_by_user_id: row.created_by,
        created_at: Moment(row.created_at),
        expires_at: Moment(row.expires_at),
        consumed_at: row.consumed_at.map(Moment),
        consumed_by_user_id: row.consumed_by,
    }
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let limit = paging::limit(&call)?;
    let consumed = match call.query.get("consumed") {
        Some("true" | "1") => Some(true),
        Some("false" | "0") => Some(false),
        _ => None,
    };
    let before = paging::age_of(paging::cursor(&call)?)?;
    let mut rows = store::invites::list(&*call.session().await?, consumed, before, limit + 1).await?;
    let next = paging::next(&call, &mut rows, limit, |row| paging::by_age(row.created_at, row.id));
    Ok(Answer::json(200, &InviteList { invites: rows.into_iter().map(view).collect(), next }))
}

pub async fn revoke(call: Call) -> Result<Answer, Error> {
    invites::revoke(&call, call.param("code")).await?;
    Ok(Answer::no_content())
}
