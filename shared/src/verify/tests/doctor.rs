//! The doctor finds each of the usual mistakes, and says so when it finds none.

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

#[test]
fn a_genuine_request_is_said_to_be_one() {
    let diagnosis = examined(&settings(github(), SECRET), &sent(&github(), SECRET, BODY, URL));
    assert_found(&diagnosis, "ok", "matches");
}

#[test]
fn a_line_break_or_space_in_the_secret_is_found() {
    let request = sent(&github(), SECRET, BODY, URL);
    for (copied, words) in
        [("\n", "ends in a line break"), ("\r\n", "ends in a line break"), ("  ", "white space around")]
    {
        let diagnosis = examined(&settings(github(), &format!("{SECRET}{copied}")), &request);
        assert_found(&diagnosis, "bad_signature", words);
    }
    let request = sent(&github(), &format!("{SECRET}\n"), BODY, URL);
    assert_found(&examined(&settings(github(), SECRET), &request), "bad_signature", "lacks a line break");
}

#[test]
fn quotes_around_the_secret_are_found() {
    let request = sent(&github(), SECRET, BODY, URL);
    for quoted in [format!("\"{SECRET}\""), format!("'{SECRET}'")] {
        assert_found(&examined(&settings(github(), &quoted), &request), "bad_signature", "stands in quotes");
    }
}

#[test]
fn a_secret_that_cannot_be_decoded_for_its_quotes_is_found() {
    let request = sent(&json!("standard_webhooks"), WHSEC, BODY, URL);
    for copied in [format!("\"{WHSEC}\""), format!("{WHSEC}\n")] {
        let diagnosis = examined(&settings(json!("standard_webhooks"), &copied), &request);
        assert_eq!(diagnosis.verdict, "config_error");
        assert!(diagnosis.reasons[0].contains("matches without"), "{diagnosis:?}");
    }
}

#[test]
fn whsec_literal_and_decoded_are_told_apart() {
    let decoded = json!({"preset": "standard_webhooks"});
    let literal = json!({"preset": "standard_webhooks", "key": {"strip_prefix": [], "encoding": "utf8"}});
    let request = sent(&literal, WHSEC, BODY, URL);
    assert_found(&examined(&settings(decoded.clone(), WHSEC), &request), "bad_signature", "nothing decoded");
    let request = sent(&decoded, WHSEC, BODY, URL);
    assert_found(&examined(&settings(literal, WHSEC), &request), "bad_signature", "decoded from base64");
    // Stripe's secret is the whole text.
    let request = sent(&json!("stripe"), "whsec_test_secret_long", BODY, URL);
    let diagnosis = examined(&settings(json!("stripe"), "test_secret_long"), &request);
    assert_found(&diagnosis, "bad_signature", "lacks the `whsec_`");
}

#[test]
fn hexadecimal_against_base64_is_found() {
    let hex = json!({"type": "hmac", "signature": "header:X-Sig", "signed": "{body}"});
    let base64 =
        json!({"type": "hmac", "signature": "header:X-Sig", "signed": "{body}", "encoding": "base64"});
    let diagnosis = examined(&settings(hex.clone(), SECRET), &sent(&base64, SECRET, BODY, URL));
    assert_found(&diagnosis, "bad_signature", "written in base64");
    let diagnosis = examined(&settings(base64, SECRET), &sent(&hex, SECRET, BODY, URL));
    assert_found(&diagnosis, "bad_signature", "written in hexadecimal");
}

#[test]
fn another_digest_and_another_prefix_are_found() {
    let sha512 = json!({"preset": "github", "algorithm": "sha512"});
    let diagnosis = examined(&settings(github(), SECRET), &sent(&sha512, SECRET, BODY, URL));
    assert_found(&diagnosis, "bad_signature", "SHA512");
    let bare = json!({"preset": "github", "format": "{sig}"});
    let diagnosis = examined(&settings(github(), SECRET), &sent(&bare, SECRET, BODY, URL));
    assert_found(&diagnosis, "bad_signature", "bare signature");
}

#[test]
fn the_secret_of_another_source_is_found_and_named() {
    let request = sent(&github(), "secret-of-the-other-source", BODY, URL);
    assert_found(&examined(&settings(github(), SECRET), &request), "bad_signature", "source `other-source`");
}

