//! `hooksctl secrets`: the keys under which secrets are kept in the database.

use super::{Failed, database};
use crate::options::Global;
use crate::output::{line, note};
use crate::store;
use anyhow::Result;
use hooks_shared::db::{Session, SessionOptions};
use hooks_shared::push::OperatorError;
use hooks_shared::push::subscriptions::reseal_all;
use hooks_shared::sealed::{Keyring, OpenError, Place};
use serde_json::json;

/// The keys under which secrets are kept in the database
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Encrypt every stored secret anew, with the first key: those that sign pushes, and those that providers handed
    /// over. Talks to: the database.
    ///
    /// To change keys: put the new one before the old one in HOOKS_SECRET_KEYS (or the file that
    /// HOOKS_SECRET_KEYS_FILE names) of ingest, push-worker and inspector, restart them, run this with the same keys,
    /// then take the old key away.
    Reencrypt,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Reencrypt => reencrypt(global).await,
    }
}

async fn reencrypt(global: &Global) -> Result<()> {
    let keyring = database::keyring()?;
    let session = database::connect(SessionOptions::unhurried("hooksctl secrets")).await?;
    database::expect_schema(&session).await?;
    let pushing = reseal_all(&session, &keyring).await.map_err(|error| match error {
        OperatorError::Database(error) => database::failed(error),
        OperatorError::Sealed(error) => unreadable(error).into(),
        other => Failed(other.to_string()).into(),
    })?;
    let count = pushing + reseal_captured(&session, &keyring).await?;
    match global.json {
        true => line(&json!({"reencrypted": count}).to_string()),
        false => {
            note(&format!("{count} encrypted anew; all are under the first key"));
            Ok(())
        }
    }
}

/// The same for secrets captured in handshakes; how many were under another key.
async fn reseal_captured(session: &Session, keyring: &Keyring) -> Result<u64> {
    let mut resealed = 0;
    for row in session.rows(store::CAPTURED_SECRETS, &[]).await.map_err(database::failed)? {
        let (source, sealed): (String, Vec<u8>) = (row.get("source"), row.get("sealed"));
        if !keyring.is_outdated(&sealed) {
            continue;
        }
        let place = Place::captured(&source);
        let again = keyring.seal(&keyring.open(&sealed, place).map_err(unreadable)?, place);
        let kept = session.run(store::RESEAL_CAPTURED, &[&source, &again, &sealed]).await;
        resealed += kept.map_err(database::failed)?;
    }
    Ok(resealed)
}

fn unreadable(error: OpenError) -> Failed {
    Failed(format!(
        "a stored secret cannot be read: {error}; every key that is still in use must be in HOOKS_SECRET_KEYS"
    ))
}
