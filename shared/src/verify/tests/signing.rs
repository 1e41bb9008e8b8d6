//! What is signed for a preset verifies under that preset.

use crate::Secret;
use crate::verify::recorded::Parts;
use crate::verify::{Message, Reason, Settings, Signed, Signer, Verdict, Verifier, presets};
use serde_json::{Value, json};
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

const NOW: OffsetDateTime = datetime!(2023-11-14 22:13:20 UTC);
const URL: &str = "https://relay.example/ingest/test?x=1";

/// A secret that a preset's scheme can use.
pub(super) fn secret_for(preset: &str) -> Secret {
    Secret::from(match preset {
        "adyen" | "adyen_platform" => "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
        "contentful" => "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "postmark" | "generic_basic" => "hook:a-long-enough-password",
        _ => "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    })
}

/// A body that every scheme can put its signature into.
pub(super) fn body(text: &str) -> Vec<u8> {
    let item =
        json!({"NotificationRequestItem": {"pspReference": text, "amount": {"currency": "EUR", "value": 5}}});
    json!({"id": "evt_1", "type": "x.y", "value": [{"n": 1}, {"n": 2}], "notificationItems": [item], "name": text})
        .to_string()
        .into_bytes()
}

pub(super) fn settings_for(preset: &str) -> Settings {
    let verifier = match preset {
        "braintree" => json!({"preset": "braintree", "public_key": "pub"}),
        other => json!(other),
    };
    Settings {
        verifier,
        secrets: vec![secret_for(preset)],
        base_url: Some("https://relay.example".into()),
        ..Settings::default()
    }
}

/// The request that results from signing; nothing for schemes that only the provider can sign.
pub(super) fn signed_request(preset: &str) -> Option<Parts> {
    let signer = Signer::new(&settings_for(preset).verifier, &secret_for(preset)).ok()?;
    let body = body("Zoë");
    let message =
        Message { method: "POST", url: URL, body: &body, id: "msg_1", event_type: Some("x.y"), now: NOW };
    Some(request_of(signer.sign(&message).unwrap(), &body))
}

/// A request to [`URL`] with a signature on it.
pub(super) fn request_of(signed: Signed, body: &[u8]) -> Parts {
    let mut target = "/ingest/test?x=1".to_owned();
    for (name, value) in &signed.query {
        target.push_str(&format!("&{name}={value}"));
    }
    let headers = signed.headers.iter().chain(&signed.defaults);
    Parts {
        method: "POST".into(),
        target,
        headers: headers.map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())).collect(),
        body: signed.body.unwrap_or_else(|| body.to_vec()),
        remote_addr: None,
    }
}

/// The presets that can be signed for.
pub(super) fn signable() -> Vec<&'static str> {
    presets().map(|preset| preset.name).filter(|name| !NOT_SIGNABLE.contains(name)).collect()
}

/// Presets that sign with a private key or not at all.
const NOT_SIGNABLE: [&str; 10] = [
    "aws_sns",
    "discord",
    "discord_interaction",
    "generic_ip_allowlist",
    "ip",
    "paypal",
    "plaid",
    "sendgrid",
    "sns",
    "standard_webhooks_v1a",
];

#[test]
fn every_preset_with_a_shared_secret_can_be_signed_for() {
    for preset in presets() {
        let Some(parts) = signed_request(preset.name) else {
            assert!(NOT_SIGNABLE.contains(&preset.name), "{} cannot be signed for", preset.name);
            continue;
        };
        let verifier = Verifier::compile(&settings_for(preset.name)).unwrap().verifier;
        let verdict = verifier.verify(&parts.request(), NOW);
        assert!(matches!(verdict, Verdict::Ok(_)), "{}: {verdict:?} for {parts:?}", preset.name);
    }
}

#[test]
fn a_signed_time_is_reported_and_limited() {
    for preset in
        ["standard_webhooks", "stripe", "slack", "linear", "box", "zendesk", "mailgun", "contentful"]
    {
        let parts = signed_request(preset).unwrap();
        let verifier = Verifier::compile(&settings_for(preset)).unwrap().verifier;
        let Verdict::Ok(verified) = verifier.verify(&parts.request(), NOW) else { panic!("{preset}") };
        assert_eq!(verified.timestamp, Some(NOW), "{preset}");
        let late = verifier.verify(&parts.request(), NOW + Duration::days(2));
        assert!(matches!(late, Verdict::Refused(refusal) if refusal.reason == Reason::Stale), "{preset}");
    }
}

#[test]
fn signing_needs_a_secret_of_the_right_kind() {
    let fault =
        |verifier: Value, secret: &str| Signer::new(&verifier, &Secret::from(secret)).unwrap_err().remove(0);
    assert_eq!(fault(json!("adyen_platform"), "not hex").key, "secret");
    assert_eq!(fault(json!("discord"), "00").key, "verifier.type");
    assert_eq!(fault(json!("nobody"), "x").key, "verifier");
}

#[test]
fn a_signer_of_settings_takes_the_secret_and_the_address_of_its_verifier() {
    let own = json!({"preset": "square", "secret": "own", "url": "https://own.example/in?a=1"});
    let settings = |verifier: Value, public_url: Option<&str>| Settings {
        verifier,
        public_url: public_url.map(str::to_owned),
        ..settings_for("square")
    };
    for (settings, address) in [
        (settings(own, Some("https://source.example/in")), "https://own.example/in?a=1"),
        (settings(json!("square"), Some("https://source.example/in")), "https://source.example/in"),
        (settings(json!("square"), None), "https://relay.example/ingest/test"),
    ] {
        let signer = Signer::of(&settings).unwrap();
        let url = signer.address("/ingest/test").unwrap();
        assert_eq!(url, address);
        let body = body("x");
        let message =
            Message { method: "POST", url: &url, body: &body, id: "msg_1", event_type: None, now: NOW };
        let signed = signer.sign(&message).unwrap();
        let request = Parts { target: "/ingest/test".into(), ..request_of(signed, &body) };
        let verifier = Verifier::compile(&settings).unwrap().verifier;
        assert_eq!(verifier.verify(&request.request(), NOW).word(), "ok", "{address}");
    }
    let none = Settings { secrets: Vec::new(), ..settings_for("square") };
    assert_eq!(Signer::of(&none).unwrap_err()[0].key, "secrets");
    assert_eq!(Signer::new(&json!("square"), &secret_for("square")).unwrap().address("/"), None);
}
