//! What the parts of a running worker have in common.

use crate::metrics::Metrics;
use crate::seams::Seams;
use crate::slot::Slots;
use hooks_shared::config::PushSettings;
use hooks_shared::db::{Pool, Target};
use hooks_shared::push::destination::Policy;
use hooks_shared::sealed::Keyring;
use hooks_shared::shutdown::Shutdown;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore, watch};

/// Bytes of large bodies that may be in memory at once, in KiB.
pub const LARGE_BODIES_KIB: usize = 128 << 10;

/// Shared by the claiming loop, the attempts and the recorder.
#[derive(Debug)]
pub struct Context {
    /// Shown as the holder of leases.
    pub worker: String,
    pub settings: PushSettings,
    pub seams: Seams,
    pub policy: Policy,
    pub keyring: Keyring,
    pub target: Target,
    pub pool: Pool,
    pub metrics: Metrics,
    pub shutdown: Shutdown,
    /// Once the drain deadline has passed, requests under way are cut.
    pub cut: Cut,
    pub slots: Slots,
    pub large_bodies: Arc<Semaphore>,
    /// Something may be claimable now.
    pub wake: Arc<Notify>,
    /// By source: headers in which its scheme carries a credential.
    pub credential_headers: BTreeMap<String, Vec<String>>,
    /// Sources whose events are held back.
    pub paused_sources: Vec<String>,
}

/// Says when the drain deadline has passed.
#[derive(Debug, Clone)]
pub struct Cut(pub watch::Receiver<bool>);

impl Cut {
    /// Returns then, and not before.
    pub async fn wait(&self) {
        let mut cut = self.0.clone();
        if cut.wait_for(|cut| *cut).await.is_err() {
            // The trigger went without a word: nothing is cut.
            std::future::pending::<()>().await;
        }
    }
}
