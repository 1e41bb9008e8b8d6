//! Handshakes, and what they refuse.

use crate::Secret;
use crate::verify::recorded::Parts;
use crate::verify::{ChallengeAnswer, Reason, Settings, Verdict, Verifier};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;

const NOW: OffsetDateTime = datetime!(2023-11-14 22:13:20 UTC);

/// A request without a body or with one; `headers` are `Name: value`.
fn request(method: &str, target: &str, headers: &[&str], body: &str) -> Parts {
    let split = |line: &&str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    };
    Parts {
        method: method.into(),
        target: target.into(),
        headers: headers.iter().map(split).collect(),
        body: body.as_bytes().to_vec(),
        remote_addr: None,
    }
}

fn settings(verifier: Value, secrets: &[&str]) -> Settings {
    Settings {
        verifier,
        secrets: secrets.iter().map(|secret| Secret::from(*secret)).collect(),
        verify_token: Some("verify-me".into()),
        allowed_origins: vec!["sender.example".into()],
        ..Settings::default()
    }
}

fn verdict<'p>(settings: &Settings, parts: &'p Parts) -> Verdict<'p> {
    Verifier::compile(settings).unwrap().verifier.verify(&parts.request(), NOW)
}

fn answer(settings: &Settings, parts: &Parts) -> ChallengeAnswer {
    match verdict(settings, parts) {
        Verdict::Challenge(answer) => answer,
        other => panic!("{other:?}"),
    }
}

fn refused(settings: &Settings, parts: &Parts) -> Reason {
    match verdict(settings, parts) {
        Verdict::Refused(refusal) => refusal.reason,
        other => panic!("{other:?}"),
    }
}

const ECHOES: [(&str, &str, &str, &str, usize); 3] = [
    ("meta", "GET", "hub.challenge", "&hub.verify_token=verify-me", 500),
    ("dropbox", "GET", "challenge", "", 500),
    ("microsoft_graph", "POST", "validationToken", "", 2000),
];

#[test]
fn echoes_are_plain_text_that_is_not_sniffed() {
    for (preset, method, name, more, _) in ECHOES {
        let parts = request(method, &format!("/in?{name}=abc%3Cb%3E{more}"), &[], "");
        let answer = answer(&settings(json!(preset), &["secret"]), &parts);
        assert_eq!(answer.body, b"abc<b>", "{preset}");
        assert_eq!(answer.kind, "echo");
        for line in [("content-type", "text/plain"), ("x-content-type-options", "nosniff")] {
            assert!(
                answer.headers.contains(&(line.0.into(), line.1.into())),
                "{preset}: {:?}",
                answer.headers
            );
        }
    }
}

#[test]
fn echoes_are_bounded_and_without_control_characters() {
    for (preset, method, name, more, most) in ECHOES {
        let settings = settings(json!(preset), &["secret"]);
        let at = |value: &str| request(method, &format!("/in?{name}={value}{more}"), &[], "");
        assert_eq!(answer(&settings, &at(&"a".repeat(most))).body.len(), most, "{preset}");
        for bad in ["", "a%0D%0Ab", "a%00b", "%ff", &"a".repeat(most + 1)] {
            assert_eq!(refused(&settings, &at(bad)), Reason::Malformed, "{preset} {bad}");
        }
    }
}

#[test]
fn echoes_are_answered_by_their_method_only() {
    for (preset, method, name, more, _) in ECHOES {
        let other = if method == "GET" { "POST" } else { "GET" };
        let parts = request(other, &format!("/in?{name}=abc{more}"), &[], "");
        assert_eq!(refused(&settings(json!(preset), &["secret"]), &parts), Reason::MissingHeader, "{preset}");
    }
    let crc = request("POST", "/in?crc_token=abc", &[], "");
    assert_eq!(refused(&settings(json!("x_twitter"), &["secret"]), &crc), Reason::MissingHeader);
}

