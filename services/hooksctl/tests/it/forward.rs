//! `forward`: delivery, retries, the cursor, what is said.

use hooks_testkit::process::Signal;
use hooks_testkit::receiver::{Certificate, Receiver, Script};
use hooks_testkit::{port, sign, until};

use crate::support::{PATIENCE, Relay, SECRET, TOKEN, assert_says};

#[tokio::test]
async fn events_arrive_with_their_headers_and_the_next_run_goes_on() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    relay.store("one", b"{\"n\":1}").await;
    let forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook?x=1")]).start();
    let first = receiver.wait_for(1, PATIENCE).await.remove(0);
    assert_eq!(
        (first.method(), first.target(), first.body.as_slice()),
        ("POST", "/hook?x=1", &b"{\"n\":1}"[..])
    );
    assert_eq!(first.header("x-hooks-source"), Some("demo"));
    assert_eq!(first.header("x-hooks-sequence"), Some("1"));
    assert_eq!(first.header("x-hooks-delivery-id"), Some("one"));
    assert_eq!(first.header("webhook-id"), Some("one"));
    forward.wait_log("connected: 1 event behind (last seen 0, newest 1)", PATIENCE).await;
    // Live, while it runs.
    relay.store("two", b"2").await;
    receiver.wait_for(2, PATIENCE).await;
    until(PATIENCE, "the cursor to move", async || relay.cursor_is(2)).await;
    forward.signal(Signal::Int);
    assert_eq!(forward.wait_exit(PATIENCE).await.code(), Some(130));
    assert!(forward.logs().contains("the next run of forward starts after 2"), "{}", forward.logs());
    // While it is away, then from where it stopped.
    relay.store("three", b"3").await;
    let again = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook")]).start();
    let all = receiver.wait_for(3, PATIENCE).await;
    again.wait_log("1 event behind (last seen 2, newest 3)", PATIENCE).await;
    assert_eq!(all.iter().map(|r| r.body.clone()).collect::<Vec<_>>(), [&b"{\"n\":1}"[..], b"2", b"3"]);
}

#[tokio::test]
async fn only_2xx_moves_the_cursor_and_everything_else_is_tried_again() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    let scripts = [
        Script::status(500).body("no database\nmore"),
        Script::redirect("/elsewhere"),
        Script::close(),
        Script::status(204),
    ];
    receiver.respond_in_turn("/hook", scripts);
    relay.store("one", b"1").await;
    let forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook"), "--json"]).start();
    until(PATIENCE, "the cursor to move", async || relay.cursor_is(1)).await;
    forward.signal(Signal::Term);
    forward.wait_exit(PATIENCE).await;
    let lines: Vec<serde_json::Value> =
        forward.stdout().lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let statuses: Vec<_> = lines.iter().map(|line| line["status"].as_u64()).collect();
    assert_eq!(statuses, [Some(500), Some(302), None, Some(204)]);
    let outcomes: Vec<_> = lines.iter().map(|line| line["outcome"].as_str().unwrap_or_default()).collect();
    assert_eq!(outcomes, ["retrying", "retrying", "retrying", "delivered"]);
    assert_eq!(lines[0]["error"], "no database");
    assert!(lines[1]["error"].as_str().is_some_and(|text| text.contains("/elsewhere")), "{}", lines[1]);
    assert!(receiver.requests_to("/elsewhere").is_empty());
}

#[tokio::test]
async fn one_poison_event_does_not_block_when_attempts_are_limited() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    receiver
        .respond_with("/hook", |request| Script::status(if request.body == b"poison" { 500 } else { 200 }));
    relay.store("one", b"poison").await;
    relay.store("two", b"fine").await;
    let forward =
        relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook"), "--max-attempts", "2"]).start();
    until(PATIENCE, "the cursor to pass both", async || relay.cursor_is(2)).await;
    let bodies: Vec<_> = receiver.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [&b"poison"[..], b"poison", b"fine"]);
    forward.wait_log("given up", PATIENCE).await;
}

#[tokio::test]
async fn exit_on_error_ends_with_1_and_leaves_the_cursor() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    receiver.respond("/hook", Script::status(503).body("later"));
    relay.store("one", b"1").await;
    let output = relay.run(&["forward", "demo", "--to", &receiver.url("/hook"), "--exit-on-error"]).await;
    assert_says(&output, 1, &["event 1 was answered with 503", "later"]);
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_target_that_refuses_is_said_and_tried_until_it_is_there() {
    let relay = Relay::start().await;
    let free = port::free();
    relay.store("one", b"1").await;
    let url = format!("http://127.0.0.1:{free}/hook?token=hunter2");
    let forward = relay.ctl(&["forward", "demo", "--to", &url]).start();
    forward.wait_log("refuses connections: is your server running?", PATIENCE).await;
    forward.wait_log("attempt=3", PATIENCE).await;
    assert!(forward.try_status().is_none() && relay.cursor().is_none());
    assert!(!forward.logs().contains("hunter2"), "{}", forward.logs());
}

