//! Requests and settings that have only a part of what a scheme can ask for.

use crate::Secret;
use crate::verify::doctor::{self, Case};
use crate::verify::{Message, Parts, Settings, Signer, Verdict, Verifier};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::macros::datetime;

const NOW: OffsetDateTime = datetime!(2026-05-09 14:00 UTC);
const SECRET: &str = "0123456789abcdef0123";

fn signed(verifier: &Value) -> Parts {
    let signer = Signer::new(verifier, &Secret::from(SECRET)).unwrap();
    let (url, body) = ("https://r.example/in", b"{\"id\":1}");
    let message = Message { method: "POST", url, body, id: "one", event_type: None, now: NOW };
    let signed = signer.sign(&message).unwrap();
    let bytes = |(name, value): &(String, String)| (name.clone().into_bytes(), value.clone().into_bytes());
    Parts {
        method: "POST".into(),
        target: "/in".into(),
        headers: signed.headers.iter().chain(&signed.defaults).map(bytes).collect(),
        body: signed.body.unwrap_or_else(|| body.to_vec()),
        remote_addr: None,
    }
}

fn settings(verifier: Value) -> Settings {
    Settings { verifier, secrets: vec![Secret::from(SECRET)], ..Settings::default() }
}

fn verdict(settings: &Settings, parts: &Parts) -> Verdict<'static> {
    Verifier::compile(settings).unwrap().verifier.verify(&parts.request(), NOW).into_owned()
}

#[test]
fn a_signed_header_that_is_absent_is_named() {
    let settings = settings(json!({
        "type": "hmac", "signature": "header:X-Sig", "signed": "{header:X-Kind}.{body}",
    }));
    let empty = signed(&json!({"type": "hmac", "signature": "header:X-Sig", "signed": ".{body}"}));
    // One that the sender left out on purpose was signed as empty.
    assert_eq!(verdict(&settings, &empty).word(), "ok");
    let mut lost = signed(&json!({"type": "hmac", "signature": "header:X-Sig", "signed": "push.{body}"}));
    let Verdict::Refused(refusal) = verdict(&settings, &lost) else { panic!("accepted") };
    assert_eq!(refusal.reason.word(), "missing_header");
    assert!(refusal.detail.contains("header X-Kind"), "{}", refusal.detail);
    let found = doctor::examine(&Case { settings: &settings, request: &lost, now: NOW, others: &[] });
    assert!(found.reasons.iter().any(|reason| reason.contains("X-Kind")), "{:?}", found.reasons);
    lost.headers.push((b"x-kind".to_vec(), b"pull".to_vec()));
    assert_eq!(verdict(&settings, &lost).word(), "bad_signature");
    lost.headers.last_mut().unwrap().1 = b"push".to_vec();
    assert_eq!(verdict(&settings, &lost).word(), "ok");
}

/// A request with one body and the signature of another text.
fn signed_over(text: &[u8], body: &[u8]) -> Parts {
    let scheme = json!({"type": "hmac", "signature": "header:X-Sig", "signed": "{body}"});
    let signer = Signer::new(&scheme, &Secret::from(SECRET)).unwrap();
    let url = "https://r.example/in";
    let message = Message { method: "POST", url, body: text, id: "one", event_type: None, now: NOW };
    let made = signer.sign(&message).unwrap();
    let headers = made.headers.iter().map(|(n, v)| (n.clone().into_bytes(), v.clone().into_bytes()));
    Parts { headers: headers.collect(), body: body.to_vec(), ..signed(&scheme) }
}

fn signs(what: &str) -> Settings {
    settings(json!({"type": "hmac", "signature": "header:X-Sig", "signed": what}))
}

/// Numbers are signed as they are written, whatever a reader makes of them.
#[test]
fn a_number_of_the_body_is_signed_as_it_stands() {
    for number in ["1.50", "1E5", "12345678901234567890123", "-0.0", "7"] {
        let body = format!("{{\"a\":{{\"n\": {number} }},\"b\":1}}");
        let parts = signed_over(number.as_bytes(), body.as_bytes());
        assert_eq!(verdict(&signs("{json:/a/n}"), &parts).word(), "ok", "{number}");
    }
}

