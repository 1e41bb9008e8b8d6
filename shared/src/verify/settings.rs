//! What a source's configuration says about verification, and what is found wrong with it.

use super::{KeyStore, Verifier};
use crate::Secret;
use ipnet::IpNet;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

/// The settings of one source. `Default` is an own scheme without anything, which does not compile.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// A preset's name, a table (perhaps with `preset`), a list of alternatives, or
    /// `{combine: all|any, of: […]}`.
    pub verifier: Value,
    /// Any one may match. Those captured in a handshake are put here too.
    pub secrets: Vec<Secret>,
    /// The source's own window; replaces the scheme's `max_age`, and its `max_future` unless that
    /// is written out. Zero counts as not set.
    pub skew_window: Option<Duration>,
    /// The window of a scheme that writes no `max_age` of its own; 300 seconds without it.
    pub default_skew: Option<Duration>,
    /// The source's whole address as the provider knows it.
    pub public_url: Option<String>,
    /// The relay's address; the request's path and query are appended.
    pub base_url: Option<String>,
    /// What the provider must repeat in an echo handshake (Meta).
    pub verify_token: Option<Secret>,
    /// Origins that may subscribe through the CloudEvents handshake; `*` is any.
    pub allowed_origins: Vec<String>,
    /// Senders that scheme `ip` lets in.
    pub allow: Vec<IpNet>,
    /// Replaces the scheme's answer to a stored event: `{status, content_type, body}`.
    pub ack: Option<Value>,
    /// Replaces the answer to a refused request: `{status}`.
    pub refuse: Option<Value>,
    /// Until then a handshake may replace the secret that is there.
    pub handshake_until: Option<OffsetDateTime>,
    /// Keys fetched from providers; without it only keys that are written down are known.
    pub keys: Option<Arc<KeyStore>>,
}

impl Settings {
    /// Every secret in them: the source's, the verify token, and those that tables have of their own.
    pub fn all_secrets(&self) -> Vec<Secret> {
        fn of_tables(value: &Value, found: &mut Vec<Secret>) {
            match value {
                Value::Array(list) => list.iter().for_each(|item| of_tables(item, found)),
                Value::Object(map) => {
                    for (key, value) in map {
                        match (key.as_str(), value) {
                            ("secret" | "secrets" | "verify_token", Value::String(text)) => {
                                found.push(Secret::from(text.as_str()));
                            }
                            ("secrets", Value::Array(list)) => {
                                found.extend(list.iter().filter_map(Value::as_str).map(Secret::from));
                            }
                            _ => of_tables(value, found),
                        }
                    }
                }
                _ => {}
            }
        }
        let mut found: Vec<Secret> = self.secrets.iter().chain(&self.verify_token).cloned().collect();
        of_tables(&self.verifier, &mut found);
        found
    }
}

/// One thing that is wrong, with the key it stands at, relative to the source (`verifier.signed`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub key: String,
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// A verifier that can be used, and what its owner should know about it.
#[derive(Debug)]
pub struct Compiled {
    pub verifier: Verifier,
    pub warnings: Vec<String>,
}
