//! Limits on tries, in the database, so that they hold over all instances and restarts.

use crate::error::Error;
use crate::store;
use hooks_shared::db::Session;
use sha2::{Digest, Sha256};
use std::net::IpAddr;

/// A bucket of `burst` tries, one of which comes back every `seconds`.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    pub name: &'static str,
    pub burst: u32,
    pub seconds: u32,
}

pub const LOGIN_ADDRESS: Limit = Limit { name: "login-address", burst: 20, seconds: 12 };
/// Counts failures only: a success gives its try back.
pub const LOGIN_ACCOUNT: Limit = Limit { name: "login-account", burst: 8, seconds: 60 };
pub const SIGNUP_ADDRESS: Limit = Limit { name: "signup-address", burst: 10, seconds: 30 };
pub const DEVICE_START: Limit = Limit { name: "device-start", burst: 10, seconds: 6 };
/// A command line asks every five seconds.
pub const DEVICE_POLL: Limit = Limit { name: "device-poll", burst: 60, seconds: 1 };
pub const DEVICE_APPROVE: Limit = Limit { name: "device-approve", burst: 10, seconds: 6 };

/// One row of the audit for one token, or one address, and one reason.
pub const REFUSED_TOKEN: Limit = Limit { name: "refused-token", burst: 1, seconds: 60 };
/// Rows of the audit for unknown tokens from all addresses together.
pub const REFUSED_TOKENS: Limit = Limit { name: "refused-tokens", burst: 30, seconds: 10 };

/// Whether there is a try to take. Only reads.
pub async fn has_one(db: &Session, limit: Limit, subject: &str) -> Result<bool, Error> {
    Ok(store::limits::has_one(db, &key(limit, subject), limit.burst, limit.seconds).await?)
}

/// Takes one try, or says how long to wait.
pub async fn take(db: &Session, limit: Limit, subject: &str) -> Result<(), Error> {
    let wait = store::limits::take(db, &key(limit, subject), limit.burst, limit.seconds).await?;
    match wait {
        None => Ok(()),
        Some(seconds) => Err(Error::RateLimited(seconds.ceil().max(1.0) as u64)),
    }
}

/// Gives a try back.
pub async fn give_back(db: &Session, limit: Limit, subject: &str) -> Result<(), Error> {
    Ok(store::limits::give_back(db, &key(limit, subject), limit.seconds).await?)
}

/// Hashed, so that the table holds no addresses of people and every key is short.
fn key(limit: Limit, subject: &str) -> String {
    format!("{}:{}", limit.name, hex::encode(&Sha256::digest(subject.as_bytes())[..16]))
}

/// What stands for an address: an IPv6 network of 64 bits is one household.
pub fn subject_of(address: Option<IpAddr>) -> String {
    match address {
        Some(IpAddr::V6(v6)) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
        Some(v4) => v4.to_string(),
        None => "unknown".to_owned(),
    }
}
