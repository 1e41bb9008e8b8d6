//! Keys that are published by providers, kept after the first request that needed them.
//!
//! [`super::Verifier::verify`] never waits. Before it, a service asks [`super::Verifier::wants`] and
//! lets [`KeyStore::fill`] fetch what is named; without the key the verdict is `config_error`, which
//! makes the provider send again.

use super::certificate::Certificate;
use super::keys::Jwk;
use crate::Secret;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use time::OffsetDateTime;

/// Longest time a fetch may take, and longest wait for another one under way.
const TIME_OUT: Duration = Duration::from_secs(5);
/// A key is fetched again after this.
const KEEP: time::Duration = time::Duration::hours(24);
/// Nothing is asked again so soon after it could not be had: requests name the address, and anyone
/// can send requests.
const KEEP_FAILURE: time::Duration = time::Duration::minutes(1);
/// Far more keys than the providers of one relay have.
const MAX_KEYS: usize = 100;

/// A key that must be fetched before a request can be checked. The host has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A certificate in PEM.
    Certificate { url: String },
    /// A key of Plaid's, by its id.
    PlaidKey { kid: String, account: PlaidAccount },
}

/// Who asks Plaid for keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaidAccount {
    pub(super) host: &'static str,
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    pub url: String,
    /// With a body it is a POST of JSON, without one a GET.
    pub json: Option<String>,
}

pub type Fetched<'f> = Pin<Box<dyn Future<Output = Result<Vec<u8>, String>> + Send + 'f>>;

/// Does the requests. The body of a success comes back, everything else is an error; redirects are
/// not followed and answers over 64 KiB are errors.
pub trait Fetch: fmt::Debug + Send + Sync {
    fn fetch(&self, request: FetchRequest) -> Fetched<'_>;
}

#[derive(Debug, Clone)]
enum Key {
    Certificate(Arc<Certificate>),
    Jwk(Arc<Jwk>),
    Failed,
}

/// The keys fetched so far. One serves all sources of a process.
#[derive(Debug, Default)]
pub struct KeyStore {
    keys: Mutex<HashMap<String, (Key, OffsetDateTime)>>,
    fetching: tokio::sync::Mutex<()>,
}

impl Wanted {
    /// Tells one key from another; the host is part of it.
    fn name(&self) -> String {
        match self {
            Self::Certificate { url } => url.clone(),
            Self::PlaidKey { kid, account } => format!("{} {kid}", account.host),
        }
    }

    fn request(&self) -> FetchRequest {
        match self {
            Self::Certificate { url } => FetchRequest { url: url.clone(), json: None },
            Self::PlaidKey { kid, account } => {
                let body = json!({
                    "client_id": account.client_id,
                    "secret": account.client_secret.expose(),
                    "key_id": kid,
                });
                let url = format!("https://{}/webhook_verification_key/get", account.host);
                FetchRequest { url, json: Some(body.to_string()) }
            }
        }
    }

    fn read(&self, answer: &[u8]) -> Result<Key, String> {
        match self {
            Self::Certificate { .. } => {
                Certificate::from_pem(answer).map(|key| Key::Certificate(Arc::new(key)))
            }
            Self::PlaidKey { .. } => {
                let answer: Value = serde_json::from_slice(answer).map_err(|_| "is not JSON")?;
                let key = Jwk::parse(answer["key"].to_string().as_bytes()).ok_or("is not a P-256 key")?;
                Ok(Key::Jwk(Arc::new(key)))
            }
        }
    }
}

impl KeyStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Fetches a key unless it is here or could not be had a moment ago. Never fails: the verdict
    /// says it if there is still no key. Gives up after five seconds.
    pub async fn fill(&self, wanted: &Wanted, fetch: &dyn Fetch, now: OffsetDateTime) {
        if self.is_fresh(wanted, now) {
            return;
        }
        let Ok(_alone) = tokio::time::timeout(TIME_OUT, self.fetching.lock()).await else { return };
        if self.is_fresh(wanted, now) {
            return;
        }
        let answer = tokio::time::timeout(TIME_OUT, fetch.fetch(wanted.request())).await;
        let key = match answer {
            Ok(Ok(answer)) => wanted.read(&answer),
            Ok(Err(error)) => Err(error),
            Err(_) => Err("took too long".into()),
        };
        let (key, keep) = match key {
            Ok(key) => (key, KEEP),
            Err(error) => {
                log::warn!(error:% = error; "a provider's key could not be fetched");
                (Key::Failed, KEEP_FAILURE)
            }
        };
        self.put(wanted.name(), key, now + keep, now);
    }

    fn is_fresh(&self, wanted: &Wanted, now: OffsetDateTime) -> bool {
        self.lock().get(&wanted.name()).is_some_and(|(_, until)| now < *until)
    }

    fn put(&self, name: String, key: Key, until: OffsetDateTime, now: OffsetDateTime) {
        let mut keys = self.lock();
        if keys.len() >= MAX_KEYS {
            keys.retain(|_, (key, until)| now < *until && !matches!(key, Key::Failed));
        }
        if keys.len() >= MAX_KEYS {
            keys.clear();
        }
        // A key that is here but due is better than none while the provider is away.
        if matches!(key, Key::Failed)
            && let Some((_, kept)) = keys.get_mut(&name).filter(|(key, _)| !matches!(key, Key::Failed))
        {
            *kept = until;
            return;
        }
        keys.insert(name, (key, until));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Key, OffsetDateTime)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn certificate(&self, url: &str) -> Option<Arc<Certificate>> {
        match &self.lock().get(url)?.0 {
            Key::Certificate(certificate) => Some(certificate.clone()),
            Key::Jwk(_) | Key::Failed => None,
        }
    }

    pub(super) fn jwk(&self, wanted: &Wanted) -> Option<Arc<Jwk>> {
        match &self.lock().get(&wanted.name())?.0 {
            Key::Jwk(key) => Some(key.clone()),
            Key::Certificate(_) | Key::Failed => None,
        }
    }
}
