//! What happens beside a request's way to the log: published keys are fetched before it is verified, secrets handed
//! over in a handshake are stored before it is answered, and handshakes and refusals are written down after.

use crate::app::Seams;
use crate::captured::{self, Kept, Vault};
use crate::error::Answer;
use crate::fetch::HttpFetch;
use crate::handshakes::{Handshake, Ledger};
use crate::head::Captured;
use crate::rejected::{Recorder, Rejected};
use crate::sources::{Current, ReadySource, Sourcing};
use hooks_shared::Config;
use hooks_shared::db::{self, SessionOptions, Target};
use hooks_shared::sealed::Keyring;
use hooks_shared::shutdown::Shutdown;
use hooks_shared::verify::{ChallengeAnswer, Fetch, KeyStore, Parts, Reason, Refusal, Request};
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Behind {
    sourcing: Arc<Sourcing>,
    keys: Arc<KeyStore>,
    fetch: Arc<dyn Fetch>,
    vault: Vault,
    ledger: Ledger,
    recorder: Recorder,
}

impl Behind {
    /// Starts the tasks. Their connections are their own, so that a flood of refusals holds up nothing else.
    pub fn start(
        target: &Target,
        config: &Config,
        sources: &Current,
        seams: &Seams,
        stopping: &Shutdown,
    ) -> Result<Self, String> {
        let pool =
            db::pool(target, SessionOptions::service("hooks-ingest record"), 2, Duration::from_secs(3));
        let sealing = Keyring::from_env(&|name| std::env::var(name).ok())?;
        let vault = Vault::new(pool.clone(), sealing);
        let fetch: Arc<dyn Fetch> = match &seams.fetch {
            Some(fetch) => fetch.clone(),
            None => Arc::new(HttpFetch::new()?),
        };
        let sourcing = Arc::new(Sourcing::start(config, sources.clone())?);
        let behind = Self {
            keys: sourcing.keys(),
            fetch: fetch.clone(),
            vault: vault.clone(),
            ledger: Ledger::start(pool.clone(), fetch),
            recorder: Recorder::start(pool, sources.clone(), seams.clock.clone(), stopping.clone()),
            sourcing: sourcing.clone(),
        };
        tokio::spawn(captured::watch(vault, sourcing, stopping.clone()));
        Ok(behind)
    }

    /// Takes a changed configuration that has been found usable.
    pub fn reload(&self, config: &Config) {
        self.sourcing.reload(config);
    }

    /// Fetches the key that a request names, if it is not here.
    pub async fn fetch_key(&self, source: &ReadySource, request: &Request<'_>, now: OffsetDateTime) {
        if let Some(wanted) = source.verifier.wants(request) {
            self.keys.fill(&wanted, self.fetch.as_ref(), now).await;
        }
    }

    /// Does what must be done before a handshake is answered.
    ///
    /// # Errors
    /// What is answered instead.
    pub async fn settle(&self, source: &ReadySource, answer: &ChallengeAnswer) -> Result<(), Answer> {
        if let Some(secret) = &answer.store_secret {
            match self.vault.keep(&source.name, secret).await {
                Ok(Kept::Stored) => self.sourcing.use_one(&source.name, secret.clone()),
                Ok(Kept::Refused) => {
                    self.note(source, answer, "refused: the source has a secret");
                    let reason = Reason::MissingHeader;
                    let status = source.verifier.refuse_status(reason);
                    let detail = "the source has a secret already".into();
                    return Err(Answer::Refused { reason, status, detail });
                }
                Err(reason) => {
                    log::error!(source = source.name.as_ref(); "a captured secret is not stored: {reason}");
                    return Err(Answer::Unavailable);
                }
            }
        }
        self.note(source, answer, "answered");
        Ok(())
    }

    fn note(&self, source: &ReadySource, answer: &ChallengeAnswer, outcome: &str) {
        self.ledger.note(Handshake {
            source: source.name.clone(),
            kind: answer.kind,
            outcome: outcome.to_owned(),
            confirm: answer.confirm.clone(),
        });
    }

    /// Hands a refused request over to be looked at, unless one of its source was just now, and notes a handshake
    /// that was refused as seldom. Never waits.
    pub fn refused(
        &self,
        source: &Arc<ReadySource>,
        refusal: &Refusal,
        request: impl FnOnce() -> (Parts, Captured),
        body_bytes: usize,
        now: OffsetDateTime,
    ) {
        if self.recorder.wants(source, now) {
            let status = source.verifier.refuse_status(refusal.reason);
            if let Some(kind) = refusal.handshake {
                let outcome = format!("refused: {}", refusal.detail);
                self.ledger.note(Handshake { source: source.name.clone(), kind, outcome, confirm: None });
            }
            let (source, refusal) = (source.clone(), refusal.clone());
            let (request, head) = request();
            self.recorder.offer(Rejected { source, request, head, refusal, status, body_bytes, at: now });
        }
    }
}