#[test]
fn a_test_event_under_a_live_secret_is_pointed_out_but_not_claimed() {
    let request = sent(&json!("stripe"), "whsec_of_test_mode_x", br#"{"id":"evt_1","livemode":false}"#, URL);
    let diagnosis = examined(&settings(json!("stripe"), "whsec_of_live_mode_x"), &request);
    assert!(!diagnosis.certain);
    assert!(diagnosis.reasons.iter().any(|reason| reason.contains("test mode event")), "{diagnosis:?}");
    assert!(diagnosis.reasons.last().unwrap().starts_with("I do not know"));
}

fn changed_body(signed: &[u8], received: &[u8]) -> Diagnosis {
    let request = Parts { body: received.to_vec(), ..sent(&github(), SECRET, signed, URL) };
    examined(&settings(github(), SECRET), &request)
}

#[test]
fn a_body_that_was_written_again_is_found() {
    let value: Value = serde_json::from_slice(BODY).unwrap();
    let compact = value.to_string();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    assert_found(&changed_body(compact.as_bytes(), pretty.as_bytes()), "bad_signature", "compact form");
    assert_found(&changed_body(pretty.as_bytes(), compact.as_bytes()), "bad_signature", "indented by two");
    let python = br#"{"id": "evt_1", "list": [1, 2]}"#;
    assert_found(
        &changed_body(python, br#"{"id":"evt_1","list":[1,2]}"#),
        "bad_signature",
        "a space after each",
    );
    assert_found(&changed_body(BODY, compact.as_bytes()), "bad_signature", "non-ASCII characters escaped");
    assert_found(&changed_body(br#"{"u":"a\/b"}"#, br#"{"u":"a/b"}"#), "bad_signature", "slashes escaped");
}

#[test]
fn a_changed_line_break_is_found() {
    assert_found(&changed_body(b"{}\n", b"{}"), "bad_signature", "line break at its end, which is gone");
    assert_found(&changed_body(b"{}", b"{}\n"), "bad_signature", "without the line break");
    assert_found(&changed_body(b"a\nb", b"a\r\nb"), "bad_signature", "became CR LF");
    assert_found(&changed_body(b"a\r\nb", b"a\nb"), "bad_signature", "became LF");
}

#[test]
fn a_body_in_another_encoding_is_found() {
    assert_found(&changed_body("Zoë".as_bytes(), b"Zo\xeb"), "bad_signature", "became Latin-1");
    assert_found(&changed_body(b"Zo\xeb", "Zoë".as_bytes()), "bad_signature", "became UTF-8");
    let twice: String = "Zoë".bytes().map(char::from).collect();
    assert_found(&changed_body("Zoë".as_bytes(), twice.as_bytes()), "bad_signature", "a second time");
    assert_found(&changed_body(b"{}", b"\xef\xbb\xbf{}"), "bad_signature", "byte order mark");
}

#[test]
fn an_unpacked_body_is_found() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(BODY).unwrap();
    let packed = packer.finish().unwrap();
    assert_found(&changed_body(BODY, &packed), "bad_signature", "signed before compression");
    let mut request = Parts { body: BODY.to_vec(), ..sent(&github(), SECRET, &packed, URL) };
    request.headers.push((b"Content-Encoding".to_vec(), b"gzip".to_vec()));
    let diagnosis = examined(&settings(github(), SECRET), &request);
    assert!(diagnosis.reasons.iter().any(|reason| reason.contains("unpacked it")), "{diagnosis:?}");
}

fn address(signed: &str, relay: &str, target: &str, headers: &[(&str, &str)]) -> Diagnosis {
    let mut request = sent(&json!("square"), SECRET, BODY, signed);
    request.target = target.into();
    request.headers.extend(headers.iter().map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())));
    let settings = Settings { base_url: Some(relay.into()), ..settings(json!("square"), SECRET) };
    examined(&settings, &request)
}

#[test]
fn an_address_changed_by_a_proxy_is_found() {
    let relay = "https://relay.example";
    assert_found(
        &address("http://relay.example/in", relay, "/in", &[]),
        "bad_signature",
        "with http, not https",
    );
    assert_found(
        &address("https://relay.example/in/", relay, "/in", &[]),
        "bad_signature",
        "slash at the end",
    );
    let by_host = address("https://hooks.example/in", relay, "/in", &[("X-Forwarded-Host", "hooks.example")]);
    assert_found(&by_host, "bad_signature", "headers speak of");
    for (signed, header) in [
        ("https://hooks.example/in", ("Forwarded", "for=192.0.2.1;proto=https;host=\"hooks.example\"")),
        ("https://relay.example/given/in", ("X-Forwarded-Prefix", "/given")),
        ("https://relay.example/given?a=1", ("X-Original-URI", "/given?a=1")),
    ] {
        assert_found(&address(signed, relay, "/in", &[header]), "bad_signature", "headers speak of");
    }
    let port = address("https://relay.example:443/in", relay, "/in", &[]);
    assert_found(&port, "bad_signature", "its port written out");
    let stripped = address("https://relay.example/in", relay, "/prefix/in", &[]);
    assert_found(&stripped, "bad_signature", "first parts of its path");
    let queried = address("https://relay.example/in", relay, "/in?added=1", &[]);
    assert_found(&queried, "bad_signature", "without the query");
}

#[test]
fn the_address_that_a_verifier_names_is_the_one_that_is_compared() {
    let own = json!({"preset": "square", "url": "https://own.example/hooks"});
    let request = sent(&json!("square"), SECRET, BODY, "https://own.example/hooks/");
    let diagnosis = examined(&settings(own, SECRET), &request);
    assert_found(&diagnosis, "bad_signature", "slash at the end");
    assert!(diagnosis.reasons[0].contains("verifier's `url`"), "{diagnosis:?}");
}

#[test]
fn a_signature_without_its_time_or_id_is_not_called_unsigned() {
    for (preset, gone) in [
        ("standard_webhooks", "webhook-timestamp"),
        ("standard_webhooks", "webhook-id"),
        ("slack", "X-Slack-Request-Timestamp"),
    ] {
        let secret = if preset == "slack" { SECRET } else { WHSEC };
        let mut request = sent(&json!(preset), secret, BODY, URL);
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(gone.as_bytes()));
        let diagnosis = examined(&settings(json!(preset), secret), &request);
        assert_found(&diagnosis, "missing_header", gone);
        assert!(diagnosis.reasons[1].contains("signature itself is there"), "{diagnosis:?}");
        assert_eq!(diagnosis.reasons.len(), 2, "{diagnosis:?}");
    }
    // Signed in its body, so that no header is missed.
    assert!(!said(json!("aws_sns"), &[], b"{\"Type\":\"Notification\"}").contains("headers"));
}

