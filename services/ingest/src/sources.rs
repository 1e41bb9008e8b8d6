//! The sources as ingest uses them: each with its verifier and the rules that follow from it.

use hooks_shared::Config;
use hooks_shared::config::{DEFAULT_BODY_LIMIT, DedupeWindow, Source};
use hooks_shared::verify::{Ack, Dedupe, Settings, Verifier};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// One source, ready to take requests.
#[derive(Debug)]
pub struct ReadySource {
    pub name: Arc<str>,
    pub verifier: Verifier,
    /// Bytes.
    pub body_limit: u64,
    pub methods: Vec<String>,
    dedupe_window: Option<DedupeWindow>,
    default_dedupe: Option<DedupeWindow>,
}

impl ReadySource {
    /// For how long a repeat counts as the same event: the source's own window; else five minutes where only
    /// the body tells events apart; else the top level's; else a day.
    pub fn window_for(&self, dedupe: &Dedupe) -> DedupeWindow {
        if let Some(own) = self.dedupe_window {
            return own;
        }
        match dedupe {
            Dedupe::Body => DedupeWindow::BODY_ONLY,
            _ => self.default_dedupe.unwrap_or(DedupeWindow::DEFAULT),
        }
    }

    /// The answer to an event that was stored before: the scheme's own, but plain 200 where that is 202.
    pub fn repeat_ack(&self) -> Ack {
        let ack = self.verifier.ack();
        if ack.status != 202 {
            return ack.clone();
        }
        Ack { status: 200, content_type: None, body: Vec::new() }
    }
}

/// All sources by name.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<String, Arc<ReadySource>>);

impl Sources {
    /// Compiles every verifier. The error lists everything that is wrong, with key paths.
    pub fn compile(config: &Config) -> Result<(Self, Vec<String>), Vec<String>> {
        let mut ready = BTreeMap::new();
        let mut faults = Vec::new();
        let mut warnings = Vec::new();
        for source in config.sources.values() {
            match Verifier::compile(&settings(source, config)) {
                Ok(compiled) => {
                    let prefixed = compiled.warnings.iter().map(|w| format!("sources.{}: {w}", source.name));
                    warnings.extend(prefixed);
                    ready.insert(source.name.clone(), Arc::new(ReadySource::new(source, compiled.verifier)));
                }
                Err(found) => {
                    faults.extend(found.iter().map(|fault| format!("sources.{}.{fault}", source.name)));
                }
            }
        }
        if faults.is_empty() { Ok((Self(ready), warnings)) } else { Err(faults) }
    }

    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

fn settings(source: &Source, config: &Config) -> Settings {
    Settings {
        verifier: source.verifier.clone(),
        secrets: source.secrets.clone(),
        skew_window: source.skew_window,
        public_url: source.public_url.clone(),
        base_url: config.public_url.clone(),
        verify_token: source.verify_token.clone(),
        allowed_origins: source.allowed_origins.clone(),
        ack: source.ack.clone(),
        refuse: source.refuse.clone(),
        ..Settings::default()
    }
}

impl ReadySource {
    fn new(source: &Source, verifier: Verifier) -> Self {
        let limit = source.body_size_limit.or(verifier.body_size_limit()).or(source.default_body_limit);
        Self {
            name: Arc::from(source.name.as_str()),
            verifier,
            body_limit: limit.unwrap_or(DEFAULT_BODY_LIMIT),
            methods: source.methods.clone(),
            dedupe_window: source.dedupe_window,
            default_dedupe: source.default_dedupe,
        }
    }
}

/// The sources in force, which SIGHUP replaces. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Current(Arc<RwLock<Arc<Sources>>>);

impl Current {
    pub fn new(sources: Sources) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(sources))))
    }

    pub fn get(&self, name: &str) -> Option<Arc<ReadySource>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0.get(name).cloned()
    }

    pub fn replace(&self, sources: Sources) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(sources);
    }

    pub fn all(&self) -> Arc<Sources> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
