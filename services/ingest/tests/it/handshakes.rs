//! What providers ask before they send events.

use crate::stage::{PATIENCE, SECRET, SOURCES, Stage};
use hooks_testkit::http::{exchange, get, request};
use hooks_testkit::sign::{self, borrowed, now};
use hooks_testkit::until;

#[tokio::test]
async fn slack_gets_its_challenge_back_if_it_is_signed_and_nothing_is_stored() {
    let stage = Stage::start().await;
    let body = br#"{"token":"t","challenge":"3eZbrw1aB","type":"url_verification"}"#;
    let answer = stage.post("chat", &sign::slack(SECRET, now(), body), body).await;
    assert_eq!(
        (answer.status, answer.header("content-type"), answer.text()),
        (200, Some("text/plain"), "3eZbrw1aB".into())
    );
    assert_eq!(answer.header("x-hooks-sequence"), None);
    let unsigned = stage.post("chat", &vec![], body).await;
    assert_eq!((unsigned.status, unsigned.text()), (401, "missing_header\n".into()));
    let old = stage.post("chat", &sign::slack(SECRET, now() - 400, body), body).await;
    assert_eq!((old.status, old.text()), (401, "stale\n".into()));
    assert_eq!(stage.count("chat").await, 0);
    let number: i64 =
        stage.db.query_one("select last_sequence from source_heads where source = 'chat'", &[]).await.get(0);
    assert_eq!(number, 0);
}

#[tokio::test]
async fn a_handshake_by_get_is_answered_and_any_other_get_is_not_allowed() {
    let stage = Stage::with(&format!(
        "{SOURCES}
  meta: {{verifier: meta, secret: s3cret-of-the-tests, verify_token: the-token}}"
    ))
    .await;
    let ask = async |query: &str| get(stage.address, &format!("/ingest/meta{query}"), &[]).await;
    let good = ask("?hub.mode=subscribe&hub.challenge=11582&hub.verify_token=the-token").await;
    assert_eq!((good.status, good.text()), (200, "11582".into()));
    assert_eq!(good.header("x-content-type-options"), Some("nosniff"));
    let wrong = ask("?hub.mode=subscribe&hub.challenge=11582&hub.verify_token=guess").await;
    assert_eq!((wrong.status, wrong.text()), (401, "bad_signature\n".into()));
    assert_eq!(ask("?hub.challenge=%0a&hub.verify_token=the-token").await.text(), "malformed\n");
    assert_eq!(ask("").await.status, 405);
    let elsewhere = get(stage.address, "/ingest/hub?hub.challenge=1&hub.verify_token=the-token", &[]).await;
    assert_eq!(elsewhere.status, 405);
}

/// The sender learns that it is not let in by what is left out of the answer, and operators from the record.
#[tokio::test]
async fn a_refused_handshake_is_no_method_that_is_not_allowed_and_is_written_down() {
    let stage = Stage::with(&format!(
        "{SOURCES}
  cloud: {{verifier: cloudevents, secret: s3cret-of-the-tests, allowed_origins: [good.example]}}"
    ))
    .await;
    let ask = async |origin: &str| {
        let headers = [("WebHook-Request-Origin", origin)];
        exchange(stage.address, &request("OPTIONS", "/ingest/cloud", &headers, b"")).await
    };
    let good = ask("good.example").await;
    assert_eq!((good.status, good.header("webhook-allowed-origin")), (200, Some("good.example")));
    let bad = ask("bad.example").await;
    assert_eq!((bad.status, bad.text()), (401, "bad_signature\n".into()));
    for name in ["allow", "webhook-allowed-origin", "webhook-allowed-rate"] {
        assert_eq!(bad.header(name), None, "{name}");
    }
    let query = "select outcome from handshakes where source = 'cloud' and kind = 'origin' order by outcome";
    until(PATIENCE, "both handshakes to be written down", async || {
        let rows = stage.db.client().await.query(query, &[]).await.expect("rows");
        let outcomes: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        match outcomes.as_slice() {
            [answered, refused] if answered == "answered" && refused.contains("allowed_origins") => Ok(()),
            _ => Err(outcomes),
        }
    })
    .await;
}

/// A handshake's body counts like any other, and a body that only looks like one is an event of its source.
#[tokio::test]
async fn only_the_scheme_that_knows_a_handshake_answers_it() {
    let stage = Stage::start().await;
    let body = br#"{"challenge":"x","type":"url_verification"}"#;
    let answer = stage.post("hub", &sign::github(SECRET, "d", "ping", body), body).await;
    assert_eq!((answer.status, answer.text()), (200, String::new()));
    assert_eq!(stage.count("hub").await, 1);
    let form = b"ssl_check=1&token=x";
    let headers = vec![("Content-Type".to_owned(), "application/x-www-form-urlencoded".to_owned())];
    let answer = exchange(stage.address, &request("POST", "/ingest/chat", &borrowed(&headers), form)).await;
    assert_eq!((answer.status, answer.text()), (200, String::new()));
    assert_eq!(stage.count("chat").await, 0);
}
