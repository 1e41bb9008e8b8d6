//! Administering people.

use super::audit::{Entry, record};
use super::tokens::{clean_scopes, hint};
use crate::auth::password;
use crate::error::Error;
use crate::http::Call;
use crate::store::people::{Change, Person};
use crate::store::{self, Tx};
use serde_json::json;
use uuid::Uuid;

fn last_admin() -> Error {
    Error::conflict("last_admin", "would leave zero active admins")
}

/// Changes a person. The last active administrator stays one.
pub async fn update(call: &Call, id: Uuid, change: Change) -> Result<Person, Error> {
    if let Some(name) = &change.name {
        crate::auth::signup::check_name(name)?;
    }
    let scopes = change.scopes.as_deref().map(clean_scopes).transpose()?;
    let change = Change { scopes, ..change };
    let db = call.session().await?;
    let tx = Tx::begin(&db).await?;
    let admins = store::people::lock_admins(&db).await?;
    if change.role.as_deref() == Some("member") && admins == [id] {
        tx.rollback().await?;
        return Err(last_admin());
    }
    let Some(person) = store::people::update(&db, id, &change).await? else {
        tx.rollback().await?;
        return Err(Error::NotFound("user"));
    };
    let entry = Entry::new("user.update", format!("user:{id}"))
        .details(json!({"name": change.name, "role": change.role, "scopes": change.scopes}));
    record(&db, &call.who, &call.incoming.origin, entry).await?;
    tx.commit().await?;
    Ok(person)
}

/// What a deactivation ended.
#[derive(Debug)]
pub struct Ended {
    pub tokens: u64,
    pub sessions: u64,
}

/// Ends a person's access: sessions and tokens go at once. `confirm` must be their address.
pub async fn deactivate(call: &Call, id: Uuid, confirm: &str) -> Result<Ended, Error> {
    let db = call.session().await?;
    let person = store::people::get(&db, id).await?.ok_or(Error::NotFound("user"))?;
    if !person.email.eq_ignore_ascii_case(confirm.trim()) {
        return Err(Error::invalid("confirm must equal the target user's email"));
    }
    let tx = Tx::begin(&db).await?;
    let admins = store::people::lock_admins(&db).await?;
    if admins == [id] {
        tx.rollback().await?;
        return Err(last_admin());
    }
    if !store::people::deactivate(&db, id).await? {
        tx.rollback().await?;
        return Err(Error::conflict("already_deactivated", "already deactivated"));
    }
    let tokens = store::tokens::revoke_of(&db, id).await?;
    let sessions = store::sessions::delete_of(&db, id, None).await?;
    let entry = Entry::new("user.deactivate", format!("user:{id}"))
        .details(json!({"email": person.email, "tokens_revoked": tokens, "sessions_ended": sessions}));
    record(&db, &call.who, &call.incoming.origin, entry).await?;
    tx.commit().await?;
    hint(&db).await;
    Ok(Ended { tokens, sessions })
}

/// Lets a person sign in again; what was ended stays ended.
pub async fn reactivate(call: &Call, id: Uuid) -> Result<(), Error> {
    let db = call.session().await?;
    store::people::get(&db, id).await?.ok_or(Error::NotFound("user"))?;
    let tx = Tx::begin(&db).await?;
    if store::people::reactivate(&db, id).await? {
        record(&db, &call.who, &call.incoming.origin, Entry::new("user.reactivate", format!("user:{id}")))
            .await?;
    }
    Ok(tx.commit().await?)
}

/// Gives a person another password and ends their sessions.
pub async fn reset_password(call: &Call, id: Uuid, new: &str) -> Result<(), Error> {
    let db = call.session().await?;
    let person = store::people::get(&db, id).await?.ok_or(Error::NotFound("user"))?;
    drop(db);
    if new.is_empty() {
        return Err(Error::invalid("new_password required"));
    }
    store_password(call, &person, new, None, "user.password_reset").await
}

/// The caller's own password, which they give again; their other sessions end.
pub async fn change_own_password(call: &Call, current: &str, new: &str) -> Result<(), Error> {
    let Some(person) = call.who.person.clone() else { return Err(Error::Unauthorized) };
    let db = call.session().await?;
    crate::auth::limit::take(&db, crate::auth::limit::DEVICE_APPROVE, &person.id.to_string()).await?;
    let stored = store::people::by_email(&db, &person.email).await?;
    drop(db);
    let right = call.state.hasher.verify(current, stored.as_ref().map(|(_, hash)| hash.as_str())).await?;
    if !right {
        let db = call.session().await?;
        let entry = Entry::new("user.password_change", format!("user:{}", person.id)).refused();
        record(&db, &call.who, &call.incoming.origin, entry).await?;
        return Err(Error::BadCredentials);
    }
    let kept = call.who.browser.as_ref().map(|browser| browser.session_id);
    store_password(call, &person, new, kept, "user.password_change").await
}

async fn store_password(
    call: &Call,
    person: &Person,
    new: &str,
    kept_session: Option<Uuid>,
    action: &'static str,
) -> Result<(), Error> {
    password::check_policy(new, &person.email)?;
    let hash = call.state.hasher.hash(new).await?;
    let db = call.session().await?;
    let tx = Tx::begin(&db).await?;
    store::people::set_password(&db, person.id, &hash).await?;
    let sessions = store::sessions::delete_of(&db, person.id, kept_session).await?;
    let entry =
        Entry::new(action, format!("user:{}", person.id)).details(json!({ "sessions_ended": sessions }));
    record(&db, &call.who, &call.incoming.origin, entry).await?;
    Ok(tx.commit().await?)
}

/// The caller's own name.
pub async fn rename_self(call: &Call, name: &str) -> Result<Person, Error> {
    let Some(id) = call.who.person_id() else { return Err(Error::Unauthorized) };
    update(call, id, Change { name: Some(name.trim().to_owned()), ..Change::default() }).await
}
