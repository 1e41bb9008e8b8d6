//! A request written down as JSON, with what is needed to check it again: the form of the test
//! vectors and of what `hooksctl signature explain` reads.
//!
//! `method`, `url`, `headers` (a list of pairs) and `body_base64` are the request. `provider` or
//! `config`, `secret` or `secrets`, `now`, `tolerance`, `max_future`, `public_key`, `verify_token`,
//! `cert_pem`, `allowed_origins`, `allow` and `remote_addr` are the settings and the moment.

use super::encoding::Encoding;
use super::settings::Settings;
use super::{Request, address};
use crate::Secret;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use time::OffsetDateTime;

#[derive(Debug, Clone, Deserialize)]
pub struct Recorded {
    #[serde(default = "post")]
    pub method: String,
    /// The public address, or path and query.
    pub url: Option<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
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
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    #[serde(default)]
    pub allow: Vec<String>,
    pub remote_addr: Option<IpAddr>,
}

fn post() -> String {
    "POST".into()
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
            target: self.url.as_deref().map_or("/", address::path_of).to_owned(),
            headers: self.headers.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
            body,
            remote_addr: self.remote_addr,
        })
    }

    /// The moment to check at, if it says one.
    pub fn moment(&self) -> Option<OffsetDateTime> {
        let nanos = self.now.filter(|now| now.abs() < 1e12)? * 1e9;
        OffsetDateTime::from_unix_timestamp_nanos(nanos as i128).ok()
    }

    /// The source's settings as far as the record has them.
    ///
    /// # Errors
    /// When an address of `allow` is none.
    pub fn settings(&self) -> Result<Settings, String> {
        let secrets = self.secrets.clone().unwrap_or_else(|| self.secret.clone().into_iter().collect());
        let is_absolute = |url: &String| url.contains("://");
        Ok(Settings {
            verifier: self.verifier(),
            secrets: secrets
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| Secret::from(text.as_str()))
                .collect(),
            public_url: self.url.clone().filter(is_absolute),
            verify_token: self.verify_token.as_deref().map(Secret::from),
            allowed_origins: self.allowed_origins.clone(),
            allow: self.allow.iter().map(|text| network(text)).collect::<Result<_, _>>()?,
            ..Settings::default()
        })
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

fn network(text: &str) -> Result<ipnet::IpNet, String> {
    text.parse::<ipnet::IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(ipnet::IpNet::from))
        .map_err(|_| format!("`{text}` is not an address or a network"))
}