#[test]
fn meta_asks_with_the_verify_token() {
    let mut settings = settings(json!("meta"), &["secret"]);
    let at = |token: &str| request("GET", &format!("/in?hub.challenge=1&hub.verify_token={token}"), &[], "");
    assert_eq!(answer(&settings, &at("verify-me")).body, b"1");
    for wrong in ["verify-mf", "verify-me2", "", "Verify-Me"] {
        assert_eq!(refused(&settings, &at(wrong)), Reason::BadSignature, "{wrong}");
    }
    settings.verify_token = None;
    let compiled = Verifier::compile(&settings).unwrap();
    assert!(compiled.warnings.iter().any(|warning| warning.contains("verify_token")));
    assert_eq!(refused(&settings, &at("")), Reason::BadSignature);
}

/// The answer is the same HMAC as a body's signature: whatever looks like a body must not be signed.
#[test]
fn x_does_not_sign_what_could_be_an_event() {
    let settings = settings(json!("x_twitter"), &["secret"]);
    let at = |token: &str| request("GET", &format!("/in?crc_token={token}"), &[], "");
    assert_eq!(answer(&settings, &at("abc-123_x")).kind, "hmac");
    assert!(answer(&settings, &at(&"a".repeat(500))).body.starts_with(b"{\"response_token\":\"sha256="));
    for bad in ["%7B%22a%22%3A1%7D", "%5B1%5D", "a%20b", "a%22", "a%5Cb", "%7D", "%5D", "", &"a".repeat(501)]
    {
        assert_eq!(refused(&settings, &at(bad)), Reason::Malformed, "{bad}");
    }
}

#[test]
fn braintree_signs_twenty_to_thirty_two_hex_digits_only() {
    let settings = settings(json!({"preset": "braintree", "public_key": "pub"}), &["private"]);
    let at = |text: &str| request("GET", &format!("/in?bt_challenge={text}"), &[], "");
    for good in ["0123456789abcdef0123", "0123456789abcdef0123456789abcdef"] {
        assert!(answer(&settings, &at(good)).body.starts_with(b"pub|"), "{good}");
    }
    for bad in [
        "0123456789abcdef012",
        "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123",
        "PG5vdGlmaWNhdGlvbj4K",
    ] {
        assert_eq!(refused(&settings, &at(bad)), Reason::Malformed, "{bad}");
    }
    let posted = request("POST", "/in?bt_challenge=0123456789abcdef0123", &[], "");
    assert_eq!(refused(&settings, &posted), Reason::MissingHeader);
}

