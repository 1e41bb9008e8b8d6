//! Inviting people.

use super::audit::{Entry, record};
use super::tokens::clean_scopes;
use crate::error::Error;
use crate::http::Call;
use crate::store::invites::{NewInvite, Revoked};
use crate::store::{self, Tx};
use hooks_shared::{Secret, invite};
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

const USUAL_LIFE: i64 = 7 * 86_400;
const LONGEST_LIFE: i64 = invite::LONGEST_LIFE.as_secs() as i64;

/// An invite at the one moment at which its code is known.
#[derive(Debug)]
pub struct Made {
    pub id: Uuid,
    pub code: Secret,
    pub role: &'static str,
    pub scopes: Vec<String>,
    pub created_at: OffsetDateTime,
    pub expires_at: OffsetDateTime,
}

/// The roles, also by the original relay's word.
pub fn role_of(text: &str) -> Result<&'static str, Error> {
    match text {
        "admin" => Ok("admin"),
        "member" | "user" => Ok("member"),
        _ => Err(Error::invalid("role must be admin or member")),
    }
}

pub async fn create(call: &Call, role: &str, scopes: &[String], ttl: Option<i64>) -> Result<Made, Error> {
    let role = role_of(role)?;
    let scopes = clean_scopes(scopes)?;
    if role != "admin" && scopes.iter().any(|scope| scope == "admin") {
        return Err(Error::invalid(
            "default_scopes: `admin` is no source; invite an administrator with the role `admin`",
        ));
    }
    if ttl.is_some_and(|seconds| seconds < 1) {
        return Err(Error::invalid("ttl_seconds: must be at least 1; leave it out for an invite of 7 days"));
    }
    let lifetime = ttl.unwrap_or(USUAL_LIFE).min(LONGEST_LIFE);
    let (id, code) = (Uuid::new_v4(), invite::mint());
    let new = NewInvite {
        id,
        code_hash: invite::hash(code.expose()),
        role,
        scopes: &scopes,
        created_by: call.who.person_id(),
        lifetime: lifetime as f64,
    };
    let db = call.session().await?;
    let tx = Tx::begin(&db).await?;
    let (created_at, expires_at) = store::invites::create(&db, &new).await?;
    let entry = Entry::new("invite.create", format!("invite:{id}"))
        .details(json!({"role": role, "scopes": scopes, "ttl_seconds": lifetime}));
    record(&db, &call.who, &call.incoming.origin, entry).await?;
    tx.commit().await?;
    Ok(Made { id, code, role, scopes, created_at, expires_at })
}

/// Ends an invite, named by its id or by its code.
pub async fn revoke(call: &Call, name: &str) -> Result<(), Error> {
    let db = call.session().await?;
    let tx = Tx::begin(&db).await?;
    let met = store::invites::revoke(&db, name.parse().ok(), &invite::hash(name)).await?;
    if let Revoked::Done(id) = met {
        record(&db, &call.who, &call.incoming.origin, Entry::new("invite.revoke", format!("invite:{id}")))
            .await?;
    }
    tx.commit().await?;
    match met {
        Revoked::Done(_) => Ok(()),
        Revoked::Consumed => Err(Error::conflict("invite_consumed", "invite already consumed")),
        Revoked::Unknown => Err(Error::NotFound("invite")),
    }
}
