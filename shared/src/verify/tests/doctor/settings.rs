//! Mistakes in the settings: the secret and the scheme.

use super::*;

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
fn another_providers_scheme_is_found() {
    let mut request = sent(&json!("bitbucket"), SECRET, BODY, URL);
    request.headers.extend(sent(&github(), "another-secret-entirely", BODY, URL).headers);
    let diagnosis = examined(&settings(github(), SECRET), &request);
    assert_found(&diagnosis, "bad_signature", "verifier: bitbucket");
}