#[test]
fn zoom_and_slack_answer_only_what_is_signed() {
    let zoom =
        request("POST", "/in", &[], r#"{"event":"endpoint.url_validation","payload":{"plainToken":"x"}}"#);
    assert_eq!(refused(&settings(json!("zoom"), &["secret"]), &zoom), Reason::MissingHeader);
    let slack = request("POST", "/in", &[], r#"{"type":"url_verification","challenge":"x"}"#);
    assert_eq!(refused(&settings(json!("slack"), &["secret"]), &slack), Reason::MissingHeader);
}

#[test]
fn what_is_put_into_a_json_answer_is_escaped() {
    let scheme = json!({
        "type": "token", "from": "header:X-Token",
        "challenge": [{
            "when": {"header": "X-Ask"}, "signed": false,
            "respond": {"headers": {"Content-Type": "application/json"}, "body": "{\"got\":\"{header:X-Ask}\"}"},
        }],
    });
    let parts = request("POST", "/in", &[r#"X-Ask: a","admin":"\"#], "");
    let answer = answer(&settings(scheme, &["secret"]), &parts);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body, json!({"got": r#"a","admin":"\"#}));
}

#[test]
fn a_secret_is_taken_only_while_there_is_none() {
    let asana = request("POST", "/in", &["X-Hook-Secret: captured"], "");
    let notion = request("POST", "/in", &[], r#"{"verification_token":"captured"}"#);
    for (preset, parts) in [("asana", &asana), ("notion", &notion)] {
        let answer = answer(&settings(json!(preset), &[]), parts);
        assert_eq!(answer.store_secret, Some("captured".into()), "{preset}");
        assert_eq!(answer.kind, "store_secret");
        assert_eq!(refused(&settings(json!(preset), &["known"]), parts), Reason::MissingHeader, "{preset}");
    }
    let echoed = answer(&settings(json!("asana"), &[]), &asana);
    assert_eq!((echoed.status, echoed.headers), (204, vec![("X-Hook-Secret".into(), "captured".into())]));
}

#[test]
fn an_operator_can_open_the_door_for_another_secret() {
    let parts = request("POST", "/in", &["X-Hook-Secret: second"], "");
    let mut settings = settings(json!("asana"), &["first"]);
    settings.handshake_until = Some(NOW + time::Duration::minutes(10));
    assert_eq!(answer(&settings, &parts).store_secret, Some("second".into()));
    settings.handshake_until = Some(NOW);
    assert_eq!(refused(&settings, &parts), Reason::MissingHeader);
}

#[test]
fn a_source_that_waits_for_its_secret_says_so_and_verifies_nothing() {
    let settings = settings(json!("notion"), &[]);
    assert!(Verifier::compile(&settings).unwrap().warnings.iter().any(|w| w.contains("handshake")));
    let signature = format!("X-Notion-Signature: sha256={}", "00".repeat(32));
    let event = request("POST", "/in", &[&signature], "{}");
    let Verdict::Refused(refusal) = verdict(&settings, &event) else { panic!("not refused") };
    assert_eq!(refusal.reason, Reason::ConfigError);
    assert!(refusal.detail.contains("waits for the handshake"), "{}", refusal.detail);
}

#[test]
fn cloud_events_senders_are_let_in_by_origin() {
    let mut settings = settings(json!("cloudevents"), &["token"]);
    let ask = |headers: &[&str]| request("OPTIONS", "/in", headers, "");
    let origin = "WebHook-Request-Origin: sender.example";
    let got = answer(&settings, &ask(&[origin, "WebHook-Request-Rate: 120"]));
    let has = |name: &str, value: &str| got.headers.contains(&(name.into(), value.into()));
    assert!(has("WebHook-Allowed-Origin", "sender.example") && has("WebHook-Allowed-Rate", "120"));
    assert!(has("Allow", "POST"));
    assert_eq!(got.kind, "origin");
    for other in ["WebHook-Request-Origin: sender.example.evil", "WebHook-Request-Origin: SENDER.example"] {
        assert_eq!(refused(&settings, &ask(&[other])), Reason::BadSignature);
    }
    assert_eq!(refused(&settings, &ask(&[])), Reason::MissingHeader);
    assert_eq!(refused(&settings, &request("POST", "/in", &[origin], "")), Reason::MissingHeader);
    settings.allowed_origins = vec!["*".into()];
    assert_eq!(answer(&settings, &ask(&["WebHook-Request-Origin: anyone.example"])).status, 200);
}

#[test]
fn an_unsigned_hmac_answer_without_a_restriction_does_not_compile() {
    let scheme = json!({
        "type": "hmac", "signature": "header:X-Sig", "signed": "{body}",
        "challenge": [{
            "when": {"query": "ask"}, "signed": false,
            "respond": {"body": "{hmac_hex:query:ask}"},
        }],
    });
    let faults = Verifier::compile(&settings(scheme, &["secret"])).unwrap_err();
    assert_eq!(faults[0].key, "verifier.challenge[0].accept");
}

#[test]
fn slack_ssl_check_is_answered_as_a_form_only() {
    let settings = settings(json!("slack"), &["secret"]);
    let form = "Content-Type: application/x-www-form-urlencoded";
    assert_eq!(answer(&settings, &request("POST", "/in", &[form], "ssl_check=1")).status, 200);
    assert_eq!(refused(&settings, &request("POST", "/in", &[form], "ssl_check=2")), Reason::MissingHeader);
    let json = "Content-Type: application/json";
    assert_eq!(refused(&settings, &request("POST", "/in", &[json], "ssl_check=1")), Reason::MissingHeader);
}
