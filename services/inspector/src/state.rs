//! What every request can reach.

use crate::auth::password::Hasher;
use crate::schemes::Schemes;
use crate::store::{Lent, StoreError};
use crate::tasks::live::Live;
use hooks_shared::db::Pool;
use hooks_shared::push::destination::{Policy, Resolver};
use hooks_shared::sealed::Keyring;
use hooks_shared::shutdown::Shutdown;
use hooks_shared::{Clock, Config};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// The process's state. Cheap to clone.
#[derive(Debug, Clone)]
pub struct State(Arc<Inner>);

pub struct Inner {
    pub config: Config,
    pub pool: Pool,
    pub clock: Clock,
    pub hasher: Hasher,
    pub live: Live,
    /// What seals signing secrets; None where the environment has no keys.
    pub keyring: Option<Keyring>,
    /// Where pushes may go.
    pub policy: Policy,
    pub resolver: Arc<dyn Resolver>,
    /// How long a request body may take to arrive.
    pub body_time: Duration,
    /// What is known of the configured sources without their secrets.
    pub schemes: Schemes,
    /// Ends what would otherwise go on: streams to open pages.
    pub stopping: Shutdown,
    /// The runtime that owns the database connections and runs the handlers.
    pub runtime: Handle,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("keyring", &self.keyring).finish_non_exhaustive()
    }
}

impl State {
    pub fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// A database session.
    pub async fn session(&self) -> Result<Lent, StoreError> {
        Ok(self.pool.get_owned().await?)
    }

    /// The names of the sources of the file, and the built-in one.
    pub fn source_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.config.sources.keys().cloned().collect();
        names.push(hooks_shared::config::SYSTEM_SOURCE.to_owned());
        names
    }

    pub fn knows_source(&self, name: &str) -> bool {
        name == hooks_shared::config::SYSTEM_SOURCE || self.config.sources.contains_key(name)
    }

    /// Whether ingest keeps what it refuses for this source.
    pub fn keeps_rejected(&self, name: &str) -> bool {
        self.config.sources.get(name).is_none_or(|source| source.record_rejected)
    }
}

impl std::ops::Deref for State {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}
