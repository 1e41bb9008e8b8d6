//! Sessions of browsers. The cookie is `<id>.<secret>`; the database has the secret's hash. Every sign-in makes a new
//! session and ends the one that the browser brought, so that nobody can be made to use a prepared one.

use super::{SESSION_COOKIE, csrf, limit, random_text};
use crate::error::Error;
use crate::http::{Incoming, set_cookie};
use crate::ops::audit::{Entry, record};
use crate::state::State;
use crate::store::people::Person;
use crate::store::{self, sessions::NewSession};
use crate::who::{Browser, Who};
use hooks_shared::db::Session;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// An open session is prolonged at most so often.
const PROLONG_EVERY_SECONDS: f64 = 3600.0;

/// What a sign-in gives.
#[derive(Debug)]
pub struct SignedIn {
    pub person: Person,
    pub csrf: String,
    pub cookie: String,
}

fn split(cookie: &str) -> Option<(Uuid, &str)> {
    let (id, secret) = cookie.split_once('.')?;
    (secret.len() == 43).then_some(())?;
    Some((id.parse().ok()?, secret))
}

/// The person of a cookie; nobody where it is unknown, expired or of somebody deactivated.
pub async fn resume(
    state: &State,
    incoming: &Incoming,
    cookie: &str,
) -> Result<(Who, Option<String>), Error> {
    let Some((id, secret)) = split(cookie) else { return Ok((Who::default(), None)) };
    let db = state.session().await?;
    let Some(row) = store::sessions::find(&db, id).await? else { return Ok((Who::default(), None)) };
    if !bool::from(Sha256::digest(secret.as_bytes()).as_slice().ct_eq(&row.secret_hash)) {
        return Ok((Who::default(), None));
    }
    let Some(person) = store::people::get(&db, row.person_id).await?.filter(|p| p.deactivated_at.is_none())
    else {
        return Ok((Who::default(), None));
    };
    let renewed = if row.idle_seconds > PROLONG_EVERY_SECONDS {
        let ttl = state.config.inspector.session_ttl;
        store::sessions::prolong(&db, id, ttl).await?;
        Some(set_cookie(SESSION_COOKIE, cookie, ttl.as_secs(), incoming.secure_cookies(state)))
    } else {
        None
    };
    let browser = Browser { session_id: id, csrf: csrf::token_of(secret) };
    Ok((Who { person: Some(person), browser: Some(browser), token: None }, renewed))
}

/// Signs in with a password. Each try counts against the address, each failed one also against the account, whether
/// or not there is such an account.
pub async fn sign_in(
    state: &State,
    incoming: &Incoming,
    brought: Option<Uuid>,
    email: &str,
    password: &str,
) -> Result<SignedIn, Error> {
    let db = state.session().await?;
    let account = email.trim().to_lowercase();
    let address = limit::subject_of(incoming.origin.address);
    let limited = async {
        limit::take(&db, limit::LOGIN_ADDRESS, &address).await?;
        limit::take(&db, limit::LOGIN_ACCOUNT, &account).await
    };
    if let Err(error) = limited.await {
        refused(&db, incoming, &account, "rate_limited").await?;
        return Err(error);
    }
    let found = store::people::by_email(&db, &account).await?;
    // Hashing takes its turn; no connection waits with it.
    drop(db);
    let stored = found.as_ref().map(|(_, hash)| hash.as_str());
    let right = state.hasher.verify(password, stored).await?;
    let db = state.session().await?;
    if !right {
        refused(&db, incoming, &account, "bad_credentials").await?;
        return Err(Error::BadCredentials);
    }
    let Some((person, _)) = found else { return Err(Error::BadCredentials) };
    limit::give_back(&db, limit::LOGIN_ACCOUNT, &account).await?;
    if person.deactivated_at.is_some() {
        refused(&db, incoming, &account, "deactivated").await?;
        return Err(Error::Forbidden("this account is deactivated"));
    }
    begin(state, &db, incoming, brought, person).await
}

async fn refused(db: &Session, incoming: &Incoming, account: &str, reason: &str) -> Result<(), Error> {
    let entry = Entry::new("session.create", format!("account:{}", cut(account)))
        .refused()
        .details(serde_json::json!({ "reason": reason }));
    record(db, &Who::default(), &incoming.origin, entry).await
}

/// What somebody typed as their address may be anything, also a password.
fn cut(account: &str) -> String {
    match account.contains('@') && account.len() <= 254 {
        true => account.chars().filter(|c| !c.is_control()).collect(),
        false => "(not an address)".to_owned(),
    }
}

async fn begin(
    state: &State,
    db: &Session,
    incoming: &Incoming,
    brought: Option<Uuid>,
    person: Person,
) -> Result<SignedIn, Error> {
    let (id, secret) = (Uuid::new_v4(), random_text());
    let ttl = state.config.inspector.session_ttl;
    if let Some(old) = brought {
        store::sessions::delete(db, old, None).await?;
    }
    let new = NewSession {
        id,
        person_id: person.id,
        secret_hash: Sha256::digest(secret.as_bytes()).to_vec(),
        ttl,
        address: incoming.origin.address,
        user_agent: &incoming.origin.user_agent,
    };
    store::sessions::create(db, &new).await?;
    let csrf = csrf::token_of(&secret);
    let browser = Browser { session_id: id, csrf: csrf.clone() };
    let who = Who { person: Some(person.clone()), browser: Some(browser), token: None };
    record(db, &who, &incoming.origin, Entry::new("session.create", format!("session:{id}"))).await?;
    let value = format!("{id}.{secret}");
    let cookie = set_cookie(SESSION_COOKIE, &value, ttl.as_secs(), incoming.secure_cookies(state));
    Ok(SignedIn { person, csrf, cookie })
}

/// Ends the caller's session; the cookie that removes it from the browser.
pub async fn sign_out(state: &State, incoming: &Incoming, who: &Who) -> Result<String, Error> {
    if let Some(browser) = &who.browser {
        let db = state.session().await?;
        let id = browser.session_id;
        store::sessions::delete(&db, id, None).await?;
        record(&db, who, &incoming.origin, Entry::new("session.delete", format!("session:{id}"))).await?;
    }
    Ok(set_cookie(SESSION_COOKIE, "", 0, incoming.secure_cookies(state)))
}