#[tokio::test]
async fn an_attempt_that_hangs_ends_at_its_timeout() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    receiver.respond_in_turn("/hook", [Script::hang(), Script::status(200)]);
    relay.store("one", b"1").await;
    let forward =
        relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook"), "--attempt-timeout", "150ms"]).start();
    forward.wait_log("no whole answer", PATIENCE).await;
    until(PATIENCE, "the second attempt to succeed", async || relay.cursor_is(1)).await;
}

#[tokio::test]
async fn a_body_too_large_for_the_stream_is_fetched() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    relay.store("large", &body).await;
    let _forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook")]).start();
    let request = receiver.wait_for(1, PATIENCE).await.remove(0);
    assert!(request.body == body, "{} bytes came", request.body.len());
    let output = relay.run(&["events", "show", "demo", "1"]).await.expect_success();
    assert!(output.stdout.contains("2.9MiB") && output.stdout.contains("--body"), "{}", output.stdout);
}

#[tokio::test]
async fn sign_with_gives_a_strict_receiver_a_fresh_signature() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    let local = "whsec_bG9jYWwtc2VjcmV0LWxvY2FsLXNlY3JldA==";
    let file = relay.config.beside("local-secret", format!("{local}\n"));
    relay.store("one", b"{}").await;
    let with = format!("standard-webhooks:@{}", file.display());
    let _forward =
        relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook"), "--sign-with", &with]).start();
    let request = receiver.wait_for(1, PATIENCE).await.remove(0);
    let at: i64 = request.header("webhook-timestamp").and_then(|text| text.parse().ok()).expect("a time");
    let expected = sign::standard_webhooks(local, "one", at, b"{}");
    for (name, value) in expected {
        assert_eq!(request.head.header_all(&name), [value.as_bytes()], "{name}");
    }
}

#[tokio::test]
async fn a_revoked_token_ends_it_with_words() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    relay.store("one", b"1").await;
    let forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook")]).start();
    receiver.wait_for(1, PATIENCE).await;
    relay.db.execute("update tokens set revoked_at = now()", &[]).await;
    let status = forward.wait_exit(PATIENCE).await;
    assert_eq!(status.code(), Some(4), "{}", forward.logs());
    let logs = forward.logs();
    assert!(logs.contains("expired or revoked") && !logs.contains(TOKEN) && !logs.contains(SECRET), "{logs}");
}

#[tokio::test]
async fn a_server_that_goes_away_is_waited_for() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    let address = relay.subscribe.address().await;
    let forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook")]).start();
    forward.wait_log("connected", PATIENCE).await;
    relay.subscribe.signal(Signal::Kill);
    relay.subscribe.wait_exit(PATIENCE).await;
    forward.wait_log("trying again", PATIENCE).await;
    relay.store("one", b"1").await;
    let (name, value) = relay.db.env_for("subscribe");
    let _again = hooks_testkit::process::Launch::binary("hooks-subscribe")
        .args(["--listen", &address.to_string(), "--admin-listen", "127.0.0.1:0"])
        .config(relay.config.path())
        .env(name, value)
        .start_ready(PATIENCE)
        .await;
    receiver.wait_for(1, PATIENCE).await;
    forward.wait_log("connected again", PATIENCE).await;
}

#[tokio::test]
async fn a_tls_target_must_be_trusted() {
    let relay = Relay::start().await;
    let certificate = Certificate::self_signed(&["localhost"]);
    let pem = relay.config.beside("target.pem", certificate.pem());
    let receiver = Receiver::start_tls(certificate).await;
    relay.store("one", b"1").await;
    let to = receiver.url("/hook");
    let output = relay.run(&["forward", "demo", "--to", &to, "--exit-on-error"]).await;
    assert_says(&output, 1, &["TLS", "SSL_CERT_FILE"]);
    assert!(receiver.requests().is_empty());
    let pem = pem.display().to_string();
    let _forward = relay.ctl(&["forward", "demo", "--to", &to]).env("SSL_CERT_FILE", &pem).start();
    let request = receiver.wait_for(1, PATIENCE).await.remove(0);
    assert_eq!((request.body.as_slice(), request.header("x-hooks-sequence")), (&b"1"[..], Some("1")));
}
