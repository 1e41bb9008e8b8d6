//! Signing in and out, and telling who a request is from.

pub mod csrf;
pub mod device;
pub mod idempotency;
pub mod limit;
pub mod password;
mod refused;
pub mod session;
pub mod signup;

use crate::error::Error;
use crate::http::Incoming;
use crate::state::State;
use crate::store;
use crate::who::Who;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hooks_shared::token;
use rand::RngCore;
use time::OffsetDateTime;

pub const SESSION_COOKIE: &str = "hooks_session";

/// 32 random bytes as text: secrets of sessions and device codes.
pub fn random_text() -> String {
    let mut bytes = [0u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Who sends a request. A bearer token goes before a cookie; one that is unknown, revoked or expired, or whose
/// owner is deactivated, is refused rather than taken for nobody. The text is a session cookie to be set again.
pub async fn identify(
    state: &State,
    incoming: &Incoming,
    cookie: Option<&str>,
) -> Result<(Who, Option<String>), Error> {
    if let Some(value) = incoming.header("authorization") {
        let text = token::from_authorization(value.as_bytes()).ok_or(Error::Unauthorized)?;
        return Ok((by_token(state, incoming, text).await?, None));
    }
    match cookie {
        Some(cookie) => session::resume(state, incoming, cookie).await,
        None => Ok((Who::default(), None)),
    }
}

/// The same caller as they stand now; nobody once the session has ended, the token no longer counts, or the person is
/// deactivated. For what goes on long after its request.
pub async fn again(state: &State, who: &Who) -> Result<Option<Who>, Error> {
    let db = state.session().await?;
    let mut now = who.clone();
    if let Some(token) = &who.token {
        let row = store::tokens::get(&db, token.id).await?;
        let row = row.filter(|row| row.revoked_at.is_none());
        let row = row.filter(|row| row.expires_at.is_none_or(|at| at > OffsetDateTime::now_utc()));
        let Some(row) = row.filter(|row| row.owner_id == token.owner_id) else { return Ok(None) };
        now.token = Some(row);
    }
    if let Some(browser) = &who.browser
        && store::sessions::find(&db, browser.session_id).await?.is_none()
    {
        return Ok(None);
    }
    if let Some(person) = &who.person {
        let person = store::people::get(&db, person.id).await?;
        let Some(person) = person.filter(|person| person.deactivated_at.is_none()) else { return Ok(None) };
        now.person = Some(person);
    }
    Ok(Some(now))
}

async fn by_token(state: &State, incoming: &Incoming, text: &str) -> Result<Who, Error> {
    let db = state.session().await?;
    let Some((row, ended)) = store::tokens::find(&db, &token::hash(text)).await? else {
        return Err(refused::unknown(&db, &incoming.origin).await?);
    };
    if let Some(reason) = ended {
        return Err(refused::ended(&db, &incoming.origin, row, &reason).await?);
    }
    let person = match row.owner_id {
        None => None,
        Some(id) => {
            let owner = store::people::get(&db, id).await?.filter(|owner| owner.deactivated_at.is_none());
            match owner {
                None => return Err(refused::ended(&db, &incoming.origin, row, "owner_deactivated").await?),
                owner => owner,
            }
        }
    };
    store::tokens::note_use(&db, row.id).await?;
    Ok(Who { person, browser: None, token: Some(row) })
}
