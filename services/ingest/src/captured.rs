//! Secrets that providers hand over in a handshake: sealed in the database, opened here, and put to use at once in
//! every process that takes requests.

use crate::sources::{Captured, Sourcing};
use crate::store;
use hooks_shared::Secret;
use hooks_shared::db::{Pool, describe};
use hooks_shared::sealed::{Keyring, Place};
use hooks_shared::shutdown::Shutdown;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

/// How soon another process's capture is known here.
const LOOK: Duration = Duration::from_secs(5);

/// Where captured secrets are kept. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Vault {
    pool: Pool,
    /// Without keys nothing can be kept, and such handshakes are not answered.
    keys: Option<Keyring>,
}

/// What became of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Stored,
    /// The source has one already.
    Refused,
}

impl Vault {
    pub fn new(pool: Pool, keys: Option<Keyring>) -> Self {
        Self { pool, keys }
    }

    /// Stores a source's secret, once.
    ///
    /// # Errors
    /// Why it is not known to be stored; the handshake must not be answered then.
    pub async fn keep(&self, source: &str, secret: &Secret) -> Result<Kept, String> {
        let keys = self.keys.as_ref().ok_or("HOOKS_SECRET_KEYS is not set, so no secret can be kept")?;
        let sealed = keys.seal(secret, Place::captured(source));
        let session = self.pool.get().await.map_err(|_| "no database connection".to_owned())?;
        match session.run(store::CAPTURE_SECRET, &[&source, &sealed]).await {
            Ok(0) => Ok(Kept::Refused),
            Ok(_) => Ok(Kept::Stored),
            Err(error) => Err(describe(&error)),
        }
    }

    /// All secrets that can be opened. One that cannot is said in the log and left out.
    async fn all(&self) -> Result<BTreeMap<String, Captured>, String> {
        let Some(keys) = &self.keys else { return Ok(BTreeMap::new()) };
        let session = self.pool.get().await.map_err(|_| "no database connection".to_owned())?;
        let rows = session.rows(store::CAPTURED_SECRETS, &[]).await.map_err(|error| describe(&error))?;
        let mut found = BTreeMap::new();
        for row in rows {
            let source: String = row.get("source");
            let renewable_until: Option<OffsetDateTime> = row.get("renewable_until");
            match keys.open(row.get("sealed"), Place::captured(&source)) {
                Ok(secret) => drop(found.insert(source, Captured { secret, renewable_until })),
                Err(error) => {
                    log::error!(source = source.as_str(); "its captured secret cannot be opened: {error}");
                }
            }
        }
        Ok(found)
    }
}

/// Keeps the sources' secrets as they are in the database.
pub async fn watch(vault: Vault, sourcing: Arc<Sourcing>, shutdown: Shutdown) {
    if vault.keys.is_none() {
        return;
    }
    loop {
        match vault.all().await {
            Ok(captured) => sourcing.use_captured(captured),
            Err(reason) => log::debug!("captured secrets cannot be read: {reason}"),
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = shutdown.wait() => return,
        }
    }
}
