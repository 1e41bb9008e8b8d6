//! What a push subscription is, as operators write it, and what can be wrong with it.

use super::destination::{Policy, Refused, Resolver, Unusable};
use super::error::FieldFault;
use crate::Secret;
use crate::config::RetrySchedule;
use crate::verify::{self, Signer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Where a new subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// After the newest event.
    #[default]
    Latest,
    /// After this sequence; 0 is everything that is kept.
    After(i64),
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        match Value::deserialize(deserializer)? {
            Value::String(text) if text == "latest" => Ok(Start::Latest),
            Value::Number(number) if number.as_i64().is_some_and(|n| n >= 0) => {
                Ok(Start::After(number.as_i64().unwrap_or_default()))
            }
            _ => Err(D::Error::custom("must be `latest` or a sequence")),
        }
    }
}

impl Serialize for Start {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Start::Latest => serializer.serialize_str("latest"),
            Start::After(sequence) => serializer.serialize_i64(*sequence),
        }
    }
}

/// A subscription to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSubscription {
    pub name: String,
    pub source: String,
    pub url: String,
    #[serde(default)]
    pub start: Start,
    /// `hooks`, `standard_webhooks`, or the preset in whose scheme requests are signed.
    #[serde(default = "default_signing")]
    pub signing: String,
    /// The signing secret; made where none is given.
    #[serde(default, skip_serializing)]
    pub secret: Option<String>,
    #[serde(default = "default_in_flight")]
    pub max_in_flight: i32,
    /// Requests a second.
    #[serde(default)]
    pub rate: Option<f32>,
    /// One at a time, in the order of the log.
    #[serde(default)]
    pub ordered: bool,
    /// `park` or `stop`: what an ordered subscription does when a delivery has failed for good.
    #[serde(default = "default_on_failure")]
    pub on_failure: String,
    #[serde(default)]
    pub preserve_method: bool,
    #[serde(default)]
    pub forward_credentials: bool,
    /// Bytes of each response that are kept, at most 1,024.
    #[serde(default)]
    pub record_response: i32,
    /// `{schedule: […]}` or `{max_attempts, initial, factor, cap}`; the service's own where absent.
    #[serde(default)]
    pub retry: Option<Value>,
}

/// Changes to a subscription; what is absent stays. `rate` and `retry` are taken away by null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Patch {
    pub name: Option<String>,
    pub url: Option<String>,
    pub signing: Option<String>,
    pub max_in_flight: Option<i32>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub rate: Option<Option<f32>>,
    pub ordered: Option<bool>,
    pub on_failure: Option<String>,
    pub preserve_method: Option<bool>,
    pub forward_credentials: Option<bool>,
    pub record_response: Option<i32>,
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub retry: Option<Option<Value>>,
}

impl Patch {
    /// What is changed, for the audit. Of a URL only scheme, host and path: the rest may be a credential of the receiver.
    pub fn told(&self) -> Value {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(self) else { return Value::Null };
        fields.retain(|name, value| !value.is_null() || matches!(name.as_str(), "rate" | "retry"));
        if let Some(mut url) = self.url.as_deref().and_then(|url| url::Url::parse(url).ok()) {
            url.set_query(None);
            url.set_fragment(None);
            // Only addresses without a host have none of these to take away.
            let _ = (url.set_username(""), url.set_password(None));
            fields.insert("url".to_owned(), Value::from(url.to_string()));
        }
        Value::Object(fields)
    }
}

/// Tells null from absent.
fn given<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(d).map(Some)
}

fn default_signing() -> String {
    "hooks".to_owned()
}

fn default_in_flight() -> i32 {
    10
}

fn default_on_failure() -> String {
    "park".to_owned()
}

impl NewSubscription {
    /// One with the defaults.
    pub fn new(name: &str, source: &str, url: &str) -> Self {
        Self {
            name: name.to_owned(),
            source: source.to_owned(),
            url: url.to_owned(),
            start: Start::Latest,
            signing: default_signing(),
            secret: None,
            max_in_flight: default_in_flight(),
            rate: None,
            ordered: false,
            on_failure: default_on_failure(),
            preserve_method: false,
            forward_credentials: false,
            record_response: 0,
            retry: None,
        }
    }

    /// All that is wrong with it. Names are resolved, so that a private destination is refused at once; a name that
    /// does not resolve yet is not.
    pub async fn faults(&self, policy: &Policy, resolver: &Arc<dyn Resolver>) -> Vec<FieldFault> {
        let mut faults = self.faults_in_writing();
        faults.extend(destination_fault(&self.url, policy, resolver).await);
        faults
    }

    /// What can be told from the text alone.
    pub fn faults_in_writing(&self) -> Vec<FieldFault> {
        let patch = Patch {
            name: Some(self.name.clone()),
            signing: Some(self.signing.clone()),
            max_in_flight: Some(self.max_in_flight),
            rate: Some(self.rate),
            on_failure: Some(self.on_failure.clone()),
            record_response: Some(self.record_response),
            retry: Some(self.retry.clone()),
            ..Patch::default()
        };
        let mut faults = patch.faults_in_writing();
        if let Some(secret) = &self.secret {
            faults.extend(secret_fault(secret));
        }
        faults
    }
}

