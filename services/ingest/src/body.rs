//! Reading a body: counted while it streams, within the source's limit and the process's budget.

use crate::budget::{Budget, Hold};
use actix_web::web::{Bytes, BytesMut, Payload};
use futures_util::StreamExt;
use std::time::Duration;

/// A sender that sends nothing for so long is not waited for.
const PAUSE_LIMIT: Duration = Duration::from_secs(30);
/// A sender that takes longer than this for one body is not waited for either.
const WHOLE_LIMIT: Duration = Duration::from_secs(120);

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyError {
    /// Over the limit of the source, bytes.
    TooLarge {
        limit: u64,
    },
    /// No room in the process's budget.
    Full,
    /// The sender stopped sending, or its framing is broken.
    Broken(String),
    TooSlow,
}

/// Reads the whole body. `declared` is the `Content-Length`, if there is one.
pub async fn read(
    payload: &mut Payload,
    declared: Option<u64>,
    limit: u64,
    budget: &Budget,
) -> Result<(Bytes, Hold), BodyError> {
    if declared.is_some_and(|length| length > limit) {
        return Err(BodyError::TooLarge { limit });
    }
    let mut hold = budget.hold();
    let reading = async {
        let mut body = BytesMut::with_capacity(declared.unwrap_or(0).min(64 * 1024) as usize);
        loop {
            match tokio::time::timeout(PAUSE_LIMIT, payload.next()).await {
                Err(_) => return Err(BodyError::TooSlow),
                Ok(None) => return Ok(body.freeze()),
                Ok(Some(Err(error))) => return Err(BodyError::Broken(error.to_string())),
                Ok(Some(Ok(chunk))) => {
                    if body.len() as u64 + chunk.len() as u64 > limit {
                        return Err(BodyError::TooLarge { limit });
                    }
                    hold.grow(chunk.len() as u64).map_err(|_| BodyError::Full)?;
                    body.extend_from_slice(&chunk);
                }
            }
        }
    };
    let body = tokio::time::timeout(WHOLE_LIMIT, reading).await.unwrap_or(Err(BodyError::TooSlow))?;
    Ok((body, hold))
}
