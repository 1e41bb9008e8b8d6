//! Pairing a command line: it shows a code, a person confirms it in a browser with the scopes to grant, and the
//! token is made at the moment the command line fetches it.

use super::{limit, random_text};
use crate::error::Error;
use crate::http::Incoming;
use crate::ops::audit::{Entry, record};
use crate::ops::tokens::held_covers;
use crate::state::State;
use crate::store::pairings::{NewPairing, Pairing};
use crate::store::{self, Tx, tokens::NewToken};
use crate::who::{ACCOUNT_SCOPE, Who};
use hooks_shared::db::Session;
use hooks_shared::token::{self, ADMIN_SCOPE, TokenKind};
use rand::Rng;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Seconds between questions, and until a code is void.
pub const INTERVAL: u32 = 5;
pub const EXPIRES_IN: u32 = 900;
/// Without letters and digits that look alike.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKMNPQRSTVWXYZ";

/// What a command line is told at the start.
#[derive(Debug)]
pub struct Started {
    pub device_code: String,
    pub user_code: String,
}

fn user_code() -> String {
    let mut rng = rand::rng();
    let mut letters =
        || -> String { (0..4).map(|_| ALPHABET[rng.random_range(0..ALPHABET.len())] as char).collect() };
    format!("{}-{}", letters(), letters())
}

/// As typed by people: any case, with or without the dash.
pub fn normal_code(text: &str) -> String {
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let upper = letters.to_ascii_uppercase();
    match upper.len() {
        8 => format!("{}-{}", &upper[..4], &upper[4..]),
        _ => upper,
    }
}

pub async fn start(state: &State, incoming: &Incoming, scopes: Vec<String>) -> Result<Started, Error> {
    let db = state.session().await?;
    limit::take(&db, limit::DEVICE_START, &limit::subject_of(incoming.origin.address)).await?;
    let started = Started { device_code: random_text(), user_code: user_code() };
    let id = Uuid::new_v4();
    let new = NewPairing {
        id,
        device_hash: Sha256::digest(started.device_code.as_bytes()).to_vec(),
        user_code: &started.user_code,
        scopes: &scopes,
        lifetime: EXPIRES_IN,
        address: incoming.origin.address,
        user_agent: &incoming.origin.user_agent,
    };
    store::pairings::create(&db, &new).await?;
    let entry = Entry::new("device_pairing.start", format!("device_pairing:{id}"))
        .details(serde_json::json!({ "scopes": scopes }));
    record(&db, &Who::default(), &incoming.origin, entry).await?;
    Ok(started)
}

/// What a command line finds when it asks.
#[derive(Debug)]
pub enum Poll {
    Pending,
    Ready { token: hooks_shared::Secret, person_id: Uuid, scopes: Vec<String> },
}

pub async fn poll(state: &State, incoming: &Incoming, device_code: &str) -> Result<Poll, Error> {
    let db = state.session().await?;
    limit::take(&db, limit::DEVICE_POLL, &limit::subject_of(incoming.origin.address)).await?;
    let hash = Sha256::digest(device_code.as_bytes()).to_vec();
    let tx = Tx::begin(&db).await?;
    let outcome = match store::pairings::lock_by_device(&db, &hash).await? {
        None => Err(Error::NotFound("device code")),
        Some(pairing) => match pairing.state.as_str() {
            "pending" if pairing.expired => Err(Error::gone("expired", "expired")),
            "pending" => Ok(Poll::Pending),
            "denied" => Err(Error::Forbidden("denied")),
            "approved" if !pairing.expired => fetch(&db, incoming, &pairing).await,
            _ => Err(Error::gone("fetched", "no longer fetchable")),
        },
    };
    tx.finish(outcome.is_ok()).await?;
    outcome
}