impl Patch {
    /// All that is wrong with it.
    pub async fn faults(&self, policy: &Policy, resolver: &Arc<dyn Resolver>) -> Vec<FieldFault> {
        let mut faults = self.faults_in_writing();
        if let Some(url) = &self.url {
            faults.extend(destination_fault(url, policy, resolver).await);
        }
        faults
    }

    /// What can be told from the text alone.
    pub fn faults_in_writing(&self) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        let mut expect = |holds: bool, field: &str, message: &str| {
            if !holds {
                faults.push(FieldFault::new(field, message));
            }
        };
        let is = |text: &Option<String>, test: &dyn Fn(&str) -> bool| text.as_deref().is_none_or(test);
        let in_flight = self.max_in_flight.is_none_or(|n| (1..=1000).contains(&n));
        expect(in_flight, "max_in_flight", "must be from 1 to 1000");
        let rate = self.rate.flatten().is_none_or(|rate| rate.is_finite() && rate > 0.0 && rate <= 100_000.0);
        expect(rate, "rate", "must be a number of requests a second above 0");
        let on_failure = is(&self.on_failure, &|text| matches!(text, "park" | "stop"));
        expect(on_failure, "on_failure", "must be park or stop");
        let kept = self.record_response.is_none_or(|n| (0..=1024).contains(&n));
        expect(kept, "record_response", "must be from 0 to 1024 bytes");
        let told = [
            ("name", self.name.as_deref().map(crate::name::check)),
            ("signing", self.signing.as_deref().map(check_signing)),
        ];
        for (field, verdict) in told {
            if let Some(Err(message)) = verdict {
                faults.push(FieldFault::new(field, message));
            }
        }
        if let Some(Some(retry)) = &self.retry
            && let Err((place, message)) = RetrySchedule::from_value(retry)
        {
            let field = if place.is_empty() { "retry".to_owned() } else { format!("retry.{place}") };
            faults.push(FieldFault { field, message });
        }
        faults
    }
}

/// Whether there is such a signing scheme.
pub fn check_signing(name: &str) -> Result<(), String> {
    if name == "hooks" || verify::preset(name).is_some() {
        return Ok(());
    }
    Err(format!("`{name}` is not a signing scheme: use hooks, standard_webhooks or a preset that can sign"))
}

/// Whether requests can be signed so with this secret.
pub(super) fn signing_fault(name: &str, secret: &Secret) -> Option<FieldFault> {
    if matches!(name, "hooks" | "standard_webhooks") {
        return None;
    }
    let faults = Signer::new(&Value::String(name.to_owned()), secret).err()?;
    let messages: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
    Some(FieldFault::new(
        "signing",
        format!("`{name}` cannot sign with this secret: {}", messages.join("; ")),
    ))
}

fn secret_fault(secret: &str) -> Option<FieldFault> {
    let fits = (16..=512).contains(&secret.len()) && secret.chars().all(|c| c.is_ascii_graphic());
    (!fits).then(|| FieldFault::new("secret", "must be 16 to 512 printable ASCII characters without spaces"))
}

async fn destination_fault(url: &str, policy: &Policy, resolver: &Arc<dyn Resolver>) -> Option<FieldFault> {
    let refused = |refused: Refused| Some(FieldFault::new("url", refused.to_string()));
    if url.len() > 2048 {
        return Some(FieldFault::new("url", "is longer than 2048 bytes"));
    }
    let url = match policy.check_url(url) {
        Ok(url) => url,
        Err(error) => return refused(error),
    };
    match policy.resolve(&url, resolver).await {
        Err(Unusable::Refused(error)) => refused(error),
        Ok(_) | Err(Unusable::Unresolved { .. }) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimal_definition_gets_the_defaults() {
        let text = r#"{"name": "n", "source": "s", "url": "https://example.com"}"#;
        let read: NewSubscription = serde_json::from_str(text).expect("read");
        assert_eq!(read, NewSubscription::new("n", "s", "https://example.com"));
        assert!(read.faults_in_writing().is_empty());
        assert!(serde_json::from_str::<NewSubscription>(r#"{"name": "n", "sources": "s"}"#).is_err());
        let from = |start: &str| serde_json::from_str::<Start>(start).ok();
        assert_eq!((from("0"), from("\"latest\"")), (Some(Start::After(0)), Some(Start::Latest)));
        assert_eq!((from("-1"), from("\"oldest\"")), (None, None));
    }

    #[test]
    fn null_takes_away_and_absence_leaves() {
        let read = |text| serde_json::from_str::<Patch>(text).expect("read");
        assert_eq!(read(r#"{"rate": null}"#).rate, Some(None));
        assert_eq!(read(r#"{"rate": 2.5}"#).rate, Some(Some(2.5)));
        assert_eq!(read("{}").rate, None);
    }

    #[test]
    fn every_fault_is_told_by_its_field() {
        let bad = NewSubscription {
            max_in_flight: 0,
            rate: Some(-1.0),
            on_failure: "panic".into(),
            record_response: 5000,
            signing: "morse".into(),
            secret: Some("short".into()),
            retry: Some(serde_json::json!({"schedule": ["5 minutes"]})),
            ..NewSubscription::new("", "s", "https://example.com")
        };
        let faults = bad.faults_in_writing();
        let mut fields: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        fields.sort_unstable();
        let expected = [
            "max_in_flight",
            "name",
            "on_failure",
            "rate",
            "record_response",
            "retry.schedule[0]",
            "secret",
            "signing",
        ];
        assert_eq!(fields, expected);
    }
}
