//! What must hold for any request: nothing panics, what is signed verifies, and nothing verifies
//! with one bit of it changed.

use super::presets::settings_of;
use super::signing::{secret_for, settings_for, signable};
use crate::Secret;
use crate::verify::doctor::{Case, examine};
use crate::verify::recorded::Parts;
use crate::verify::{Message, Settings, Signer, Verdict, Verifier, preset, presets};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use std::sync::LazyLock;
use time::{Duration, OffsetDateTime};

const URL: &str = "https://relay.example/ingest/test?x=1";

/// A compiled verifier of every preset.
static ALL: LazyLock<Vec<(&'static str, Verifier)>> = LazyLock::new(|| {
    let compile = |name: &'static str| (name, Verifier::compile(&settings_of(name)).unwrap().verifier);
    presets().filter(|preset| preset.alias_of.is_none()).map(|preset| compile(preset.name)).collect()
});

/// Every header, query and form name that a preset knows, so that made-up requests come near.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut names = vec!["Content-Type".to_owned(), "X-Twilio-Webhooks-Signature-Settings".to_owned()];
    for preset in presets() {
        let text = preset.verifier.to_string();
        for kind in ["header:", "query:", "form:"] {
            let found = text.split(kind).skip(1).filter_map(|rest| rest.split(['"', '}', '|']).next());
            names.extend(found.map(|name| name.replace("{n", "1")));
        }
    }
    names.extend(["bt_signature", "bt_payload", "bodySHA256", "PAYPAL-TRANSMISSION-SIG"].map(str::to_owned));
    names
});

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..60),
        "[ -~]{0,80}".prop_map(String::into_bytes),
        "(t=|ts=|v1=|v0=|v1,|sha256=|h1=|Basic |Bearer )?[0-9a-f]{0,64}([,; ]v1=[0-9a-f]{0,8})?"
            .prop_map(String::into_bytes),
        "-?[0-9]{0,21}".prop_map(String::into_bytes),
        "[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}".prop_map(String::into_bytes),
        Just(b"application/x-www-form-urlencoded".to_vec()),
    ]
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => select(NAMES.clone()).prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..20),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let json = prop_oneof![
        Just(json!({"signature": {"timestamp": "1", "token": "t", "signature": "00"}})),
        Just(
            json!({"notificationItems": [{"NotificationRequestItem": {"additionalData": {"hmacSignature": "AA=="}}}]})
        ),
        Just(json!({"Type": "Notification", "Signature": "AA==", "SignatureVersion": "1", "Timestamp": "x"})),
        Just(json!({"value": [{"clientState": 1}, null, 7], "webhookTimestamp": 1.5e300})),
        any::<f64>().prop_map(|number| json!([number, {"a": [[[]]]}])),
    ];
    prop_oneof![
        vec(any::<u8>(), 0..200),
        json.prop_map(|value: Value| value.to_string().into_bytes()),
        "([a-z_]{0,12}=[%+0-9A-Za-z]{0,12}&?){0,6}".prop_map(String::into_bytes),
    ]
}

prop_compose! {
    fn request()(
        method in select(vec!["GET", "POST", "OPTIONS", "PUT", "HEAD", ""]),
        target in "(/[ -~]{0,20})?(\\?([a-zA-Z_.]{0,14}=[ -~]{0,20}&?){0,4})?",
        headers in vec((name(), value()), 0..8),
        body in body(),
    ) -> Parts {
        Parts { method: method.into(), target, headers, body, remote_addr: None }
    }
}

fn moment() -> impl Strategy<Value = OffsetDateTime> {
    (0_i64..4_000_000_000).prop_map(|seconds| OffsetDateTime::from_unix_timestamp(seconds).unwrap())
}