#[test]
fn what_stands_beside_a_right_signature_is_told_apart_from_it() {
    let mut request = sent(&json!("box"), SECRET, BODY, URL);
    for (name, value) in &mut request.headers {
        if name.eq_ignore_ascii_case(b"box-signature-version") {
            *value = b"2".to_vec();
        }
    }
    let diagnosis = examined(&settings(json!("box"), SECRET), &request);
    assert_found(&diagnosis, "bad_signature", "The signature is right");
    assert!(diagnosis.reasons[1].contains("box-signature-version"), "{diagnosis:?}");
    // The same where the scheme is the source's own.
    let own = json!({"type": "hmac", "signature": "header:X-Sig", "signed": "{body}",
        "require": [{"at": "header:X-V", "equals": "1"}]});
    let request =
        sent(&json!({"type": "hmac", "signature": "header:X-Sig", "signed": "{body}"}), SECRET, BODY, URL);
    assert_found(&examined(&settings(own, SECRET), &request), "bad_signature", "The signature is right");
    let words = said(json!("cloudevents"), &[("Authorization", SECRET)], b"{}");
    assert!(words.starts_with("The token is right") && words.contains("`Bearer `"), "{words}");
}

#[test]
fn one_cause_is_told_once() {
    // Decoded with its prefix, text without: set down without it.
    let request = sent(&json!("openai"), WHSEC, BODY, URL);
    let bare = WHSEC.strip_prefix("whsec_").unwrap();
    let diagnosis = examined(&settings(json!("openai"), bare), &request);
    assert_found(&diagnosis, "bad_signature", "lacks the `whsec_`");
    assert_eq!(diagnosis.reasons.len(), 2, "{diagnosis:?}");
    let base64 = json!({"preset": "github", "encoding": "base64"});
    let diagnosis = examined(&settings(github(), SECRET), &sent(&base64, SECRET, BODY, URL));
    assert_found(&diagnosis, "bad_signature", "written in base64");
    assert_eq!(diagnosis.reasons.len(), 2, "{diagnosis:?}");
}

