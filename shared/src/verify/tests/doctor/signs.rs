//! What is told without a signature that matches: what is missing, the time, and guesses.

use super::*;

#[test]
fn a_test_event_under_a_live_secret_is_pointed_out_but_not_claimed() {
    let request = sent(&json!("stripe"), "whsec_of_test_mode_x", br#"{"id":"evt_1","livemode":false}"#, URL);
    let diagnosis = examined(&settings(json!("stripe"), "whsec_of_live_mode_x"), &request);
    assert!(!diagnosis.certain);
    assert!(diagnosis.reasons.iter().any(|reason| reason.contains("test mode event")), "{diagnosis:?}");
    assert!(diagnosis.reasons.last().unwrap().starts_with("I do not know"));
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