/// Any value of the configuration, from the words that the form knows.
fn configured() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        select(vec![
            "hmac",
            "ed25519",
            "hash",
            "jws",
            "token",
            "basic",
            "sha256",
            "HS256",
            "header:X-A",
            "query:q",
            "json:/a/*/b",
            "form:f",
            "claim:c",
            "signature",
            "{body}",
            "{timestamp}.{body}",
            "{secret}{url}",
            "t={timestamp},v1={sig}",
            "{sig}",
            ",",
            " ",
            "hex",
            "base64",
            "jwk",
            "s",
            "ms",
            "stripe",
            "all",
        ])
        .prop_map(|word| json!(word)),
        "[ -~]{0,12}".prop_map(|text| json!(text)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        Just(Value::Null),
    ];
    let key = select(vec![
        "type",
        "algorithm",
        "signature",
        "split",
        "format",
        "encoding",
        "signed",
        "timestamp",
        "from",
        "unit",
        "max_age",
        "id",
        "id_join",
        "event_type",
        "require",
        "at",
        "equals",
        "only_if",
        "prefix",
        "claims",
        "body_hash",
        "challenge",
        "when",
        "respond",
        "status",
        "headers",
        "body",
        "accept",
        "check",
        "url",
        "ack",
        "refuse",
        "key",
        "strip_prefix",
        "preset",
        "combine",
        "of",
        "header:X-A",
        "secrets",
        "store_secret",
    ]);
    word.prop_recursive(4, 40, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((key.clone(), inner), 0..8).prop_map(|pairs| {
                Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

/// The message that a preset's provider could send, with `text` in it.
fn signed(name: &str, secret: &Secret, text: &str, now: OffsetDateTime) -> Parts {
    let verifier = settings_for(name).verifier;
    let body = super::signing::body(text);
    let message =
        Message { method: "POST", url: URL, body: &body, id: "msg_1", event_type: Some("x.y"), now };
    super::signing::request_of(Signer::new(&verifier, secret).unwrap().sign(&message).unwrap(), &body)
}

fn verdict<'p>(name: &str, secret: Secret, parts: &'p Parts, now: OffsetDateTime) -> Option<Verdict<'p>> {
    let settings = Settings { secrets: vec![secret], ..settings_for(name) };
    Some(Verifier::compile(&settings).ok()?.verifier.verify(&parts.request(), now))
}

/// Another printable character, not the same letter in another case.
fn other(byte: u8, salt: u8) -> u8 {
    let choices: Vec<u8> = (b'!'..=b'~').filter(|c| !c.eq_ignore_ascii_case(&byte)).collect();
    choices[usize::from(salt) % choices.len()]
}

/// Schemes in which a changed byte of the body need not be a changed message: a form can be spelt
/// in several ways, and some sign only a part.
fn signs_every_byte(name: &str) -> bool {
    let verifier = Verifier::compile(&settings_for(name)).unwrap().verifier;
    verifier.summary().iter().all(|summary| summary.body_protected) && !matches!(name, "twilio" | "braintree")
}

/// The header that the signature stands in and that decides.
fn signature_header(name: &str, parts: &Parts) -> Option<usize> {
    let tables = preset(name)?.verifier;
    let table = if tables.is_array() { &tables[1] } else { tables };
    let source = table["signature"][0].as_str()?.strip_prefix("header:")?.replace("{n}", "1");
    parts.headers.iter().position(|(header, _)| header.eq_ignore_ascii_case(source.as_bytes()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_request_makes_a_verifier_panic_or_is_taken_for_genuine(parts in request(), now in moment()) {
        for (name, verifier) in ALL.iter() {
            let verdict = verifier.verify(&parts.request(), now);
            prop_assert!(!matches!(verdict, Verdict::Ok(_)), "{name}: {verdict:?}");
            let _ = verifier.wants(&parts.request());
        }
    }

    #[test]
    fn no_configuration_panics(value in configured(), parts in request(), now in moment()) {
        let settings = Settings { verifier: value.clone(), secrets: vec!["secret".into()], ..Settings::default() };
        if let Ok(compiled) = Verifier::compile(&settings) {
            let _ = compiled.verifier.verify(&parts.request(), now);
            let _ = compiled.verifier.summary();
        }
        let _ = crate::verify::max_age(&value);
        let _ = Signer::new(&value, &"secret".into());
    }

    #[test]
    fn what_is_signed_verifies(
        name in select(signable()), text in "\\PC{0,40}", now in moment(), late in -250_i64..250
    ) {
        let parts = signed(name, &secret_for(name), &text, now);
        // Contentful takes half a minute.
        let late = if name == "contentful" { late.clamp(0, 30) } else { late.clamp(-170, 170) };
        let got = verdict(name, secret_for(name), &parts, now + Duration::seconds(late));
        prop_assert!(matches!(got, Some(Verdict::Ok(_))), "{name}: {got:?}");
    }

    #[test]
    fn a_changed_bit_of_the_body_never_verifies(
        name in select(signable()), text in "[a-zA-Z0-9 ]{1,40}", at in any::<Index>(), bit in 0_u8..8, now in moment()
    ) {
        prop_assume!(signs_every_byte(name));
        let mut parts = signed(name, &secret_for(name), &text, now);
        let index = at.index(parts.body.len());
        parts.body[index] ^= 1 << bit;
        let got = verdict(name, secret_for(name), &parts, now);
        prop_assert!(!matches!(got, Some(Verdict::Ok(_))), "{name}: {got:?}");
    }

    #[test]
    fn a_changed_character_of_the_signature_never_verifies(
        name in select(signable()), text in "[a-z]{1,10}", at in any::<Index>(), salt in any::<u8>(), now in moment()
    ) {
        let mut parts = signed(name, &secret_for(name), &text, now);
        let Some(header) = signature_header(name, &parts) else { return Ok(()) };
        let value = &mut parts.headers[header].1;
        let index = at.index(value.len());
        value[index] = other(value[index], salt);
        let got = verdict(name, secret_for(name), &parts, now);
        prop_assert!(!matches!(got, Some(Verdict::Ok(_))), "{name}: {got:?}");
    }

    #[test]
    fn a_changed_character_of_the_secret_never_verifies(
        name in select(signable()), text in "[a-z]{1,10}", at in any::<Index>(), salt in any::<u8>(), now in moment()
    ) {
        let parts = signed(name, &secret_for(name), &text, now);
        let mut secret = secret_for(name).expose().as_bytes().to_vec();
        let index = at.index(secret.len());
        secret[index] = other(secret[index], salt);
        let secret = Secret::from(String::from_utf8(secret).unwrap());
        let got = verdict(name, secret, &parts, now);
        prop_assert!(!matches!(got, Some(Verdict::Ok(_))), "{name}: {got:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn no_request_makes_the_doctor_panic_or_certain_without_proof(
        parts in request(), name in select(vec!["github", "stripe", "slack", "square", "twilio", "netlify"]), now in moment()
    ) {
        let settings = Settings { base_url: Some("https://relay.example".into()), ..settings_for(name) };
        let diagnosis = examine(&Case { settings: &settings, request: &parts, now, others: &[] });
        prop_assert!(diagnosis.verdict != "ok");
        prop_assert!(diagnosis.verdict != "bad_signature" || !diagnosis.certain, "{diagnosis:?}");
    }
}
