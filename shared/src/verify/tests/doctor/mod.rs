//! The doctor finds each of the usual mistakes, and says so when it finds none.

mod request;
mod settings;
mod signs;

use crate::Secret;
use crate::verify::doctor::{Case, Diagnosis, examine};
use crate::verify::recorded::Parts;
use crate::verify::{Message, Settings, Signer};
use serde_json::{Value, json};
use std::io::Write as _;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

const NOW: OffsetDateTime = datetime!(2023-11-14 22:13:20 UTC);
const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SECRET: &str = "a-shared-secret-of-some-length";
const URL: &str = "https://relay.example/ingest/test";
const BODY: &[u8] = br#"{"id":"evt_1","list":[1,2],"name":"Zo\u00eb"}"#;

/// A request as the provider sends it.
fn sent(verifier: &Value, secret: &str, body: &[u8], url: &str) -> Parts {
    let message = Message { method: "POST", url, body, id: "msg_1", event_type: None, now: NOW };
    let signed = Signer::new(verifier, &Secret::from(secret)).unwrap().sign(&message).unwrap();
    let pair = |(name, value): &(String, String)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    Parts {
        method: "POST".into(),
        target: "/ingest/test".into(),
        headers: signed.headers.iter().map(pair).collect(),
        body: signed.body.unwrap_or_else(|| body.to_vec()),
        remote_addr: None,
    }
}

fn settings(verifier: Value, secret: &str) -> Settings {
    Settings {
        verifier,
        secrets: vec![Secret::from(secret)],
        base_url: Some("https://relay.example".into()),
        ..Settings::default()
    }
}

fn at(now: OffsetDateTime, settings: &Settings, request: &Parts) -> Diagnosis {
    let others = [("other-source".to_owned(), Secret::from("secret-of-the-other-source"))];
    let diagnosis = examine(&Case { settings, request, now, others: &others });
    says_nothing_secret(&diagnosis, settings, request);
    diagnosis
}

fn examined(settings: &Settings, request: &Parts) -> Diagnosis {
    at(NOW, settings, request)
}

/// No secret, and nothing that is only found by computing a signature.
fn says_nothing_secret(diagnosis: &Diagnosis, settings: &Settings, request: &Parts) {
    let said = diagnosis.reasons.join("\n");
    for secret in &settings.secrets {
        assert!(!said.contains(secret.expose().trim()), "{said}");
    }
    assert!(!said.contains("secret-of-the-other-source"), "{said}");
    for (_, value) in &request.headers {
        let value = String::from_utf8_lossy(value);
        assert!(value.len() < 20 || !said.contains(&*value), "{said}");
    }
}

/// The first reason has these words, and it is certain.
#[track_caller]
fn assert_found(diagnosis: &Diagnosis, verdict: &str, words: &str) {
    assert_eq!(diagnosis.verdict, verdict, "{diagnosis:?}");
    assert!(diagnosis.certain && diagnosis.reasons[0].contains(words), "{diagnosis:?}");
}

fn github() -> Value {
    json!("github")
}

fn said(verifier: Value, headers: &[(&str, &str)], body: &[u8]) -> String {
    let pair = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let request = Parts {
        method: "POST".into(),
        target: "/in".into(),
        headers: headers.iter().map(pair).collect(),
        body: body.to_vec(),
        remote_addr: None,
    };
    examined(&settings(verifier, SECRET), &request).reasons.join(" ")
}

#[test]
fn a_genuine_request_is_said_to_be_one() {
    let diagnosis = examined(&settings(github(), SECRET), &sent(&github(), SECRET, BODY, URL));
    assert_found(&diagnosis, "ok", "matches");
}

#[test]
fn nothing_is_said_to_match_that_the_scheme_does_not_have() {
    let token = json!("telegram");
    let words = said(token, &[("X-Telegram-Bot-Api-Secret-Token", SECRET)], b"{}");
    assert!(
        words.contains("token in header") && !words.contains("ignature") && !words.contains("time"),
        "{words}"
    );
    let signed = examined(&settings(json!("slack"), SECRET), &sent(&json!("slack"), SECRET, BODY, URL));
    assert!(signed.reasons[0].contains("the time is within limits"), "{signed:?}");
}

#[test]
fn a_forgery_is_not_explained_away() {
    for preset in ["github", "stripe", "slack", "standard_webhooks", "shopify", "square", "twilio", "netlify"]
    {
        let secret = if preset == "standard_webhooks" {
            "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
        } else {
            "forged-by-someone-else"
        };
        let request = sent(&json!(preset), secret, BODY, URL);
        let own = if preset == "standard_webhooks" { WHSEC } else { SECRET };
        let diagnosis = examined(&settings(json!(preset), own), &request);
        assert!(!diagnosis.certain, "{preset}: {diagnosis:?}");
        assert!(diagnosis.reasons.last().unwrap().starts_with("I do not know"), "{preset}: {diagnosis:?}");
    }
}
