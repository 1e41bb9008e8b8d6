//! Every answer of the README's table, and what stands before what.

use crate::stage::{PATIENCE, SECRET, SOURCES, Stage, bare, hub, launch, plain, post, sequence};
use hooks_testkit::config::ConfigFile;
use hooks_testkit::http::{exchange, get, request};
use hooks_testkit::sign::{self, Headers, STANDARD_WEBHOOKS_SECRET, borrowed, now};

/// Seconds; further than PostgreSQL counts.
const YEAR_300_000: i64 = 9_404_976_600_000;

/// An event of each source, signed as its provider would, and the status of its acknowledgement.
fn one_of_each() -> Vec<(&'static str, Headers, &'static [u8], u16)> {
    let body: &[u8] = br#"{"id":"evt_1","event_id":"Ev1","type":"made"}"#;
    vec![
        ("plain", plain("msg_1", body), body, 202),
        ("hub", hub("d-1", body), body, 200),
        ("pay", sign::stripe(SECRET, now(), body), body, 200),
        ("chat", sign::slack(SECRET, now(), body), body, 200),
        ("bare", bare(body), body, 202),
    ]
}

#[tokio::test]
async fn a_stored_event_is_acknowledged_as_its_scheme_says_and_a_repeat_likewise() {
    let stage = Stage::start().await;
    for (source, headers, body, status) in one_of_each() {
        let first = stage.post(source, &headers, body).await;
        assert_eq!((first.status, sequence(&first), first.text()), (status, 1, String::new()), "{source}");
        let again = stage.post(source, &headers, body).await;
        let expected = if status == 202 { 200 } else { status };
        assert_eq!((again.status, sequence(&again), again.text()), (expected, 1, String::new()), "{source}");
        assert_eq!(stage.count(source).await, 1, "{source}");
    }
}

#[tokio::test]
async fn what_a_verified_request_says_of_itself_is_stored() {
    let stage = Stage::start().await;
    let body = br#"{"type":"deploy_ended"}"#;
    let at = now() - 60;
    let headers = sign::standard_webhooks(STANDARD_WEBHOOKS_SECRET, "msg_9", at, body);
    stage.post("plain", &headers, body).await;
    stage.post("bare", &bare(body), body).await;
    let sql = "select delivery_id, event_type, extract(epoch from provider_timestamp)::bigint, method,
            convert_from(target, 'UTF8'), host(remote_addr), body, body_sha256 = sha256(body), event_id,
            abs(extract(epoch from now() - received_at)) < 60
        from events where source = $1";
    let plain = stage.db.query_one(sql, &[&"plain"]).await;
    assert_eq!(plain.get::<_, Option<&str>>(0), Some("msg_9"));
    assert_eq!(plain.get::<_, Option<&str>>(1), Some("deploy_ended"));
    assert_eq!(plain.get::<_, Option<i64>>(2), Some(at));
    assert_eq!(
        (plain.get::<_, &str>(3), plain.get::<_, &str>(4), plain.get::<_, &str>(5)),
        ("POST", "/ingest/plain", "127.0.0.1")
    );
    assert_eq!(plain.get::<_, &[u8]>(6), body);
    assert!(plain.get::<_, bool>(7) && plain.get::<_, bool>(9));
    let event_id: &str = plain.get(8);
    assert!(event_id.starts_with("evt_") && event_id.len() == 30, "{event_id}");
    let bare = stage.db.query_one(sql, &[&"bare"]).await;
    for column in 0..=1 {
        assert_eq!(bare.get::<_, Option<&str>>(column), None);
    }
    assert_eq!(bare.get::<_, Option<i64>>(2), None);
}

