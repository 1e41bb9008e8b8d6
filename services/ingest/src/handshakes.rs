//! A record of the handshakes that were answered or refused, written behind the answer.

use crate::store;
use hooks_shared::db::{Pool, describe};
use hooks_shared::verify::{Fetch, FetchRequest};
use std::sync::Arc;
use tokio::sync::mpsc;

/// What waits to be written; more is dropped, since anyone can ask for an echo.
const WAITING: usize = 32;

/// A handshake on its way to the record.
#[derive(Debug)]
pub struct Handshake {
    pub source: Arc<str>,
    pub kind: &'static str,
    /// Names of headers and settings, never a value.
    pub outcome: String,
    /// An address to GET for it to take effect.
    pub confirm: Option<String>,
}

/// Takes handshakes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Ledger(mpsc::Sender<Handshake>);

impl Ledger {
    pub fn start(pool: Pool, fetch: Arc<dyn Fetch>) -> Self {
        let (queue, mut waiting) = mpsc::channel(WAITING);
        tokio::spawn(async move {
            while let Some(handshake) = waiting.recv().await {
                write(&pool, fetch.as_ref(), handshake).await;
            }
        });
        Self(queue)
    }

    /// Never waits.
    pub fn note(&self, handshake: Handshake) {
        let _ = self.0.try_send(handshake);
    }
}

async fn write(pool: &Pool, fetch: &dyn Fetch, handshake: Handshake) {
    let mut outcome = handshake.outcome;
    if let Some(url) = handshake.confirm {
        outcome = match fetch.fetch(FetchRequest { url, json: None }).await {
            Ok(_) => "confirmed".into(),
            Err(reason) => format!("not confirmed: {reason}"),
        };
    }
    let source = handshake.source.as_ref();
    log::info!(source, kind = handshake.kind, outcome = outcome.as_str(); "a handshake");
    let Ok(session) = pool.get().await else { return };
    if let Err(error) = session.run(store::KEEP_HANDSHAKE, &[&source, &handshake.kind, &outcome]).await {
        log::debug!(source; "a handshake is not kept: {}", describe(&error));
    }
}
