//! One connection, many requests: whose head is whose.

use crate::stage::{PATIENCE, SECRET, Stage, ask, hub, plain, post, sequence};
use hooks_testkit::http::{RawConnection, exchange, request};
use hooks_testkit::sign::{self, Headers, now};
use hooks_testkit::until;

fn marked(id: &str, body: &[u8]) -> Headers {
    [vec![("X-MARK".into(), id.into()), ("x-mark".into(), "again".into())], hub(id, body)].concat()
}

/// Every event of `hub` is stored with its own raw head.
async fn all_exact(stage: &Stage, count: i64) {
    let row = stage
        .db
        .query_one(
            "select count(*), count(*) filter (where exact and convert_from(headers, 'UTF8')
                like 'Host:localhost' || E'\\n' || 'X-MARK:' || delivery_id || E'\\nx-mark:again\\n%')
             from events where source = 'hub'",
            &[],
        )
        .await;
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (count, count));
}

#[tokio::test]
async fn heads_stay_exact_on_a_connection_that_carries_everything_else_too() {
    let stage = Stage::start().await;
    let challenge = br#"{"challenge":"x","type":"url_verification"}"#;
    let others: Vec<(Vec<u8>, u16)> = vec![
        (request("GET", "/healthz", &[], b""), 200),
        (request("GET", "/nowhere", &[], b""), 404),
        (request("POST", "/ingest/nobody", &[("X-A", "1")], b""), 404),
        (request("POST", "/ingest/hub", &[], b"unsigned"), 401),
        (request("GET", "/ingest/hub", &[], b""), 405),
        (post("chat", &sign::slack(SECRET, now(), challenge), challenge), 200),
        (post("plain", &plain("m", b"{}"), b"{}"), 202),
        (request("HEAD", "/healthz", &[], b""), 404),
    ];
    let mut connection = RawConnection::connect(stage.address).await;
    let mut stored = 0;
    for (bytes, status) in others {
        let is_head = bytes.starts_with(b"HEAD");
        connection.send(&bytes).await.expect("send");
        let body =
            if is_head { hooks_testkit::http::Body::None } else { hooks_testkit::http::Body::Declared };
        let answer = connection.recv_within(PATIENCE, body).await.expect("an answer");
        assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(&bytes));
        stored += 1;
        let id = format!("d-{stored}");
        let answer = ask(&mut connection, &post("hub", &marked(&id, b"1"), b"1")).await;
        assert_eq!((answer.status, sequence(&answer)), (200, stored));
    }
    all_exact(&stage, stored).await;
    stage.metric_becomes("hooks_ingest_inexact_heads_total", 0.0).await;
}

/// Nobody reads the body of a request to a source that does not exist: what follows it is not taken for a request.
#[tokio::test]
async fn a_body_that_nobody_wants_ends_the_connection() {
    let stage = Stage::start().await;
    let hidden = post("hub", &marked("hidden", b"1"), b"1");
    for path in ["/ingest/nobody", "/nowhere"] {
        let mut connection = RawConnection::connect(stage.address).await;
        let answer = ask(&mut connection, &request("POST", path, &[], &hidden)).await;
        assert_eq!((answer.status, answer.header("connection")), (404, Some("close")), "{path}");
        assert!(connection.closed_within(PATIENCE).await, "{path}");
    }
    assert_eq!(stage.count("hub").await, 0);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_each_with_its_head() {
    let stage = Stage::start().await;
    let mut bytes = Vec::new();
    for number in 1..=40 {
        let id = format!("d-{number}");
        bytes.extend(request("GET", "/healthz", &[], b""));
        bytes.extend(post("hub", &marked(&id, id.as_bytes()), id.as_bytes()));
    }
    let mut connection = RawConnection::connect(stage.address).await;
    connection.send(&bytes).await.expect("send");
    for number in 1..=40 {
        assert_eq!(connection.recv().await.expect("an answer").text(), "ok\n");
        let answer = connection.recv().await.expect("an answer");
        assert_eq!((answer.status, sequence(&answer)), (200, number));
    }
    all_exact(&stage, 40).await;
    let mixed = "select count(*) from events where body <> convert_to(delivery_id, 'UTF8')";
    assert_eq!(stage.db.query_one(mixed, &[]).await.get::<_, i64>(0), 0);
}

#[tokio::test]
async fn it_does_not_matter_where_the_bytes_are_split() {
    let stage = Stage::start().await;
    let bytes = post("hub", &marked("d-1", b"a body"), b"a body");
    let mut connection = RawConnection::connect(stage.address).await;
    for piece in bytes.chunks(1) {
        connection.send(piece).await.expect("send");
        tokio::task::yield_now().await;
    }
    assert_eq!(connection.recv().await.expect("an answer").status, 200);
    all_exact(&stage, 1).await;
}

#[tokio::test]
async fn a_request_that_means_two_things_is_refused_and_ends_the_connection() {
    let stage = Stage::start().await;
    let hidden = post("hub", &marked("hidden", b"1"), b"1");
    let two_lengths =
        b"POST /ingest/hub HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n".to_vec();
    let both = b"POST /ingest/hub HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_vec();
    let folded =
        b"POST /ingest/hub HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n 2\r\nContent-Length: 0\r\n\r\n".to_vec();
    let bad_chunk =
        b"POST /ingest/hub HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec();
    for ambiguous in [two_lengths, both, folded, bad_chunk] {
        let shown = String::from_utf8_lossy(&ambiguous).into_owned();
        let mut connection = RawConnection::connect(stage.address).await;
        connection.send(&[&ambiguous[..], &hidden].concat()).await.expect("send");
        let answer = connection.recv().await.unwrap_or_else(|error| panic!("{error}: {shown}"));
        assert_eq!(answer.status, 400, "{shown}");
        assert!(connection.closed_within(PATIENCE).await, "{shown}");
    }
    assert_eq!(stage.count("hub").await, 0, "what was hidden behind them is not a request");
}

#[tokio::test]
async fn a_client_that_hangs_up_has_its_event_whole_or_not_at_all() {
    let stage = Stage::start().await;
    let body = vec![b'x'; 100_000];
    let bytes = post("hub", &hub("whole", &body), &body);
    let mut cut = RawConnection::connect(stage.address).await;
    cut.send(&bytes[..bytes.len() - 1]).await.expect("send");
    cut.reset();
    let mut half = RawConnection::connect(stage.address).await;
    half.send(&bytes[..bytes.len() - 1]).await.expect("send");
    half.finish().await.expect("finish");
    drop(half);
    let mut whole = RawConnection::connect(stage.address).await;
    whole.send(&bytes).await.expect("send");
    whole.finish().await.expect("finish");
    until(PATIENCE, "the event", async || stage.count("hub").await == 1).await;
    drop(whole);
    let row = stage.db.query_one("select length(body), body_sha256 = sha256(body) from events", &[]).await;
    assert_eq!((row.get::<_, i32>(0), row.get::<_, bool>(1)), (100_000, true));
    let again = exchange(stage.address, &bytes).await;
    assert_eq!((again.status, sequence(&again)), (200, 1));
}
