//! `send`: a first event without a provider.

use crate::support::{Relay, SECRET, assert_says};
use hooks_shared::verify::presets;
use hooks_testkit::port;

const OTHERS: &str = concat!(
    "  stripe:\n    verifier: stripe\n    secret: whsec_stripe_secret_of_the_tests\n",
    "  github:\n    verifier: github\n    secret: github-secret-of-the-tests\n",
    "  slack:\n    verifier: slack\n    secret: slack-secret-of-the-tests-0123\n",
);

#[tokio::test]
async fn a_sample_of_each_provider_is_accepted_and_typed() {
    let relay = Relay::with(OTHERS).await;
    for (source, event_type) in [
        ("demo", "demo.greeting"),
        ("stripe", "charge.succeeded"),
        ("github", "push"),
        ("slack", "app_mention"),
    ] {
        let sent = relay.run(&["send", source, "--json"]).await.expect_success();
        let sent: serde_json::Value = serde_json::from_str(sent.stdout.trim()).expect("JSON");
        assert_eq!(sent["sequence"], 1, "{source}");
        let row = relay
            .db
            .query_one("select event_type, delivery_id from events where source = $1", &[&source])
            .await;
        let stored: Option<String> = row.get("event_type");
        assert!(stored.is_some(), "{source} has no type; expected something like {event_type}");
    }
}

/// Every preset whose secret both sides know; the rest only the provider can sign for.
#[tokio::test]
async fn a_sample_of_every_preset_with_a_shared_secret_is_accepted() {
    let presets: Vec<&str> = presets()
        .filter(|preset| match preset.verifier["type"].as_str() {
            Some("ed25519" | "ecdsa_p256_sha256" | "sns" | "paypal" | "ip") => false,
            Some("jws") => preset.verifier["algorithm"] != "ES256",
            _ => true,
        })
        .map(|preset| preset.name)
        .collect();
    assert!(presets.len() > 50, "{presets:?}");
    let source = |preset: &&str| {
        let (verifier, secret) = match *preset {
            "adyen" | "adyen_platform" | "contentful" => (*preset, "0123456789abcdef".repeat(4)),
            "postmark" | "generic_basic" => (*preset, "hook:a-long-enough-password".to_owned()),
            "braintree" => {
                ("{preset: braintree, public_key: pub}", "a-private-key-of-some-length".to_owned())
            }
            _ => (*preset, SECRET.to_owned()),
        };
        format!("  {preset}: {{verifier: {verifier}, secret: '{secret}'}}\n")
    };
    let sources: String = presets.iter().map(source).collect();
    let relay = Relay::configured(&format!("public_url: https://relay.example\nsources:\n{sources}")).await;
    for preset in &presets {
        let sent = relay.run(&["send", preset, "--json"]).await.expect_success();
        let sent: serde_json::Value = serde_json::from_str(sent.stdout.trim()).expect("JSON");
        assert_eq!(sent["sequence"], 1, "{preset}");
    }
    let stored: i64 = relay.db.query_one("select count(*) from events", &[]).await.get(0);
    assert_eq!(stored, i64::try_from(presets.len()).expect("a small number"));
}

/// The address that a verifier names goes before all others, and its query comes with each request.
#[tokio::test]
async fn the_address_that_is_signed_is_the_verifiers() {
    let source = |preset: &str, url: &str, own: &str| {
        format!(
            "  {preset}: {{verifier: {{preset: {preset}, url: '{url}'}}, secret: 'a-secret-of-the-tests'{own}}}\n"
        )
    };
    let sources = [
        source("square", "https://pub.example/in/square", ""),
        source("twilio", "https://pub.example/in/twilio?account=1", ""),
        source("hubspot", "https://pub.example/in/hubspot", ", public_url: 'https://other.example/in'"),
    ];
    let relay = Relay::configured(&format!("sources:\n{}", sources.concat())).await;
    for preset in ["square", "twilio", "hubspot"] {
        relay.run(&["send", preset]).await.expect_success();
    }
}

#[tokio::test]
async fn data_type_and_id_are_taken_and_the_same_id_is_stored_once() {
    let relay = Relay::with(OTHERS).await;
    let file = relay.config.beside("body.json", "{\"from\":\"a file\"}\n");
    let data = format!("@{}", file.display());
    let send = async |args: &[&str]| relay.run(&[&["send", "github"], args].concat()).await.expect_success();
    let first = send(&["--data", &data, "--type", "issues", "--id", "d-1"]).await;
    assert!(first.stdout.starts_with("github seq=1 delivery=d-1"), "{}", first.stdout);
    let again = send(&["--data", &data, "--type", "issues", "--id", "d-1"]).await;
    assert!(again.stdout.contains("seq=1"), "{}", again.stdout);
    let row =
        relay.db.query_one("select event_type, delivery_id, body from events where source = 'github'", &[]);
    let row = row.await;
    assert_eq!(row.get::<_, &str>("event_type"), "issues");
    assert_eq!(row.get::<_, &str>("delivery_id"), "d-1");
    assert_eq!(row.get::<_, &[u8]>("body"), b"{\"from\":\"a file\"}\n");
    let many = send(&["-n", "3"]).await;
    assert_eq!(many.stdout.lines().count(), 3);
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let relay = Relay::with(OTHERS).await;
    assert_says(&relay.run(&["send", "nosuch"]).await, 3, &["nosuch", "demo"]);
    let nowhere = format!("http://127.0.0.1:{}", port::free());
    let output = relay.run_with(&["send", "demo"], &[("HOOKS_INGEST", &nowhere)]).await;
    assert_says(&output, 5, &["refuses connections", "--ingest", "HOOKS_INGEST"]);
    let output = relay.run(&["send", "demo", "--data", "@/nowhere/body"]).await;
    assert_says(&output, 2, &["--data", "/nowhere/body"]);
    // Another secret than the one that ingest has.
    let other = relay.config.beside(
        "other.yaml",
        "sources:\n  demo:\n    verifier: standard_webhooks\n    secret: whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA==\n  \
         new:\n    verifier: github\n    secret: a-new-secret-of-the-tests\n  waiting:\n    verifier: notion\n",
    );
    let other = other.display().to_string();
    let output = relay.run(&["send", "demo", "--config", &other]).await;
    assert_says(&output, 4, &["bad_signature", "SIGHUP"]);
    assert_says(&relay.run(&["send", "new", "--config", &other]).await, 3, &["`new`", "SIGHUP"]);
    let waiting = relay.run(&["send", "waiting", "--config", &other]).await;
    assert_says(&waiting, 2, &["sources.waiting.secrets", "needed to sign"]);
    assert_says(&relay.run(&["send", "demo", "--config", "/nowhere.yaml"]).await, 2, &["/nowhere.yaml"]);
}

#[tokio::test]
async fn a_fault_of_another_source_is_no_reason_not_to_send() {
    let relay = Relay::start().await;
    let yaml = format!(
        "sources:\n  demo:\n    verifier: standard_webhooks\n    secret: {SECRET}\n  other:\n    verifier: github\n    \
         secret: ${{HOOKS_TEST_NOT_SET_HERE}}\n"
    );
    let file = relay.config.beside("partial.yaml", yaml).display().to_string();
    relay.run(&["send", "demo", "--config", &file]).await.expect_success();
    let output = relay.run(&["send", "other", "--config", &file]).await;
    assert_says(&output, 2, &["sources.other.secret", "HOOKS_TEST_NOT_SET_HERE"]);
}
