//! Mistakes in the scheme: another key encoding, signature encoding, digest, unit or provider.

use super::{Case, Trial, with_keys};
use crate::verify::plan;
use crate::verify::presets;
use crate::verify::settings::Settings;
use serde_json::{Value, json};

/// The source's own scheme with one key changed.
pub(super) fn trials(case: &Case<'_>) -> Vec<Trial> {
    let settings = case.settings;
    let mut trials = Vec::new();
    let mut add = |keys: &[(&str, Value)], meaning: String| {
        trials.extend(with_keys(settings, keys).map(|settings| Trial::settings(settings, meaning)));
    };
    for (key, how) in KEYS {
        let key: Value = serde_json::from_str(key).unwrap_or_default();
        add(
            &[("key", key)],
            format!("The secret is turned into a key in another way: it matches when {how}."),
        );
    }
    for (encoding, name) in [("hex", "hexadecimal"), ("base64", "base64"), ("base64url", "URL-safe base64")] {
        add(
            &[("encoding", json!(encoding))],
            format!("The signature is written in {name}, and the scheme expects another encoding."),
        );
    }
    for hash in ["sha1", "sha256", "sha384", "sha512"] {
        add(
            &[("algorithm", json!(hash))],
            format!("It is signed with {}, and the scheme expects another digest.", hash.to_uppercase()),
        );
    }
    add(
        &[("require", Value::Null)],
        "The signature is right, and something that the scheme requires besides is not as it should be."
            .into(),
    );
    add(
        &[("prefix", Value::Null)],
        "The token is right, and what has to stand in front of it, such as `Bearer `, is missing.".into(),
    );
    for (format, what) in FORMATS {
        add(&[("format", json!(format))], format!("The signature header {what}, unlike this scheme's."));
    }
    trials
}

/// The scheme with its time in another unit.
pub(super) fn units(case: &Case<'_>) -> Vec<Trial> {
    let units = [("s", "seconds"), ("ms", "milliseconds"), ("rfc3339", "text (RFC 3339)")];
    let trial = |(unit, name): (&str, &str)| {
        let settings = with_keys(case.settings, &[("timestamp", json!({"unit": unit}))])?;
        let meaning = format!("The timestamp is in {name}, and the scheme expects another unit.");
        Some(Trial::settings(settings, meaning))
    };
    units.into_iter().filter_map(trial).collect()
}

/// Ways to make a key of a secret.
const KEYS: [(&str, &str); 5] = [
    (
        r#"{"strip_prefix": [], "encoding": "utf8"}"#,
        "the whole text is the key, its prefix included and nothing decoded",
    ),
    (
        r#"{"strip_prefix": ["v1,whsec_", "whsec_"], "encoding": "base64"}"#,
        "the secret is decoded from base64 first (without `whsec_`)",
    ),
    (
        r#"{"strip_prefix": ["v1,whsec_", "whsec_"], "encoding": "utf8"}"#,
        "`whsec_` is removed and the rest is used as text",
    ),
    (r#"{"strip_prefix": [], "encoding": "base64"}"#, "the secret is decoded from base64 first"),
    (r#"{"strip_prefix": [], "encoding": "hex"}"#, "the secret is decoded from hexadecimal digits first"),
];

const FORMATS: [(&str, &str); 3] = [
    ("{sig}", "is the bare signature"),
    ("sha256={sig}", "begins with `sha256=`"),
    ("sha1={sig}", "begins with `sha1=`"),
];

/// Other providers' schemes under this source's secrets.
pub(super) fn of_others(case: &Case<'_>) -> Vec<Trial> {
    let own = plan::resolve(&case.settings.verifier, "verifier").ok();
    let own = own.as_ref().and_then(|plan| plan.tables().first().and_then(|table| table.preset));
    presets::presets()
        .filter(|preset| preset.alias_of.is_none() && Some(preset.name) != own && is_signed(preset.verifier))
        .map(|preset| {
            let settings = Settings { verifier: json!(preset.name), ..case.settings.clone() };
            let meaning = format!("It is signed as {} signs: set `verifier: {}`.", preset.title, preset.name);
            Trial::settings(settings, meaning)
        })
        .collect()
}

/// Only a signature proves anything: a token or an address would match by chance of configuration.
fn is_signed(verifier: &Value) -> bool {
    let first = verifier.get(0).unwrap_or(verifier);
    matches!(first["type"].as_str(), Some("hmac" | "hash" | "jws" | "twilio" | "adyen" | "contentful"))
}
