//! The sources as ingest uses them: each with its verifier and the rules that follow from it.

use hooks_shared::Config;
use hooks_shared::Secret;
use hooks_shared::config::{DEFAULT_BODY_LIMIT, DedupeWindow, Source, effective_dedupe};
use hooks_shared::verify::{Ack, Dedupe, KeyStore, Settings, Verifier};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use time::OffsetDateTime;

/// One source, ready to take requests.
#[derive(Debug)]
pub struct ReadySource {
    pub name: Arc<str>,
    pub verifier: Verifier,
    /// What the verifier was made from, secrets included: for the doctor.
    pub settings: Settings,
    pub record_rejected: bool,
    /// Bytes.
    pub body_limit: u64,
    pub methods: Vec<String>,
    dedupe_window: Option<DedupeWindow>,
    default_dedupe: Option<DedupeWindow>,
}

impl ReadySource {
    /// For how long a repeat counts as the same event.
    pub fn window_for(&self, dedupe: &Dedupe) -> DedupeWindow {
        effective_dedupe(self.dedupe_window, self.default_dedupe, matches!(dedupe, Dedupe::Body))
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

/// A secret that a provider handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    pub secret: Secret,
    /// Until then another handshake may replace it.
    pub renewable_until: Option<OffsetDateTime>,
}

/// What the sources are made from besides the configuration.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    pub captured: BTreeMap<String, Captured>,
    /// Keys fetched from providers.
    pub keys: Arc<KeyStore>,
}

impl Sources {
    /// Compiles every verifier. The error lists everything that is wrong, with key paths.
    pub fn compile(config: &Config) -> Result<(Self, Vec<String>), Vec<String>> {
        Self::compile_with(config, &Extras::default())
    }

    /// The same with what is known besides the configuration.
    pub fn compile_with(config: &Config, extras: &Extras) -> Result<(Self, Vec<String>), Vec<String>> {
        let mut ready = BTreeMap::new();
        let mut faults = Vec::new();
        let mut warnings = Vec::new();
        for source in config.sources.values() {
            let settings = settings(source, config, extras);
            match Verifier::compile(&settings) {
                Ok(compiled) => {
                    let prefixed = compiled.warnings.iter().map(|w| format!("sources.{}: {w}", source.name));
                    warnings.extend(prefixed);
                    let source = ReadySource::new(source, settings, compiled.verifier);
                    ready.insert(source.name.to_string(), Arc::new(source));
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

    /// Every secret that any source knows, once.
    pub fn all_secrets(&self) -> Vec<Secret> {
        let mut all: Vec<Secret> = self.0.values().flat_map(|source| source.settings.all_secrets()).collect();
        all.sort_by(|a, b| a.expose().cmp(b.expose()));
        all.dedup();
        all
    }

    /// The secrets of all sources but one, by source.
    pub fn secrets_beside(&self, name: &str) -> Vec<(String, Secret)> {
        let others = self.0.values().filter(|source| &*source.name != name);
        let pairs = |source: &Arc<ReadySource>| {
            let name = source.name.to_string();
            source
                .settings
                .secrets
                .iter()
                .map(move |secret| (name.clone(), secret.clone()))
                .collect::<Vec<_>>()
        };
        others.flat_map(pairs).collect()
    }
}

fn settings(source: &Source, config: &Config, extras: &Extras) -> Settings {
    let mut settings = source.verification(config);
    if let Some(captured) = extras.captured.get(&source.name) {
        // The newest first: it is what a handshake's own answers are signed with.
        settings.secrets.insert(0, captured.secret.clone());
        settings.handshake_until = captured.renewable_until;
    }
    settings.keys = Some(extras.keys.clone());
    settings
}

impl ReadySource {
    fn new(source: &Source, settings: Settings, verifier: Verifier) -> Self {
        let limit = source.body_size_limit.or(verifier.body_size_limit()).or(source.default_body_limit);
        Self {
            name: Arc::from(source.name.as_str()),
            verifier,
            settings,
            record_rejected: source.record_rejected,
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

/// Makes the sources anew when the configuration or a captured secret changes.
#[derive(Debug)]
pub struct Sourcing {
    current: Current,
    made_from: Mutex<(Config, Extras)>,
}

impl Sourcing {
    /// Takes over sources that were compiled from this configuration.
    ///
    /// # Errors
    /// What is wrong with it, as [`Sources::compile`] says.
    pub fn start(config: &Config, current: Current) -> Result<Self, String> {
        let extras = Extras::default();
        let (sources, _) = Sources::compile_with(config, &extras).map_err(|faults| faults.join("\n"))?;
        current.replace(sources);
        Ok(Self { current, made_from: Mutex::new((config.clone(), extras)) })
    }

    /// Keys fetched from providers, which outlive a change of the configuration.
    pub fn keys(&self) -> Arc<KeyStore> {
        self.lock().1.keys.clone()
    }

    /// Takes a changed configuration that has been found usable.
    pub fn reload(&self, config: &Config) {
        let mut made_from = self.lock();
        made_from.0 = config.clone();
        self.make(&made_from);
    }

    /// Takes the captured secrets as they are now.
    pub fn use_captured(&self, captured: BTreeMap<String, Captured>) {
        let mut made_from = self.lock();
        if made_from.1.captured != captured {
            made_from.1.captured = captured;
            self.make(&made_from);
        }
    }

    /// Puts one secret to use at once.
    pub fn use_one(&self, source: &str, secret: Secret) {
        let mut made_from = self.lock();
        made_from.1.captured.insert(source.to_owned(), Captured { secret, renewable_until: None });
        self.make(&made_from);
    }

    fn make(&self, (config, extras): &(Config, Extras)) {
        match Sources::compile_with(config, extras) {
            Ok((sources, _)) => self.current.replace(sources),
            Err(faults) => log::error!("the sources stay as they were: {}", faults.join("; ")),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, (Config, Extras)> {
        self.made_from.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
