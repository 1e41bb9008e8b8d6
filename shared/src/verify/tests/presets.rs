//! What each preset answers, limits and reads, against `tests/vectors/presets.json`, which was
//! written down from the providers' documentation and not from the presets.

use crate::Secret;
use crate::verify::recorded::Parts;
use crate::verify::{Dedupe, Settings, Verifier, preset, presets};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Debug, Deserialize)]
struct Expected {
    answers: BTreeMap<String, Answer>,
    reads: Vec<Read>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    /// Status, content type, body.
    ack: (u16, Option<String>, String),
    /// For each alternative the oldest and the furthest ahead, in seconds.
    limits: Vec<Option<(Option<i64>, Option<i64>)>>,
    body_size_limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Read {
    preset: String,
    alternative: usize,
    headers: Vec<(String, String)>,
    json: Option<Value>,
    form: Option<Vec<(String, String)>>,
    #[serde(default)]
    id: Vec<String>,
    event_type: Option<String>,
}

static EXPECTED: LazyLock<Expected> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../tests/vectors/presets.json")).unwrap());

impl Read {
    fn parts(&self) -> Parts {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let mut headers: Vec<(Vec<u8>, Vec<u8>)> =
            self.headers.iter().map(|(n, v)| (bytes(n), bytes(v))).collect();
        let mut body = self.json.as_ref().map(Value::to_string).unwrap_or_default();
        if let Some(form) = &self.form {
            headers.push((bytes("content-type"), bytes("application/x-www-form-urlencoded")));
            body = form.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join("&");
        }
        Parts {
            method: "POST".into(),
            target: "/".into(),
            headers,
            body: body.into_bytes(),
            remote_addr: None,
        }
    }

    fn complaint(&self, verifier: &Verifier) -> Option<String> {
        let parts = self.parts();
        let got = verifier.read(self.alternative, &parts.request());
        let ids = match &got.dedupe {
            Dedupe::Id => got.delivery_id.iter().map(|id| id.to_string()).collect(),
            Dedupe::Ids(ids) => ids.clone(),
            Dedupe::SignedContent(_) | Dedupe::Body => Vec::new(),
        };
        let fits = ids == self.id && got.event_type.as_deref() == self.event_type.as_deref();
        (!fits).then(|| format!("{self:?}: got {got:?}"))
    }
}

/// Settings under which any preset compiles.
pub(super) fn settings(verifier: Value) -> Settings {
    let mut settings = Settings {
        verifier,
        base_url: Some("https://relay.example".into()),
        allow: vec!["192.0.2.0/24".parse().unwrap()],
        ..Settings::default()
    };
    for secret in SECRETS {
        settings.secrets = vec![Secret::from(secret)];
        if Verifier::compile(&settings).is_ok() {
            break;
        }
    }
    settings
}

/// Settings under which a preset compiles, whatever else it needs.
pub(super) fn settings_of(name: &str) -> Settings {
    let preset = preset(name).unwrap();
    let mut settings = settings(json!({"preset": name}));
    match preset.verifier["type"].as_str() {
        Some("braintree") => settings.verifier["public_key"] = json!("pub"),
        Some("basic") => settings.secrets = vec![Secret::from("user:password-long-enough")],
        _ => {}
    }
    settings
}

/// One of these fits any scheme: 64 hex digits, base64 after a prefix, a public key, a JWK, a pair.
const SECRETS: [&str; 6] = [
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whpk_ZlN4eg7dSSqi0moX9hQUk3orrOouK3QVQSlJa248c/g=",
    "89cd7489bf665a36667ba46dfd521ca6713fd2f9ad842835340b244e98355f2a",
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQ4LIFtWztlsF7skFqOncjD1lun4H5w8XOhyOArHW9RcIx/FfEzx6cikC/yPfUvwaX/JScE7Fc9CJD2afQ9Ok3Q==",
    r#"{"kty":"EC","crv":"P-256","x":"jIq8rKonyFSXWAJb6uoOv2X9OcozNFDwg9Q1ZpJzgPU","y":"xn5L11iWwDm60gkErvfxEOogT319z2UlytMXQ-to6Ls"}"#,
];

fn verifier_of(value: &Value) -> Result<Verifier, String> {
    let mut value = value.clone();
    if value["type"] == "braintree" {
        value["public_key"] = json!("pub");
    }
    let mut settings = settings(value);
    if settings.verifier["type"] == "basic" {
        settings.secrets = vec![Secret::from("user:password-long-enough")];
    }
    Verifier::compile(&settings).map(|compiled| compiled.verifier).map_err(|faults| format!("{faults:?}"))
}

/// Everything that differs from what is written down for a preset, when `value` stands in its place.
pub(super) fn complaints(name: &str, value: &Value) -> Vec<String> {
    let verifier = match verifier_of(value) {
        Ok(verifier) => verifier,
        Err(faults) => return vec![faults],
    };
    let mut complaints: Vec<String> = EXPECTED
        .reads
        .iter()
        .filter(|read| read.preset == name)
        .filter_map(|read| read.complaint(&verifier))
        .collect();
    let answer = &EXPECTED.answers[name];
    let ack = verifier.ack();
    let body = String::from_utf8_lossy(&ack.body).into_owned();
    // Without a preset's name a scheme counts as one's own, whose default is 202.
    let status = if value["ack"]["status"].is_null() { 200 } else { ack.status };
    let got = (status, ack.content_type.clone(), body);
    if got != answer.ack {
        complaints.push(format!("ack {got:?}, not {:?}", answer.ack));
    }
    if verifier.body_size_limit() != answer.body_size_limit {
        complaints.push(format!("body_size_limit {:?}", verifier.body_size_limit()));
    }
    let limits = verifier.limits();
    let wanted: Vec<(Option<i64>, Option<i64>)> =
        answer.limits.iter().map(|limits| limits.unwrap_or_default()).collect();
    if limits != wanted {
        complaints.push(format!("limits {limits:?}, not {wanted:?}"));
    }
    complaints
}

#[test]
fn every_preset_answers_limits_and_reads_what_is_written_down() {
    for preset in presets().filter(|preset| preset.alias_of.is_none()) {
        let complaints = complaints(preset.name, preset.verifier);
        assert!(complaints.is_empty(), "{}:\n{}", preset.name, complaints.join("\n"));
    }
}

#[test]
fn every_preset_is_acknowledged_as_written_down() {
    for preset in presets() {
        let name = preset.alias_of.unwrap_or(preset.name);
        let settings = settings_of(preset.name);
        let verifier = Verifier::compile(&settings).unwrap().verifier;
        assert_eq!(verifier.ack().status, EXPECTED.answers[name].ack.0, "{}", preset.name);
        assert_eq!(verifier.preset(), Some(preset.name));
    }
    assert!(preset("nobody").is_none());
}
