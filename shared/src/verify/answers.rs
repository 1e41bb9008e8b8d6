//! What the provider is told: once its event is stored, and when its request is refused.

use super::fields::{Fields, Report};
use super::verdict::Reason;
use serde_json::Value;

/// The answer to a stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack {
    pub status: u16,
    pub content_type: Option<String>,
    pub body: Vec<u8>,
}

impl Ack {
    /// Named providers are told 200, the Standard Webhooks family and own schemes 202.
    pub(super) fn default_for(named_provider: bool) -> Self {
        Self { status: if named_provider { 200 } else { 202 }, content_type: None, body: Vec::new() }
    }

    /// Reads `{status, content_type, body}` over a default.
    pub(super) fn read(value: &Value, path: &str, base: Self, report: &Report) -> Self {
        let Value::Object(map) = value else {
            report.fault(path, "must be a table");
            return base;
        };
        let fields = Fields::new(path, map, report);
        let status = match fields.raw("status").map(Value::as_u64) {
            None => base.status,
            Some(Some(status @ 200..=299)) => u16::try_from(status).unwrap_or(base.status),
            Some(_) => {
                fields.fault("status", "must be from 200 to 299: a provider sends again after anything else");
                base.status
            }
        };
        let content_type = fields.text("content_type").map(str::to_owned).or(base.content_type);
        let body = fields.text("body").map(|text| text.as_bytes().to_vec()).unwrap_or(base.body);
        fields.finish();
        Self { status, content_type, body }
    }
}

/// Unless the source says otherwise.
pub(super) const REFUSE: u16 = 401;

/// Reads `{status}`. Not found, gone and redirects are what makes providers drop an endpoint.
pub(super) fn refuse_status(value: &Value, path: &str, report: &Report) -> u16 {
    let Value::Object(map) = value else {
        report.fault(path, "must be a table");
        return REFUSE;
    };
    let fields = Fields::new(path, map, report);
    let status = fields.raw("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    fields.finish();
    match status {
        Some(status @ 400..=599) if !matches!(status, 404 | 410) => status,
        _ => {
            report.fault(
                format!("{path}.status"),
                "must be from 400 to 599 and neither 404 nor 410: providers switch such an endpoint off",
            );
            REFUSE
        }
    }
}

/// The status of a refusal, given the source's own for bad requests.
pub(super) fn status_of(reason: Reason, refuse: u16) -> u16 {
    match reason {
        Reason::IpDenied => 403,
        Reason::ConfigError => 503,
        Reason::MissingHeader | Reason::Malformed | Reason::BadSignature | Reason::Stale | Reason::Future => {
            refuse
        }
    }
}

/// A number of bytes, or a text as elsewhere in the configuration.
pub(super) fn size(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Number(number) => return number.as_u64(),
        Value::String(text) => text,
        _ => return None,
    };
    crate::config::parse_size(text).ok()
}