#[tokio::test]
async fn the_acknowledgement_can_be_the_sources_own() {
    let stage = Stage::with(
        "sources:
          own:
            verifier: github
            secret: s3cret-of-the-tests
            ack: {status: 201, content_type: application/json, body: '{\"ok\":true}'}
            refuse: {status: 400}",
    )
    .await;
    for _ in 0..2 {
        let answer = stage.post("own", &hub("d", b"1"), b"1").await;
        assert_eq!(
            (answer.status, answer.header("content-type"), answer.text()),
            (201, Some("application/json"), r#"{"ok":true}"#.into())
        );
        assert_eq!(sequence(&answer), 1);
    }
    let refused = stage.post("own", &hub("d", b"1"), b"2").await;
    assert_eq!((refused.status, refused.text()), (400, "bad_signature\n".into()));
}

#[tokio::test]
async fn sources_that_are_not_configured_are_unknown_whatever_is_sent() {
    let stage = Stage::start().await;
    let name_of_63 = "x".repeat(63);
    for source in ["nobody", "hooks.system", "hooks.", "PLAIN", "plain.", "%00", &name_of_63, "plain%2Fx"] {
        let body = vec![b'x'; 2 << 20];
        for (method, body) in [("POST", &body[..]), ("GET", b""), ("DELETE", b"")] {
            let answer =
                exchange(stage.address, &request(method, &format!("/ingest/{source}"), &[], body)).await;
            assert_eq!((answer.status, answer.text()), (404, "unknown source\n".into()), "{method} {source}");
        }
    }
    for path in ["/", "/ingest", "/ingest/", "/plain", "/subscribe/plain"] {
        let answer = exchange(stage.address, &request("POST", path, &[], b"{}")).await;
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[tokio::test]
async fn anything_may_follow_the_name() {
    let stage = Stage::start().await;
    for (number, path) in ["/", "/a", "/a/b?c=d", "//", "?x"].into_iter().enumerate() {
        let id = format!("d-{number}");
        let bytes = request("PUT", &format!("/ingest/hub{path}"), &borrowed(&hub(&id, b"1")), b"1");
        assert_eq!(exchange(stage.address, &bytes).await.status, 200, "{path}");
    }
    assert_eq!(stage.count("hub").await, 5);
}

#[tokio::test]
async fn other_methods_are_told_which_are_allowed_before_any_signature_is_asked_for() {
    let stage = Stage::with(&format!(
        "{SOURCES}
  patched: {{verifier: github, secret: s3cret-of-the-tests, methods: [PATCH, GET]}}"
    ))
    .await;
    for (source, method, allow) in [
        ("plain", "GET", "POST, PUT"),
        ("plain", "DELETE", "POST, PUT"),
        ("plain", "PATCH", "POST, PUT"),
        ("plain", "OPTIONS", "POST, PUT"),
        ("plain", "PURGE", "POST, PUT"),
        ("patched", "POST", "PATCH, GET"),
    ] {
        let answer = exchange(stage.address, &request(method, &format!("/ingest/{source}"), &[], b"")).await;
        assert_eq!(
            (answer.status, answer.header("allow"), answer.text()),
            (405, Some(allow), "method not allowed\n".into()),
            "{method} {source}"
        );
    }
    let signed = request("PATCH", "/ingest/patched", &borrowed(&hub("d", b"1")), b"1");
    assert_eq!(exchange(stage.address, &signed).await.status, 200);
    let unsigned = exchange(stage.address, &request("GET", "/ingest/patched", &[], b"")).await;
    assert_eq!((unsigned.status, unsigned.text()), (401, "missing_header\n".into()));
}

#[tokio::test]
async fn a_refusal_is_one_word_and_never_tells_what_was_expected() {
    let stage = Stage::with(&format!(
        "{SOURCES}
  wide: {{verifier: standard_webhooks, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw, skew_window: 2h}}
  near: {{verifier: {{type: ip, allow: [10.0.0.0/8]}}}}"
    ))
    .await;
    let body = b"{}";
    let at = |at| sign::standard_webhooks(STANDARD_WEBHOOKS_SECRET, "m", at, body);
    let without = |headers: Headers, name: &str| -> Headers {
        headers.into_iter().filter(|(known, _)| known != name).collect()
    };
    let with = |name: &str, value: &str| -> Headers {
        [without(at(now()), name), vec![(name.into(), value.into())]].concat()
    };
    let old_and_wrong =
        [without(at(0), "webhook-signature"), vec![("webhook-signature".into(), "v1,AAAA".into())]];
    for (source, headers, status, word) in [
        ("plain", vec![], 401, "missing_header"),
        ("plain", without(at(now()), "webhook-signature"), 401, "missing_header"),
        ("plain", without(at(now()), "webhook-id"), 401, "missing_header"),
        ("plain", without(at(now()), "webhook-timestamp"), 401, "missing_header"),
        ("plain", with("webhook-timestamp", "soon"), 401, "malformed"),
        ("plain", at(YEAR_300_000), 401, "future"),
        ("plain", with("webhook-signature", "v1,AAAA"), 401, "bad_signature"),
        ("plain", with("webhook-id", "other"), 401, "bad_signature"),
        ("plain", old_and_wrong.concat(), 401, "bad_signature"),
        ("plain", at(now() - 400), 401, "stale"),
        ("plain", at(now() + 400), 401, "future"),
        ("wide", at(now() - 7300), 401, "stale"),
        ("near", vec![], 403, "ip_denied"),
    ] {
        let answer = stage.post(source, &headers, body).await;
        assert_eq!((answer.status, answer.text()), (status, format!("{word}\n")), "{source} {headers:?}");
        let right = at(now());
        let signature = &right[2].1[3..];
        assert!(!String::from_utf8_lossy(&answer.head.raw).contains(signature), "{source} {word}");
    }
    assert_eq!(stage.post("wide", &at(now() - 7000), body).await.status, 202);
    assert_eq!(stage.count("plain").await, 0);
}

/// Genuine, and no table can hold its time: the event counts, the time does not.
#[tokio::test]
async fn where_the_future_is_not_limited_a_time_beyond_the_calendar_is_no_reason_to_refuse() {
    let stage = Stage::start().await;
    let answer = stage.post("pay", &sign::stripe(SECRET, YEAR_300_000, b"{}"), b"{}").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let row =
        stage.db.query_one("select provider_timestamp is null from events where source = 'pay'", &[]).await;
    assert!(row.get::<_, bool>(0));
}

#[tokio::test]
async fn either_secret_of_a_rotation_passes_and_secrets_may_lie_in_files() {
    let config = ConfigFile::write(
        "sources:
          both: {verifier: github, secrets: [new, old]}
          filed: {verifier: github, secret_file: filed.secret}",
    );
    config.beside("filed.secret", "of the file \n");
    let db = hooks_testkit::db::TestDb::create().await;
    let service = launch(&config, &db.url_for("ingest")).start_ready(PATIENCE).await;
    let address = service.address().await;
    for (source, secret, status) in [
        ("both", "new", 200),
        ("both", "old", 200),
        ("both", "older", 401),
        ("filed", "of the file ", 200),
        ("filed", "of the file", 401),
        ("filed", "of the file \n", 401),
    ] {
        let answer =
            exchange(address, &post(source, &sign::github(secret, secret, "push", b"1"), b"1")).await;
        assert_eq!(answer.status, status, "{source} {secret:?}");
    }
}

#[tokio::test]
async fn a_request_id_is_echoed_or_made_and_stands_in_the_log() {
    let stage = Stage::start().await;
    let bad = plain("other", b"1");
    for (source, headers, status) in
        [("plain", plain("m", b"{}"), 202), ("plain", bad, 401), ("nobody", vec![], 404)]
    {
        let mut headers = headers;
        headers.push(("X-Request-Id".into(), format!("mine-{status}")));
        let answer = stage.post(source, &headers, b"{}").await;
        let expected = format!("mine-{status}");
        assert_eq!((answer.status, answer.header("x-request-id")), (status, Some(expected.as_str())));
    }
    for unusable in ["", "two words", &"x".repeat(129), "\u{e9}"] {
        let answer = stage.post("plain", &vec![("X-Request-Id".into(), unusable.into())], b"{}").await;
        let made = answer.header("x-request-id").expect("an id").to_owned();
        assert!(made.starts_with("req_") && made.len() == 30, "{made}");
        stage.service.wait_log(&format!("request_id={made}"), PATIENCE).await;
    }
    let line = stage.service.wait_log("request_id=mine-401", PATIENCE).await;
    assert!(line.contains("source=plain") && line.contains("reason=bad_signature"), "{line}");
}

#[tokio::test]
async fn nothing_secret_is_logged_or_answered_even_when_everything_is_logged() {
    let db = hooks_testkit::db::TestDb::create().await;
    let config = ConfigFile::write(SOURCES);
    let service =
        launch(&config, &db.url_for("ingest")).env("HOOKS_LOG_LEVEL", "trace").start_ready(PATIENCE).await;
    let address = service.address().await;
    let body = b"the body nobody should see";
    let good = plain("m", body);
    let mut bad = plain("m", b"another body");
    bad.push(("Authorization".into(), "Bearer do-not-show".into()));
    assert_eq!(exchange(address, &post("plain", &good, body)).await.status, 202);
    assert_eq!(exchange(address, &post("plain", &bad, body)).await.status, 401);
    service.wait_log("bad_signature", PATIENCE).await;
    // Libraries log what they parse at trace level, which the default filter and ours leave out: only our lines count.
    let ours = service.logs().lines().filter(|line| line.contains(" ingest ")).collect::<Vec<_>>().join("\n");
    for secret in [SECRET, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", hooks_testkit::db::ROLE_PASSWORD] {
        assert!(!ours.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn the_sender_is_the_first_hop_that_is_not_a_trusted_proxy() {
    let stage = Stage::with(&format!("trusted_proxies: [127.0.0.1, 10.0.0.0/8]{SOURCES}")).await;
    let mut headers = hub("d", b"1");
    headers.push(("X-Forwarded-For".into(), "6.6.6.6, 203.0.113.9".into()));
    headers.push(("X-Forwarded-For".into(), "10.1.1.1".into()));
    stage.post("hub", &headers, b"1").await;
    let row = stage.db.query_one("select host(remote_addr) from events", &[]).await;
    assert_eq!(row.get::<_, &str>(0), "203.0.113.9");
}

#[tokio::test]
async fn health_is_told_on_both_ports() {
    let stage = Stage::start().await;
    for address in [stage.address, stage.service.admin().await] {
        let answer = get(address, "/healthz", &[]).await;
        assert_eq!((answer.status, answer.text()), (200, "ok\n".into()));
    }
    let outside = get(stage.address, "/metrics", &[]).await;
    assert_eq!(outside.status, 404, "what only operators may see is not on the public port");
}
