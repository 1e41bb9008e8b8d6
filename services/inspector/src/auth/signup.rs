//! Becoming a person, by an invite.

use super::{limit, password};
use crate::error::Error;
use crate::http::Incoming;
use crate::ops::audit::{Entry, record};
use crate::state::State;
use crate::store::people::Person;
use crate::store::{self, Tx, invites::Claim};
use crate::who::Who;
use hooks_shared::{invite, name};
use uuid::Uuid;

/// What the newcomer says.
#[derive(Debug)]
pub struct Newcomer<'a> {
    pub code: &'a str,
    pub email: &'a str,
    pub name: &'a str,
    pub password: &'a str,
}

/// Uses up an invite and makes the person: one transaction, so that of two at once one wins.
pub async fn sign_up(state: &State, incoming: &Incoming, newcomer: &Newcomer<'_>) -> Result<Person, Error> {
    let [code, email, name] = [newcomer.code, newcomer.email, newcomer.name].map(str::trim);
    if [code, email, name, newcomer.password].iter().any(|text| text.is_empty()) {
        return Err(Error::invalid("code, email, name and password are required"));
    }
    check_email(email)?;
    check_name(name)?;
    let db = state.session().await?;
    limit::take(&db, limit::SIGNUP_ADDRESS, &limit::subject_of(incoming.origin.address)).await?;
    let code_hash = invite::hash(code);
    if let Err(error) = usable(store::invites::look(&db, &code_hash).await?) {
        let entry = Entry::new("invite.consume", "invite:(unknown or used)").refused();
        record(&db, &Who::default(), &incoming.origin, entry).await?;
        return Err(error);
    }
    password::check_policy(newcomer.password, email)?;
    // Hashing takes its turn; no connection waits with it.
    drop(db);
    let hash = state.hasher.hash(newcomer.password).await?;
    let db = state.session().await?;
    let tx = Tx::begin(&db).await?;
    let invite = match usable(store::invites::claim(&db, &code_hash).await?) {
        Ok(invite) => invite,
        Err(error) => {
            tx.rollback().await?;
            return Err(error);
        }
    };
    let person = Person::new(email, name, &invite.role, &invite.scopes);
    if !store::people::create(&db, &person, &hash).await? {
        tx.rollback().await?;
        return Err(Error::conflict("email_in_use", "email already in use"));
    }
    store::invites::consume(&db, invite.id, person.id).await?;
    let who = Who { person: Some(person.clone()), ..Who::default() };
    record(&db, &who, &incoming.origin, Entry::new("invite.consume", format!("invite:{}", invite.id)))
        .await?;
    record(&db, &who, &incoming.origin, created(&person)).await?;
    tx.commit().await?;
    Ok(person)
}

fn created(person: &Person) -> Entry {
    let details = serde_json::json!({"email": person.email, "role": person.role, "scopes": person.scopes});
    Entry::new("user.create", format!("user:{}", person.id)).details(details)
}

/// What can be used of an invite.
#[derive(Debug)]
struct Usable {
    id: Uuid,
    role: String,
    scopes: Vec<String>,
}

fn usable(claim: Option<Claim>) -> Result<Usable, Error> {
    match claim {
        None => Err(Error::NotFound("invite")),
        Some(claim) if claim.consumed => Err(Error::conflict("invite_consumed", "invite already consumed")),
        Some(claim) if claim.expired => Err(Error::gone("invite_expired", "invite expired")),
        Some(claim) => Ok(Usable { id: claim.id, role: claim.role, scopes: claim.scopes }),
    }
}

/// Not whether mail arrives there, only that it is one address and nothing else.
pub fn check_email(email: &str) -> Result<(), Error> {
    let parts = email.split_once('@');
    let plain =
        !email.chars().any(|c| c.is_whitespace() || name::is_steering(c) || "<>\"(),;:\\".contains(c));
    let fits =
        parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !domain.contains('@'));
    if fits && plain && email.len() <= 254 {
        Ok(())
    } else {
        Err(Error::invalid("email: must be an address such as ada@example.com"))
    }
}

pub fn check_name(name: &str) -> Result<(), Error> {
    name::check(name).map_err(|why| Error::invalid(format!("name: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_address() {
        assert!(check_email("ada@example.com").is_ok());
        for bad in ["", "ada", "@x", "a@", "a@b@c", "a b@c", "a@b\r\nBcc: x", "a\u{202e}@b", "<a@b>", "a,b@c"]
        {
            assert!(check_email(bad).is_err(), "{bad}");
        }
    }
}
