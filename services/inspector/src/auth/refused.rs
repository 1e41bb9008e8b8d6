//! Bearer tokens that are not taken, told in the audit: once a minute for each token and reason, or for each address where
//! the token is unknown, and only so many unknown ones in all. A stranger can send as many as they like, so the rows they
//! cause are bounded, and what is beyond the bound costs no write.

use super::limit::{self, Limit, REFUSED_TOKEN, REFUSED_TOKENS};
use crate::error::Error;
use crate::ops::audit::{Entry, record};
use crate::store::tokens::TokenRow;
use crate::who::{Origin, Who};
use hooks_shared::db::Session;
use serde_json::json;

/// Tells of a token that was good once; the answer to its sender.
pub async fn ended(db: &Session, origin: &Origin, token: TokenRow, reason: &str) -> Result<Error, Error> {
    let subject = format!("token:{}", token.id);
    if take_all(db, &[(REFUSED_TOKEN, &format!("{subject} {reason}"))]).await? {
        let who = Who { token: Some(token), ..Who::default() };
        tell(db, &who, origin, subject, reason).await?;
    }
    Ok(Error::Unauthorized)
}

/// Tells of a token that nobody ever had, without its text or anything made of it; the answer to its sender.
pub async fn unknown(db: &Session, origin: &Origin) -> Result<Error, Error> {
    let address = limit::subject_of(origin.address);
    if take_all(db, &[(REFUSED_TOKEN, &address), (REFUSED_TOKENS, "all")]).await? {
        tell(db, &Who::default(), origin, "token:(unknown)".to_owned(), "unknown").await?;
    }
    Ok(Error::Unauthorized)
}

/// Takes one of each, if each has one. Two at once may both see one that only one of them then gets.
async fn take_all(db: &Session, limits: &[(Limit, &str)]) -> Result<bool, Error> {
    for (limit, subject) in limits {
        if !limit::has_one(db, *limit, subject).await? {
            return Ok(false);
        }
    }
    for (limit, subject) in limits {
        match limit::take(db, *limit, subject).await {
            Err(Error::RateLimited(_)) => return Ok(false),
            other => other?,
        }
    }
    Ok(true)
}

async fn tell(db: &Session, who: &Who, origin: &Origin, subject: String, reason: &str) -> Result<(), Error> {
    let entry = Entry::new("token.use", subject).refused().details(json!({ "reason": reason }));
    record(db, who, origin, entry).await
}