/// A signature over the empty text would be right for every body.
#[test]
fn a_signature_over_no_part_of_the_request_is_none() {
    let settings = signs("{form:payload}{form:kind}");
    for body in [&b"other=1"[..], b"", b"payload=&kind="] {
        let Verdict::Refused(refusal) = verdict(&settings, &signed_over(b"", body)) else {
            panic!("accepted")
        };
        assert_eq!(refusal.reason.word(), "missing_header", "{}", body.escape_ascii());
        assert!(refusal.detail.contains("form field payload"), "{}", refusal.detail);
    }
    // One of two is a part.
    assert_eq!(verdict(&settings, &signed_over(b"push", b"kind=push")).word(), "ok");
}

#[test]
fn only_the_version_that_signs_the_address_needs_one() {
    let at = |version: &str| {
        let (_, table) = [("v1", "{secret}{body}"), ("v2", "{secret}{method}{url}{body}")]
            .into_iter()
            .find(|(name, _)| *name == version)
            .unwrap();
        let mut parts = signed(&json!({
            "type": "hash", "signature": "header:X-HubSpot-Signature", "signed": table,
            "url": "https://r.example/in",
        }));
        parts.headers.push((b"x-hubspot-signature-version".to_vec(), version.as_bytes().to_vec()));
        parts
    };
    let mut settings = settings("hubspot_legacy".into());
    let warnings = Verifier::compile(&settings).unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.contains("public_url")), "{warnings:?}");
    assert_eq!(verdict(&settings, &at("v1")).word(), "ok");
    assert_eq!(verdict(&settings, &at("v2")).word(), "config_error");
    settings.public_url = Some("https://r.example/in".into());
    assert_eq!(verdict(&settings, &at("v1")).word(), "ok");
    assert_eq!(verdict(&settings, &at("v2")).word(), "ok");
}

#[test]
fn a_token_in_a_form_is_put_into_a_form() {
    let verifier = json!({"type": "token", "from": "form:token"});
    let mut parts = signed(&verifier);
    let settings = settings(verifier);
    assert_eq!(verdict(&settings, &parts).word(), "ok");
    assert!(
        parts.headers.contains(&(b"content-type".to_vec(), b"application/x-www-form-urlencoded".to_vec()))
    );
    parts.headers[0].1 = b"application/json".to_vec();
    assert_eq!(verdict(&settings, &parts).word(), "missing_header");
}

#[test]
fn a_time_beyond_64_bits_is_none() {
    let verifier = json!({
        "type": "hmac", "signature": "header:X-Sig", "signed": "{timestamp}.{body}",
        "timestamp": {"from": "header:X-Time", "max_future": null},
    });
    for (time, word) in [("99999999999999999999", "malformed"), ("9404976600000", "ok")] {
        let mut parts = signed(
            &json!({"type": "hmac", "signature": "header:X-Sig", "signed": format!("{time}.{{body}}")}),
        );
        parts.headers.push((b"x-time".to_vec(), time.as_bytes().to_vec()));
        assert_eq!(verdict(&settings(verifier.clone()), &parts).word(), word, "{time}");
    }
}

/// Providers take these for an endpoint that is gone, and switch it off.
#[test]
fn a_refusal_never_says_that_the_source_is_not_there() {
    let with =
        |status: Value| Settings { refuse: Some(json!({"status": status})), ..settings(json!("github")) };
    for status in [200, 301, 302, 399, 404, 410, 600] {
        let faults = Verifier::compile(&with(json!(status))).map(|_| ()).unwrap_err();
        assert!(faults.iter().any(|fault| fault.key == "refuse.status"), "{status}: {faults:?}");
    }
    for status in [400, 401, 403, 409, 599] {
        let verifier = Verifier::compile(&with(json!(status))).unwrap().verifier;
        assert_eq!(verifier.refuse_status(crate::verify::Reason::BadSignature), status);
    }
}