#[test]
fn a_verify_token_that_differs_is_no_matter_of_secrets() {
    let request = Parts {
        method: "GET".into(),
        target: "/in?hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong".into(),
        headers: Vec::new(),
        body: Vec::new(),
        remote_addr: None,
    };
    let meta =
        Settings { verify_token: Some(Secret::from("the-right-token")), ..settings(json!("meta"), SECRET) };
    let diagnosis = examined(&meta, &request);
    assert_found(&diagnosis, "bad_signature", "enter the same at the provider");
    assert_eq!(diagnosis.reasons.len(), 1, "{diagnosis:?}");
}

#[test]
fn a_missing_header_is_named_and_what_is_there_instead() {
    let request = sent(&json!("stripe"), SECRET, BODY, URL);
    let diagnosis = examined(&settings(github(), SECRET), &request);
    assert_found(&diagnosis, "missing_header", "X-Hub-Signature-256 is missing");
    assert!(diagnosis.reasons[1].contains("stripe"), "{diagnosis:?}");
    let unsigned = Parts { headers: vec![(b"Accept".to_vec(), b"*/*".to_vec())], ..request };
    let diagnosis = examined(&settings(github(), SECRET), &unsigned);
    assert!(diagnosis.reasons[1].contains("no secret is set there"), "{diagnosis:?}");
}

#[test]
fn a_doubled_header_is_named() {
    let mut request = sent(&json!("slack"), SECRET, BODY, URL);
    request.headers.push((b"x-slack-signature".to_vec(), b"v0=00".to_vec()));
    let diagnosis = examined(&settings(json!("slack"), SECRET), &request);
    assert_found(&diagnosis, "malformed", "twice");
}

#[test]
fn a_clock_that_is_off_is_told_in_seconds() {
    let slack = settings(json!("slack"), SECRET);
    let request = sent(&json!("slack"), SECRET, BODY, URL);
    let late = at(NOW + Duration::seconds(1234), &slack, &request);
    assert_found(&late, "stale", "1234 s");
    assert!(late.reasons[1].contains("clocks"));
    let early = at(NOW - Duration::seconds(1234), &slack, &request);
    assert_found(&early, "future", "1234 s");
}

#[test]
fn milliseconds_are_found() {
    let seconds = json!("slack");
    let millis = json!({"preset": "slack", "timestamp": {"unit": "ms"}});
    let diagnosis = examined(&settings(seconds.clone(), SECRET), &sent(&millis, SECRET, BODY, URL));
    assert_found(&diagnosis, "future", "signature is right");
    assert!(diagnosis.reasons[1].contains("in milliseconds"), "{diagnosis:?}");
    let diagnosis = examined(&settings(millis, SECRET), &sent(&seconds, SECRET, BODY, URL));
    assert_found(&diagnosis, "stale", "signature is right");
    assert!(diagnosis.reasons[1].contains("in seconds"), "{diagnosis:?}");
}

#[test]
fn a_time_in_another_unit_is_no_clocks_fault() {
    let slack = settings(json!("slack"), SECRET);
    let millis = json!({"preset": "slack", "timestamp": {"unit": "ms"}});
    let held_up = at(NOW + Duration::hours(3), &slack, &sent(&millis, SECRET, BODY, URL));
    assert_found(&held_up, "future", "signature is right");
    let words = &held_up.reasons[1];
    assert!(words.contains("in milliseconds") && words.contains("signed 10800 s (3 hours) ago"), "{words}");
    // Microseconds, which no scheme has.
    let body = [b"v0:1700000000000000:", BODY].concat();
    let own = json!({"type": "hmac", "signature": "header:X-Slack-Signature", "format": "v0={sig}", "signed": "{body}"});
    let mut request = Parts { body: BODY.to_vec(), ..sent(&own, SECRET, &body, URL) };
    request.headers.push((b"X-Slack-Request-Timestamp".to_vec(), b"1700000000000000".to_vec()));
    let micros = examined(&slack, &request);
    assert_found(&micros, "future", "signature is right");
    assert!(micros.reasons[1].contains("in another unit"), "{micros:?}");
}

