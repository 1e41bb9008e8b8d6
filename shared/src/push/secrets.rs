//! The signing secrets of subscriptions: made, rotated, sealed anew.

use super::error::{FieldFault, OperatorError};
use super::statements::{RESEAL, ROTATE_SECRET, SECRETS};
use super::subscriptions::Desk;
use super::work::Work;
use crate::Secret;
use crate::db::{Session, notify_once};
use crate::sealed::{Keyring, Place};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngCore;
use serde_json::json;
use std::time::Duration;

/// Gives a subscription a new secret, made where none is given. For `overlap` both sign.
pub async fn rotate_secret(
    session: &Session,
    desk: &Desk,
    id: &str,
    secret: Option<Secret>,
    overlap: Duration,
) -> Result<Secret, OperatorError> {
    if let Some(secret) = &secret
        && !(16..=512).contains(&secret.expose().len())
    {
        let faults = vec![FieldFault::new("secret", "must be 16 to 512 characters")];
        return Err(OperatorError::Invalid { faults });
    }
    let secret = secret.unwrap_or_else(mint_secret);
    let work = Work::begin(session).await?;
    if let Err(error) = work.lock(id).await {
        return work.refuse(error).await;
    }
    let Some(row) = session.row(SECRETS, &[&Some(id)]).await? else {
        return work.refuse(OperatorError::NoSubscription(id.to_owned())).await;
    };
    let present = match desk.keyring.open(row.get("secret"), Place { row: id, column: "secret" }) {
        Ok(present) => present,
        Err(error) => return work.refuse(error.into()).await,
    };
    let sealed = desk.keyring.seal(&secret, Place { row: id, column: "secret" });
    let previous = desk.keyring.seal(&present, Place { row: id, column: "previous_secret" });
    session.run(ROTATE_SECRET, &[&id, &sealed, &previous, &overlap.as_secs_f64()]).await?;
    let details = json!({"overlap_seconds": overlap.as_secs()});
    work.audit(&desk.actor, "push.rotate_secret", id, 1, Some(details)).await?;
    work.commit().await?;
    notify_once(session, "!push").await;
    Ok(secret)
}

/// Seals every secret with the first key; how many were sealed with another.
pub async fn reseal_all(session: &Session, keyring: &Keyring) -> Result<u64, OperatorError> {
    let mut resealed = 0;
    for row in session.rows(SECRETS, &[&None::<&str>]).await? {
        let id: String = row.get("id");
        let again = |sealed: &[u8], column| {
            let place = Place { row: &id, column };
            keyring.open(sealed, place).map(|secret| keyring.seal(&secret, place))
        };
        let present: Vec<u8> = row.get("secret");
        let previous: Option<Vec<u8>> = row.get("previous_secret");
        if !keyring.is_outdated(&present)
            && previous.as_ref().is_none_or(|sealed| !keyring.is_outdated(sealed))
        {
            continue;
        }
        let secret = again(&present, "secret")?;
        let previous = previous.map(|sealed| again(&sealed, "previous_secret")).transpose()?;
        resealed += session.rows(RESEAL, &[&id, &secret, &previous, &present]).await?.len() as u64;
    }
    Ok(resealed)
}

/// A secret in the form of the Standard Webhooks specification: 32 random bytes.
pub(super) fn mint_secret() -> Secret {
    let mut bytes = [0u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    Secret::new(format!("whsec_{}", STANDARD.encode(bytes)))
}
