//! `hooksctl secrets`: the keys under which signing secrets are kept.

use super::{Failed, Usage, database};
use crate::options::Global;
use crate::output::{line, note};
use anyhow::Result;
use hooks_shared::db::SessionOptions;
use hooks_shared::push::OperatorError;
use hooks_shared::push::subscriptions::reseal_all;
use hooks_shared::sealed::Keyring;
use serde_json::json;

/// The keys under which the signing secrets of push subscriptions are kept
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Encrypt every stored secret anew, with the first key. Talks to: the database.
    ///
    /// To change keys: put the new one before the old one in HOOKS_SECRET_KEYS (or the file that
    /// HOOKS_SECRET_KEYS_FILE names) of push-worker and inspector, restart them, run this with the same keys, then
    /// take the old key away.
    Reencrypt,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Reencrypt => reencrypt(global).await,
    }
}

async fn reencrypt(global: &Global) -> Result<()> {
    let keyring = Keyring::required(&|name| std::env::var(name).ok()).map_err(Usage)?;
    let session = database::connect(SessionOptions::unhurried("hooksctl secrets")).await?;
    database::expect_schema(&session).await?;
    let count = reseal_all(&session, &keyring).await.map_err(|error| match error {
        OperatorError::Database(error) => database::failed(error),
        OperatorError::Sealed(error) => Failed(format!(
            "a stored secret cannot be read: {error}; every key that is still in use must be in HOOKS_SECRET_KEYS"
        ))
        .into(),
        other => Failed(other.to_string()).into(),
    })?;
    match global.json {
        true => line(&json!({"reencrypted": count}).to_string()),
        false => {
            note(&format!("{count} encrypted anew; all are under the first key"));
            Ok(())
        }
    }
}