#[test]
fn another_providers_scheme_is_found() {
    let mut request = sent(&json!("bitbucket"), SECRET, BODY, URL);
    request.headers.extend(sent(&github(), "another-secret-entirely", BODY, URL).headers);
    let diagnosis = examined(&settings(github(), SECRET), &request);
    assert_found(&diagnosis, "bad_signature", "verifier: bitbucket");
}

/// Slack and others answer some requests without any signature.
#[test]
fn a_handshake_that_anybody_may_ask_for_proves_nothing() {
    let form = [("Content-Type", "application/x-www-form-urlencoded"), ("X-Hub-Signature-256", "sha256=00")];
    let headers = form.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let asked = |method: &str, target: &str, body: &[u8]| Parts {
        method: method.into(),
        target: target.into(),
        headers: headers.to_vec(),
        body: body.to_vec(),
        remote_addr: None,
    };
    for request in [
        asked("POST", "/in", b"ssl_check=1"),
        asked("GET", "/in?challenge=abc&crc_token=abc&bt_challenge=0123456789abcdef0123", b""),
    ] {
        let diagnosis = examined(&settings(github(), SECRET), &request);
        assert_eq!(diagnosis.verdict, "bad_signature");
        assert!(!diagnosis.certain, "{diagnosis:?}");
        assert!(diagnosis.reasons.last().unwrap().starts_with("I do not know"), "{diagnosis:?}");
    }
    // A signed one does prove its secret.
    let zoom = br#"{"event":"endpoint.url_validation","payload":{"plainToken":"abc"}}"#;
    let request = sent(&json!("zoom"), SECRET, zoom, URL);
    let diagnosis = examined(&settings(json!("zoom"), &format!("{SECRET}\n")), &request);
    assert_found(&diagnosis, "bad_signature", "ends in a line break");
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
fn headers_of_other_schemes_are_known_whatever_their_kind() {
    for (name, preset) in [
        ("X-Gitlab-Token", "gitlab"),
        ("X-Twilio-Signature", "twilio"),
        ("x-contentful-signature", "contentful"),
        ("PAYPAL-TRANSMISSION-SIG", "paypal"),
        ("X-DocuSign-Signature-2", "docusign"),
        ("Plaid-Verification", "plaid"),
    ] {
        let words = said(github(), &[(name, "x")], b"{}");
        assert!(words.contains(preset) && !words.contains("None of its headers"), "{name}: {words}");
    }
    let words = said(github(), &[("X-Acme-Signature", "x")], b"{}");
    assert!(words.contains("Perhaps") && words.contains("in a way of its own"), "{words}");
}

#[test]
fn the_older_digest_is_spoken_of_only_where_it_is_one() {
    let older = "older SHA-1 header";
    assert!(said(github(), &[("X-Hub-Signature", "sha1=00")], b"{}").contains(older));
    // Bitbucket's is SHA-256, and not every source wants either.
    assert!(!said(github(), &[("X-Hub-Signature", "sha256=00")], b"{}").contains(older));
    assert!(!said(json!("stripe"), &[("X-Hub-Signature", "sha1=00")], b"{}").contains(older));
}

#[test]
fn a_body_is_called_unpacked_only_if_it_is_text() {
    let sent = |encoding: &str, body: &[u8]| {
        said(github(), &[("X-Hub-Signature-256", "sha256=00"), ("Content-Encoding", encoding)], body)
    };
    assert!(sent("br", b"{\"a\":1}\n").contains("unpacked it"));
    for (encoding, body) in [
        ("br", &b"\x0b\x02\x80{}\x03"[..]),
        ("zstd", b"\x28\xb5\x2f\xfd\x04"),
        ("deflate", b"\x78\x9c\xab\xae\x05\x00"),
        ("gzip", b"\x1f\x8b\x08\x00"),
        ("identity", b"{}"),
    ] {
        assert!(!sent(encoding, body).contains("unpacked"), "{encoding}");
    }
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
