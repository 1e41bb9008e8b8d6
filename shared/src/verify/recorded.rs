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

/// A verifier with keys replaced; in tables, key by key.
fn laid_over(verifier: &Value, keys: Map<String, Value>) -> Value {
    let mut table = match verifier {
        Value::Object(table) => table.clone(),
        Value::String(name) if !keys.is_empty() => Map::from_iter([("preset".into(), json!(name))]),
        other => return other.clone(),
    };
    for (key, value) in keys {
        match (table.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => inner.extend(more),
            (_, value) => drop(table.insert(key, value)),
        }
    }
    Value::Object(table)
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

/// What stands at each key.
const KEYS: [(&str, &str); 17] = [
    ("method", "a text"),
    ("url", "a text"),
    ("headers", "a list of pairs of texts, [[name, value], …]"),
    ("body_base64", "a text"),
    ("provider", "a text"),
    ("config", "a verifier"),
    ("secret", "a text"),
    ("secrets", "a list of texts"),
    ("now", "a number of seconds since 1970"),
    ("tolerance", "a number of seconds, or null"),
    ("max_future", "a number of seconds, or null"),
    ("public_key", "a text"),
    ("verify_token", "a text"),
    ("cert_pem", "a text"),
    ("allowed_origins", "a list of texts"),
    ("allow", "a list of texts"),
    ("remote_addr", "a text"),
];

impl Recorded {
    /// Reads the JSON of a record.
    ///
    /// # Errors
    /// What is wrong with it, and at which key. Values are left out: they may be secrets.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| format!("not JSON: {error}"))?;
        let Value::Object(record) = value else { return Err("must be one JSON object".into()) };
        let fault = || {
            let alone = |key: &str| record.get(key).map(|value| json!({key: value}));
            let is_wrong = |key: &str| alone(key).is_some_and(|record| Self::deserialize(record).is_err());
            match KEYS.iter().find(|(key, _)| is_wrong(key)) {
                Some((key, wanted)) => format!("`{key}` must be {wanted}"),
                None => "its keys cannot be read".to_owned(),
            }
        };
        let recorded = Self::deserialize(Value::Object(record.clone())).map_err(|_| fault())?;
        match (recorded.now, recorded.moment()) {
            (Some(_), None) => Err("`now` is out of range".into()),
            _ => Ok(recorded),
        }
    }

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

    /// Its `config`, or else its `provider`, with what stands beside it laid over.
    fn verifier(&self) -> Value {
        match (&self.config, &self.provider) {
            // Which of the alternatives a key is meant for cannot be told, but for a time.
            (Some(Value::Array(ways)), _) => {
                ways.iter().map(|way| laid_over(way, self.limits_of(way).into_iter().collect())).collect()
            }
            (Some(config), _) => laid_over(config, self.beside(config)),
            (None, Some(provider)) => {
                let named = json!({"preset": provider});
                laid_over(&named, self.beside(&named))
            }
            (None, None) => Value::Null,
        }
    }

    /// The keys of a verifier that a record has beside it.
    fn beside(&self, verifier: &Value) -> Map<String, Value> {
        let mut keys = Map::new();
        if let Some(key) = &self.public_key {
            keys.insert("public_key".into(), json!(key));
        }
        if let Some(pem) = &self.cert_pem {
            keys.insert("certificate".into(), json!(pem));
        }
        // One that cannot be read is told by the verifier, whose list it is.
        if self.allow.iter().any(|text| network(text).is_err()) {
            keys.insert("allow".into(), json!(self.allow));
        }
        keys.extend(self.limits_of(verifier));
        keys
    }

    /// A tolerance means nothing to a scheme without a time.
    fn limits_of(&self, verifier: &Value) -> Option<(String, Value)> {
        let plan = super::plan::resolve(verifier, "verifier").ok()?;
        let has_time = plan.tables().iter().any(|table| table.map.contains_key("timestamp"));
        self.limits().filter(|_| has_time).map(|limits| ("timestamp".into(), limits))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_key_and_no_value() {
        for (record, told) in [
            (json!({"secrets": "topsecret"}), "`secrets` must be a list of texts"),
            (json!({"method": "POST", "secret": {"x": "topsecret"}}), "`secret` must be a text"),
            (
                json!({"headers": [["topsecret"]]}),
                "`headers` must be a list of pairs of texts, [[name, value], …]",
            ),
            (json!({"now": 1e300}), "`now` is out of range"),
            (json!([]), "must be one JSON object"),
        ] {
            assert_eq!(Recorded::read(record.to_string().as_bytes()).unwrap_err(), told, "{record}");
        }
        assert!(Recorded::read(b"{").unwrap_err().starts_with("not JSON: "));
        assert!(Recorded::read(br#"{"method": null, "more": 1}"#).is_ok());
    }

    #[test]
    fn what_stands_beside_a_verifier_counts_however_it_is_named() {
        let beside = json!({"public_key": "p", "cert_pem": "c", "tolerance": 10});
        let verifier = |config: Value| {
            let mut record = beside.clone();
            record["config"] = config;
            Recorded::read(record.to_string().as_bytes()).unwrap().settings().verifier
        };
        let limits = json!({"max_age": 10, "max_future": 10});
        let whole = json!({"preset": "stripe", "public_key": "p", "certificate": "c", "timestamp": limits});
        assert_eq!(verifier(json!("stripe")), whole);
        assert_eq!(verifier(json!({"preset": "stripe"})), whole);
        assert_eq!(
            verifier(json!(["stripe", "github"])),
            json!([{"preset": "stripe", "timestamp": limits}, "github"])
        );
    }
}
