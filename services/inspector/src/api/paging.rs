//! Pages by key: an opaque cursor in a `next` link.

use crate::error::Error;
use crate::http::Call;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use time::OffsetDateTime;
use uuid::Uuid;

/// Rows of a page when nothing is said, and at most.
pub const USUAL: i64 = 100;
const MOST: i64 = 500;

pub fn limit(call: &Call) -> Result<i64, Error> {
    Ok(call.query.number("limit", 1, MOST)?.unwrap_or(USUAL))
}

/// The key behind which the page begins.
pub fn cursor<T: DeserializeOwned>(call: &Call) -> Result<Option<T>, Error> {
    let Some(text) = call.query.get("cursor") else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let key = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    key.map(Some).ok_or(Error::invalid("cursor: is not one of a `next` link"))
}

/// A cursor's text.
pub fn encode<T: Serialize>(key: &T) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
}

/// Takes the row too many off a page; the link to the next page where there was one.
pub fn next<T, K: Serialize>(
    call: &Call,
    rows: &mut Vec<T>,
    limit: i64,
    key: impl Fn(&T) -> K,
) -> Option<String> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().map(|row| link(call, &key(row)))
}

/// The link to the page behind a key.
pub fn link<K: Serialize>(call: &Call, key: &K) -> String {
    format!("{}?{}", call.incoming.path, call.query.with("cursor", Some(&encode(key))))
}

/// The key of lists by age.
pub type ByAge = (i128, Uuid);

pub fn by_age(at: OffsetDateTime, id: Uuid) -> ByAge {
    (at.unix_timestamp_nanos(), id)
}

pub fn age_of(key: Option<ByAge>) -> Result<Option<(OffsetDateTime, Uuid)>, Error> {
    let Some((nanos, id)) = key else { return Ok(None) };
    let at =
        OffsetDateTime::from_unix_timestamp_nanos(nanos).ok().filter(|at| (1970..=9999).contains(&at.year()));
    Ok(Some((at.ok_or(Error::invalid("cursor: is not one of a `next` link"))?, id)))
}
