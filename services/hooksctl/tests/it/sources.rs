//! `sources check` says of each source what is checked and what is not.

use hooks_testkit::config::ConfigFile;
use hooks_testkit::process::{Output, run};
use serde_json::Value;

const YAML: &str = "
public_url: https://relay.example
sources:
  shop:
    verifier: stripe
    secret: whsec_0123456789abcdef
  code:
    verifier: {preset: github, id: null}
    secret: 0123456789abcdef
  chat:
    verifier: telegram
    secret: 0123456789abcdef
    paused: true
    public_url: https://hooks.example/chat
  slack:
    verifier: slack
    secret: 0123456789abcdef
    dedupe_window: off
  calls:
    verifier: twilio
    secret: 0123456789abcdef
  own:
    verifier:
      type: hmac
      signature: header:X-Sig
      signed: \"{timestamp}.{body}\"
      timestamp: {from: \"header:X-Time\", max_age: 60}
    secret: 0123456789abcdef
    refuse: {status: 403}
  both:
    verifier: {combine: all, of: [github, {type: basic}]}
    secret: user:0123456789abcdef
  either:
    verifier: {combine: any, of: [github, {type: basic}]}
    secret: user:0123456789abcdef
  fenced:
    verifier: {combine: all, of: [{type: ip, allow: [192.0.2.0/24]}, slack]}
    secret: 0123456789abcdef
  till:
    verifier: {preset: square, url: \"https://pub.example/in/till\"}
    secret: 0123456789abcdef
    public_url: https://hooks.example/till
  store:
    verifier: shopify
    secret: 0123456789abcdef
";

async fn check(arguments: &[&str]) -> Output {
    let config = ConfigFile::write(YAML);
    let path = config.path().display().to_string();
    let arguments = [&["sources", "check", path.as_str()][..], arguments].concat();
    run("hooksctl", &arguments, &[], b"").await.expect_success()
}

/// The lines of one source, white space run together.
fn of<'t>(text: &'t str, source: &str) -> Vec<String> {
    let own = |line: &&'t str| line.starts_with("  ");
    let mut lines = text.lines().skip_while(|line| line.split(' ').next() != Some(source));
    let head = lines.next().unwrap_or_else(|| panic!("no {source} in {text}"));
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    std::iter::once(head).chain(lines.take_while(own)).map(squeezed).collect()
}

const UNTIMED: &str = "unprotected the time (no timestamp is signed: a copy can be sent again at any time)";
const BARE: &str = "unprotected the body (it could be changed on the way); \
                    the time (no timestamp is signed: a copy can be sent again at any time)";

#[tokio::test]
async fn each_source_says_what_it_checks_and_what_it_does_not() {
    let text = check(&[]).await.stdout;
    let expected: [(&str, &[&str]); 11] = [
        ("both", &["rule all 2 must hold", UNTIMED]),
        ("either", &["rule any one of 2 is enough", UNTIMED, BARE]),
        ("fenced", &["checked the sender's address", "unprotected nothing"]),
        ("till", &["address https://pub.example/in/till"]),
        (
            "store",
            &["repeats the same id with the same event type within 86400 s, the id read from \
               header:shopify-webhook-id, header:X-Shopify-Event-Id, header:X-Shopify-Webhook-Id, \
               the type from header:shopify-topic, header:X-Shopify-Topic"],
        ),
        (
            "shop",
            &[
                "preset stripe",
                "checked HMAC-SHA256 in header Stripe-Signature, at most 300 s old",
                "unprotected nothing",
                "repeats the same id within 86400 s, read from json:/id",
                "handshakes none",
                "masked nothing",
                "answer 200, empty",
                "refusal 401",
                "address https://relay.example/ingest/shop",
            ],
        ),
        ("code", &["preset github", UNTIMED, "repeats no id: the same body within 300 s"]),
        (
            "chat",
            &[
                "chat (paused: events are stored and held)",
                "checked token in header X-Telegram-Bot-Api-Secret-Token",
                BARE,
                "masked header:X-Telegram-Bot-Api-Secret-Token",
                "address https://hooks.example/chat",
            ],
        ),
        ("slack", &["handshakes echo; fixed", "repeats not recognised (dedupe_window: off)"]),
        ("calls", &["answer 200 <Response/> (text/xml)"]),
        (
            "own",
            &[
                "preset none, a scheme of its own",
                "repeats no id: the same signed content, its timestamp included, within 86400 s",
                "answer 202, empty",
                "refusal 403",
            ],
        ),
    ];
    for (source, wanted) in expected {
        let lines = of(&text, source);
        for line in wanted {
            assert!(lines.iter().any(|own| own == line), "{source}: no {line:?} in {lines:#?}");
        }
    }
}

#[tokio::test]
async fn the_same_in_json() {
    let text = check(&["--json"]).await.stdout;
    let sources: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shop = sources.iter().find(|source| source["name"] == "shop").unwrap();
    assert_eq!(shop["preset"], "stripe");
    assert_eq!(shop["verification"][0]["dedupe_id"][0], "json:/id");
    assert_eq!(shop["url"], "https://relay.example/ingest/shop");
    assert!(!text.contains("0123456789abcdef"), "a secret is shown");
}

/// What any part covers is covered where all must hold.
#[tokio::test]
async fn a_part_of_all_is_not_said_to_leave_open_what_another_covers() {
    let output = check(&[]).await;
    for (source, lines) in [("both", 0), ("fenced", 0), ("either", 1), ("chat", 1)] {
        let of_body = |line: &&str| line.contains(&format!("sources.{source}:")) && line.contains("the body");
        assert_eq!(output.stderr.lines().filter(of_body).count(), lines, "{source}: {}", output.stderr);
    }
    for (source, gap) in [("both", BARE), ("fenced", UNTIMED), ("fenced", BARE)] {
        let lines = of(&output.stdout, source);
        assert!(!lines.iter().any(|line| line == gap), "{source}: {lines:#?}");
    }
}

#[tokio::test]
async fn without_a_public_address_it_is_said_what_would_tell_it() {
    let yaml = "sources:\n  code:\n    verifier: github\n    secret: 0123456789abcdef\n";
    let config = ConfigFile::write(yaml);
    let path = config.path().display().to_string();
    let output = run("hooksctl", &["sources", "check", &path], &[], b"").await.expect_success();
    let wanted = "address /ingest/code of ingest; set public_url to see the whole address";
    assert_eq!(of(&output.stdout, "code").last().unwrap(), wanted);
}
