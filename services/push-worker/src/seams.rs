//! What tests replace: time, the network, names, and which protocol the worker believes in.

use crate::APPLICATION;
use crate::sender::{HttpSender, Sender};
use hooks_shared::Clock;
use hooks_shared::config::PushSettings;
use hooks_shared::db::PROTOCOL_VERSION;
use hooks_shared::push::destination::{Resolver, SystemResolver};
use hooks_shared::spans::Spans;
use std::fmt;
use std::sync::Arc;

/// What tests replace. `main` passes the real ones.
#[derive(Clone)]
pub struct Seams {
    /// For signatures and `Retry-After` dates. Leases and due times use the database's clock.
    pub clock: Clock,
    pub sender: Arc<dyn Sender>,
    pub resolver: Arc<dyn Resolver>,
    /// The claim protocol that this worker speaks (L12).
    pub protocol: i32,
    pub spans: Spans,
}

impl fmt::Debug for Seams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seams").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

impl Seams {
    pub fn real(settings: &PushSettings) -> Result<Self, String> {
        Ok(Self {
            clock: Clock::system(),
            sender: Arc::new(HttpSender::new(settings.connect_timeout, settings.proxy.as_deref())?),
            resolver: Arc::new(SystemResolver),
            protocol: PROTOCOL_VERSION,
            spans: Spans::from_env(APPLICATION)?,
        })
    }
}