/// Makes the token. Runs inside the transaction that marks the pairing done, on the same session.
async fn fetch(db: &Session, incoming: &Incoming, pairing: &Pairing) -> Result<Poll, Error> {
    let (Some(owner_id), Some(scopes)) = (pairing.person_id, pairing.granted_scopes.clone()) else {
        return Err(Error::Internal);
    };
    let owner = store::people::get(db, owner_id).await?.filter(|owner| owner.deactivated_at.is_none());
    let owner = owner.ok_or(Error::Forbidden("the account that approved is deactivated"))?;
    // Only one caller can win this, whatever else happens at the same time.
    if !store::pairings::finish(db, pairing.id).await? {
        return Err(Error::gone("fetched", "no longer fetchable"));
    }
    let text = token::mint();
    let new = NewToken {
        id: Uuid::new_v4(),
        name: "device-pairing",
        kind: TokenKind::Pat,
        scopes: &scopes,
        secret_hash: token::hash(text.expose()),
        owner_id: Some(owner_id),
        ephemeral: false,
        lifetime: None,
    };
    let row = store::tokens::create(db, &new).await?;
    let who = Who { person: Some(owner), ..Who::default() };
    let entry = Entry::new("token.create", format!("token:{}", row.id))
        .details(serde_json::json!({"kind": "pat", "scopes": scopes, "via": "device_pairing"}));
    record(db, &who, &incoming.origin, entry).await?;
    Ok(Poll::Ready { token: text, person_id: owner_id, scopes })
}

/// Confirms a pairing in the name of the signed-in person, who gives their password again.
pub async fn approve(
    state: &State,
    incoming: &Incoming,
    who: &Who,
    code: &str,
    password: &str,
    granted: &[String],
) -> Result<(), Error> {
    let Some(person) = &who.person else { return Err(Error::Unauthorized) };
    let db = state.session().await?;
    limit::take(&db, limit::DEVICE_APPROVE, &person.id.to_string()).await?;
    let stored = store::people::by_email(&db, &person.email).await?;
    drop(db);
    let right = state.hasher.verify(password, stored.as_ref().map(|(_, hash)| hash.as_str())).await?;
    let db = state.session().await?;
    if !right {
        let entry = Entry::new("device_pairing.approve", "device_pairing:(wrong password)").refused();
        record(&db, who, &incoming.origin, entry).await?;
        return Err(Error::BadCredentials);
    }
    let pairing = open(store::pairings::by_code(&db, &normal_code(code)).await?)?;
    if granted.is_empty() {
        return Err(Error::unprocessable("no_scopes", "grant at least one scope"));
    }
    if granted.iter().any(|scope| !pairing.requested_scopes.contains(scope)) {
        return Err(Error::Forbidden("a granted scope was not asked for"));
    }
    if !granted.iter().all(|scope| held_covers(person, scope)) {
        return Err(Error::Forbidden("a granted scope is more than this account holds"));
    }
    if !store::pairings::approve(&db, pairing.id, person.id, granted).await? {
        return Err(Error::conflict("pairing_not_pending", "pairing not pending"));
    }
    let entry = Entry::new("device_pairing.approve", format!("device_pairing:{}", pairing.id))
        .details(serde_json::json!({ "scopes": granted }));
    record(&db, who, &incoming.origin, entry).await
}

pub async fn deny(state: &State, incoming: &Incoming, who: &Who, code: &str) -> Result<(), Error> {
    let db = state.session().await?;
    let pairing = store::pairings::by_code(&db, &normal_code(code)).await?;
    let pairing = pairing.ok_or(Error::NotFound("user_code"))?;
    if !store::pairings::deny(&db, pairing.id).await? {
        return Err(Error::conflict("pairing_not_pending", "pairing not pending"));
    }
    let entry = Entry::new("device_pairing.deny", format!("device_pairing:{}", pairing.id));
    record(&db, who, &incoming.origin, entry).await
}

/// A pairing that can still be answered.
pub fn open(pairing: Option<Pairing>) -> Result<Pairing, Error> {
    let pairing = pairing.ok_or(Error::NotFound("user_code"))?;
    if pairing.state != "pending" {
        return Err(Error::conflict("pairing_not_pending", "pairing not pending"));
    }
    if pairing.expired {
        return Err(Error::gone("pairing_expired", "pairing expired"));
    }
    Ok(pairing)
}

/// What a command line asks for: names, without repeats; `account` where it asks for nothing.
pub fn wanted_scopes(given: &[String], admin: bool) -> Result<Vec<String>, Error> {
    let mut scopes = crate::ops::tokens::clean_scopes(given)?;
    if scopes.is_empty() {
        scopes.push(ACCOUNT_SCOPE.to_owned());
    }
    if admin && !scopes.iter().any(|scope| scope == ADMIN_SCOPE) {
        scopes.push(ADMIN_SCOPE.to_owned());
    }
    Ok(scopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_people_type_them() {
        for typed in ["abcd-2345", " ABCD2345", "abcd 2345"] {
            assert_eq!(normal_code(typed), "ABCD-2345");
        }
        assert_eq!(user_code().len(), 9);
        assert_eq!(normal_code("é"), "");
    }
}
