//! Making and ending tokens.

use super::audit::{Entry, record};
use crate::error::Error;
use crate::http::Call;
use crate::store::people::Person;
use crate::store::tokens::{NewToken, TokenRow};
use crate::store::{self, Tx};
use crate::who::{ACCOUNT_SCOPE, is_special};
use hooks_shared::db::notify_once;
use hooks_shared::token::{self, ADMIN_SCOPE, TokenKind};
use hooks_shared::{Secret, db::Session};
use serde_json::json;
use uuid::Uuid;

/// The word by which the subscribe service looks at its open streams again.
const HINT: &str = "!tokens";
const MOST_SCOPES: usize = 200;
/// Seconds.
const LONGEST_LIFE: i64 = token::LONGEST_LIFE.as_secs() as i64;

/// What is asked for.
#[derive(Debug)]
pub struct Wish {
    pub name: String,
    pub kind: TokenKind,
    pub scopes: Vec<String>,
    pub ephemeral: bool,
    /// Seconds, at least 1; cut to a year. None: until it is revoked.
    pub lifetime: Option<i64>,
}

/// Flattens comma lists, trims, leaves out repeats.
pub fn clean_scopes(given: &[String]) -> Result<Vec<String>, Error> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in given.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|s| !s.is_empty()) {
        if scope.len() > 64 || !scope.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b)) {
            return Err(Error::invalid("scopes: each must be the name of a source, `admin` or `account`"));
        }
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    if scopes.len() > MOST_SCOPES {
        return Err(Error::invalid(format!("scopes: at most {MOST_SCOPES}")));
    }
    Ok(scopes)
}

/// Whether a person may give this scope away.
pub fn held_covers(person: &Person, scope: &str) -> bool {
    person.is_admin() || scope == ACCOUNT_SCOPE || person.scopes.iter().any(|known| known == scope)
}

fn check(wish: &Wish) -> Result<(), Error> {
    crate::auth::signup::check_name(&wish.name)?;
    if wish.scopes.is_empty() {
        return Err(Error::invalid(format!("scopes required for kind={}", wish.kind.as_str())));
    }
    if wish.lifetime.is_some_and(|seconds| seconds < 1) {
        return Err(Error::invalid(
            "expires_in_seconds: must be at least 1; leave it out for a token that is good until it is revoked",
        ));
    }
    Ok(())
}

/// A token of nobody, made by an administrator.
pub async fn create_system(call: &Call, wish: &Wish) -> Result<(TokenRow, Secret), Error> {
    check(wish)?;
    create(call, wish, None).await
}

/// A token of the caller's own: never more than the person holds, and never `admin` by way of a token that lacks it.
pub async fn create_own(call: &Call, mut wish: Wish) -> Result<(TokenRow, Secret), Error> {
    let Some(person) = &call.who.person else { return Err(Error::Unauthorized) };
    check(&wish)?;
    let lacks_admin = call.who.token.as_ref().is_some_and(|token| !token.has_scope(ADMIN_SCOPE));
    let exceeds = |scope: &String| !held_covers(person, scope) || scope == ADMIN_SCOPE && lacks_admin;
    if wish.scopes.iter().any(exceeds) {
        return Err(Error::Forbidden("requested scopes exceed caller's authority"));
    }
    if wish.kind == TokenKind::Pat && !wish.scopes.iter().any(|scope| scope == ACCOUNT_SCOPE) {
        wish.scopes.push(ACCOUNT_SCOPE.to_owned());
    }
    create(call, &wish, Some(person.id)).await
}

async fn create(call: &Call, wish: &Wish, owner_id: Option<Uuid>) -> Result<(TokenRow, Secret), Error> {
    let db = call.session().await?;
    let text = token::mint();
    let lifetime = wish.lifetime.map(|seconds| seconds.min(LONGEST_LIFE) as f64);
    let new = NewToken {
        id: Uuid::new_v4(),
        name: wish.name.trim(),
        kind: wish.kind,
        scopes: &wish.scopes,
        secret_hash: token::hash(text.expose()),
        owner_id,
        ephemeral: wish.ephemeral,
        lifetime,
    };
    let tx = Tx::begin(&db).await?;
    let row = store::tokens::create(&db, &new).await?;
    let details = json!({
        "name": row.name, "kind": row.kind, "scopes": row.scopes, "ephemeral": row.ephemeral, "owner_user_id": owner_id,
    });
    let entry = Entry::new("token.create", format!("token:{}", row.id)).details(details);
    record(&db, &call.who, &call.incoming.origin, entry).await?;
    tx.commit().await?;
    Ok((row, text))
}

/// Revokes a token, of `owner` only where one is given; open streams end. False where there was nothing to revoke.
pub async fn revoke(call: &Call, id: Uuid, owner: Option<Uuid>) -> Result<bool, Error> {
    let db = call.session().await?;
    let tx = Tx::begin(&db).await?;
    let done = store::tokens::revoke(&db, id, owner).await?;
    if done {
        record(&db, &call.who, &call.incoming.origin, Entry::new("token.revoke", format!("token:{id}")))
            .await?;
    }
    tx.commit().await?;
    if done {
        hint(&db).await;
    }
    Ok(done)
}

/// Says that tokens were revoked; after the commit.
pub async fn hint(db: &Session) {
    notify_once(db, HINT).await;
}

/// Gives a token to a person, or to nobody.
pub async fn transfer(call: &Call, id: Uuid, owner: Option<Uuid>) -> Result<(), Error> {
    let db = call.session().await?;
    if let Some(owner) = owner {
        let person = store::people::get(&db, owner).await?;
        person.ok_or(Error::unprocessable("unknown_user", "owner_user_id: there is no such user"))?;
    }
    let tx = Tx::begin(&db).await?;
    let done = store::tokens::set_owner(&db, id, owner).await?;
    if done {
        let entry = Entry::new("token.transfer_owner", format!("token:{id}"))
            .details(json!({ "new_owner_user_id": owner }));
        record(&db, &call.who, &call.incoming.origin, entry).await?;
    }
    tx.commit().await?;
    if done { Ok(()) } else { Err(Error::NotFound("token")) }
}

/// The sources among scopes that no configuration names: allowed, but worth a word.
pub fn unknown_sources(call: &Call, scopes: &[String]) -> Vec<String> {
    scopes.iter().filter(|scope| !is_special(scope) && !call.state.knows_source(scope)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_flattened_and_checked() {
        let given = ["a, b".to_owned(), "a".to_owned(), String::new()];
        assert_eq!(clean_scopes(&given).expect("scopes"), ["a", "b"]);
        assert!(clean_scopes(&["a b".to_owned()]).is_err());
        assert!(clean_scopes(&["<script>".to_owned()]).is_err());
    }
}
