//! A subscription as an attempt needs it.

use crate::outgoing::{Shape, without_query};
use crate::signing::Signing;
use crate::store::Picked;
use hooks_shared::Secret;
use hooks_shared::config::RetrySchedule;
use hooks_shared::sealed::{Keyring, Place};

/// What an attempt needs of a subscription. Read at the claim, so each attempt uses the present URL and secrets.
#[derive(Debug)]
pub struct Definition {
    pub id: String,
    pub url: String,
    pub shown_url: String,
    /// The error is why nothing can be sent: a secret that does not open.
    pub shape: Result<Shape, String>,
    pub schedule: RetrySchedule,
    pub record_response: usize,
    pub stop_on_failure: bool,
    /// Whether its health was spotless when it was claimed.
    pub is_healthy: bool,
    pub is_proven: bool,
}

impl Definition {
    pub fn read(picked: &Picked, keyring: &Keyring, default: &RetrySchedule, credentials: &[String]) -> Self {
        let schedule = picked.retry.as_ref().and_then(|value| RetrySchedule::from_value(value).ok());
        Self {
            id: picked.id.clone(),
            url: picked.url.clone(),
            shown_url: without_query(&picked.url),
            shape: shape(picked, keyring, credentials),
            schedule: schedule.unwrap_or_else(|| default.clone()),
            record_response: picked.record_response.max(0) as usize,
            stop_on_failure: picked.stop_on_failure,
            is_healthy: picked.proven && picked.strikes == 0 && !picked.failing,
            is_proven: picked.proven,
        }
    }
}

fn shape(picked: &Picked, keyring: &Keyring, credentials: &[String]) -> Result<Shape, String> {
    let secrets = secrets(picked, keyring)?;
    Ok(Shape {
        signing: Signing::read(&picked.signing, &secrets[0])?,
        secrets,
        preserve_method: picked.preserve_method,
        forward_credentials: picked.forward_credentials,
        credential_headers: credentials.to_vec(),
    })
}

fn secrets(picked: &Picked, keyring: &Keyring) -> Result<Vec<Secret>, String> {
    let open = |sealed: &[u8], column| {
        let place = Place { row: &picked.id, column };
        keyring.open(sealed, place).map_err(|error| format!("the signing secret cannot be read: {error}"))
    };
    let mut secrets = vec![open(&picked.secret, "secret")?];
    if let Some(previous) = &picked.previous_secret {
        secrets.push(open(previous, "previous_secret")?);
    }
    Ok(secrets)
}
