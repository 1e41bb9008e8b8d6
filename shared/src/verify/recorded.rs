//! A request written down as JSON, with what is needed to check it again: the form of the test
//! vectors and of what `hooksctl signature explain` reads.
//!
//! `method`, `url`, `headers` (a list of pairs) and `body_base64` are the request. `provider` or
//! `config`, `secret` or `secrets`, `now`, `tolerance`, `max_future`, `public_key`, `verify_token`,
//! `cert_pem`, `allowed_origins`, `allow` and `remote_addr` are the settings and the moment.

use super::encoding::Encoding;
use super::settings::Settings;
use super::special::network;
use super::{Request, address};
use crate::Secret;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};
use time::OffsetDateTime;

#[derive(Debug, Clone, Deserialize)]
pub struct Recorded {
    #[serde(default = "post", deserialize_with = "nullable_method")]
    pub method: String,
    /// The public address, or path and query.
    pub url: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub headers: Vec<(String, String)>,
    #[serde(default, deserialize_with = "nullable")]
    pub body_base64: String,
    pub provider: Option<String>,
    pub config: Option<Value>,
    pub secret: Option<String>,
    pub secrets: Option<Vec<String>>,
    /// Seconds since 1970.
    pub now: Option<f64>,
    #[serde(default, deserialize_with = "present")]
    pub tolerance: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    pub max_future: Option<Value>,
    pub public_key: Option<String>,
    pub verify_token: Option<String>,
    pub cert_pem: Option<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub allowed_origins: Vec<String>,
    #[serde(default, deserialize_with = "nullable")]
    pub allow: Vec<String>,
    #[serde(default, deserialize_with = "sender")]
    pub remote_addr: Option<IpAddr>,
}

fn post() -> String {
    "POST".into()
}

fn nullable_method<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(post))
}

/// `null` is as good as "not there".
fn nullable<'de, D: serde::Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The sender's address, perhaps with its port. What is none is nobody known.
fn sender<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<IpAddr>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    let text = text.as_deref().map(str::trim).unwrap_or_default();
    Ok(text.parse().or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip())).ok())
}

/// Keeps `null` apart from "not there".
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The owned parts of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    pub method: String,
    pub target: String,
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub body: Vec<u8>,
    pub remote_addr: Option<IpAddr>,
}

impl Parts {
    pub fn request(&self) -> Request<'_> {
        Request {
            method: &self.method,
            target: &self.target,
            headers: &self.headers,
            body: &self.body,
            remote_addr: self.remote_addr,
        }
    }
}

impl Recorded {
    /// The request.
    ///
    /// # Errors
    /// When the body is not base64.
    pub fn parts(&self) -> Result<Parts, String> {
        let body = Encoding::Base64.decode(self.body_base64.as_bytes()).ok_or("body_base64 is not base64")?;
        let bytes = |text: &str| text.as_bytes().to_vec();
        Ok(Parts {
            method: self.method.clone(),
            target: self.address().map_or("/", address::path_of).to_owned(),
            headers: self.headers.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
            body,
            remote_addr: self.remote_addr,
        })
    }

    /// The address without its fragment, which is never sent.
    fn address(&self) -> Option<&str> {
        self.url.as_deref().and_then(|url| url.split('#').next())
    }

    /// The moment to check at, if it says one.
    pub fn moment(&self) -> Option<OffsetDateTime> {
        let nanos = self.now.filter(|now| now.abs() < 1e12)? * 1e9;
        OffsetDateTime::from_unix_timestamp_nanos(nanos as i128).ok()
    }

    /// The source's settings as far as the record has them.
    pub fn settings(&self) -> Settings {
        Settings {
            verifier: self.verifier(),
            secrets: self.secrets(),
            public_url: self
                .address()
                .filter(|url| url.contains("://") && !url.starts_with('/'))
                .map(str::to_owned),
            verify_token: self.verify_token.as_deref().map(Secret::from),
            allowed_origins: self.allowed_origins.clone(),
            allow: self.allow.iter().filter_map(|text| network(text).ok()).collect(),
            ..Settings::default()
        }
    }

    /// Nothing but empty texts is "no secret yet"; an empty one among others is a fault of its own.
    fn secrets(&self) -> Vec<Secret> {
        let texts = self.secrets.clone().unwrap_or_else(|| self.secret.clone().into_iter().collect());
        if texts.iter().all(String::is_empty) {
            return Vec::new();
        }
        texts.iter().map(|text| Secret::from(text.as_str())).collect()
    }

    /// Its `config`, or else its `provider`, with the tolerance laid over.
    fn verifier(&self) -> Value {
        let mut over = Map::new();
        if let Some(key) = &self.public_key {
            over.insert("public_key".into(), json!(key));
        }
        if let Some(pem) = &self.cert_pem {
            over.insert("certificate".into(), json!(pem));
        }
        // One that cannot be read is told by the verifier, whose list it is.
        if self.allow.iter().any(|text| network(text).is_err()) {
            over.insert("allow".into(), json!(self.allow));
        }
        if let Some(limits) = self.limits().filter(|_| self.has_time()) {
            over.insert("timestamp".into(), limits);
        }
        match (&self.config, &self.provider) {
            (Some(Value::Object(config)), _) => {
                let mut config = config.clone();
                for (key, value) in over {
                    match (config.get_mut(&key), value) {
                        (Some(Value::Object(inner)), Value::Object(more)) => inner.extend(more),
                        (_, value) => {
                            config.insert(key, value);
                        }
                    }
                }
                Value::Object(config)
            }
            (Some(other), _) => other.clone(),
            (None, Some(provider)) => {
                over.insert("preset".into(), json!(provider));
                Value::Object(over)
            }
            (None, None) => Value::Null,
        }
    }

    /// A tolerance means nothing to a scheme without a time.
    fn has_time(&self) -> bool {
        let verifier = match (&self.config, &self.provider) {
            (Some(config), _) => config.clone(),
            (None, provider) => json!(provider),
        };
        let plan = super::plan::resolve(&verifier, "verifier");
        plan.is_ok_and(|plan| plan.tables().iter().any(|table| table.map.contains_key("timestamp")))
    }

    fn limits(&self) -> Option<Value> {
        let mut limits = Map::new();
        if let Some(tolerance) = &self.tolerance {
            limits.insert("max_age".into(), tolerance.clone());
            limits.insert("max_future".into(), tolerance.clone());
        }
        if let Some(future) = &self.max_future {
            limits.insert("max_future".into(), future.clone());
        }
        (!limits.is_empty()).then_some(Value::Object(limits))
    }
}
