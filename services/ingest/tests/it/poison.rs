//! One event cannot spoil the batch it is in, and nothing that failed is acknowledged.

use crate::stage::{PATIENCE, SECRET, SOURCES, Stage, hub, post, sequence};
use futures_util::future::join_all;
use hooks_testkit::gate::Gate;
use hooks_testkit::http::{RawConnection, RawResponse, exchange, request};
use hooks_testkit::proxy::{At, Proxy};
use hooks_testkit::sign::{self, Headers, borrowed};
use std::collections::BTreeSet;

/// Five that could break a batch, and the id each is stored under.
fn poison() -> Vec<(Vec<u8>, String)> {
    let long = "x".repeat(5000);
    let digest = |id: &[u8]| format!("sha256:{}", hex::encode(<sha2::Sha256 as sha2::Digest>::digest(id)));
    let in_body = |id: &str| format!("{{\"id\":\"{id}\",\"type\":\"\\u0000\\u0007\"}}").into_bytes();
    let nul = in_body("a\\u0000b");
    let high: Vec<u8> = (0x80..=0xff).collect();
    let mut bytes_in_header =
        b"POST /ingest/hub HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nX-High: ".to_vec();
    bytes_in_header.extend(&high);
    for (name, value) in hub("high", b"h") {
        bytes_in_header.extend(format!("\r\n{name}: {value}").bytes());
    }
    bytes_in_header.extend(b"\r\n\r\nh");
    let year_300000 = 9_404_976_600_000;
    let beyond = in_body("far");
    let far = sign::stripe(SECRET, year_300000, &beyond);
    let huge = vec![b'x'; 20_000_000];
    vec![
        (post("hub", &hub(&long, b"l"), b"l"), digest(long.as_bytes())),
        (post("pay", &sign::stripe(SECRET, sign::now(), &nul), &nul), digest(b"a\0b")),
        (bytes_in_header, "high".into()),
        (post("pay", &far, &beyond), "far".into()),
        (post("hub", &hub("huge", &huge), &huge), "huge".into()),
    ]
}

fn harmless(number: usize) -> (Vec<u8>, String) {
    let id = format!("good-{number}");
    (post("hub", &hub(&id, id.as_bytes()), id.as_bytes()), id)
}

async fn ids(stage: &Stage) -> BTreeSet<String> {
    stage.db.query("select delivery_id from events", &[]).await.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn of_a_hundred_at_once_each_poisonous_one_is_stored_safely() {
    let stage = Stage::with(&format!("ingest: {{lanes: 1}}{SOURCES}")).await;
    let poison = poison();
    let good: Vec<_> = (0..95).map(harmless).collect();
    let bad = join_all(poison.iter().map(|(bytes, _)| exchange(stage.address, bytes)));
    let rest = join_all(good.iter().map(|(bytes, _)| exchange(stage.address, bytes)));
    let (bad, rest) = futures_util::join!(bad, rest);
    let mut expected: BTreeSet<String> = good.into_iter().map(|(_, id)| id).collect();
    for (answer, (_, id)) in bad.iter().zip(poison) {
        assert_eq!(answer.status, 200, "{id}: {}", answer.text());
        expected.insert(id);
    }
    assert_eq!(rest.iter().filter(|answer| answer.status == 200).count(), 95);
    assert_eq!(ids(&stage).await, expected);
    let odd = stage.db.query_one("select count(*) from events where event_type = ''", &[]).await;
    assert_eq!(odd.get::<_, i64>(0), 0, "a type of control characters is none");
}

/// Holds the database back until all of `requests` wait, so that they are one batch behind the first.
async fn as_one_batch(stage: &Stage, proxy: &Proxy, requests: &[Vec<u8>]) -> Vec<RawResponse> {
    let gate = Gate::closed();
    let trip = proxy.hold_when(At::sql_with("for no key update"), gate.clone());
    let first = post("hub", &hub("first", b"1"), b"1");
    let mut waiting = RawConnection::connect(stage.address).await;
    waiting.send(&first).await.expect("send");
    trip.wait(PATIENCE).await;
    let mut connections = Vec::new();
    for bytes in requests {
        let mut connection = RawConnection::connect(stage.address).await;
        connection.send(bytes).await.expect("send");
        connections.push(connection);
    }
    // Whoever gets an answer to a later request on another thread has seen the earlier ones read; the budget says
    // when all of them are in memory.
    let bytes: usize = requests.iter().map(|bytes| body_length(bytes)).sum();
    stage.holds(bytes + 1).await;
    gate.open();
    assert_eq!(waiting.recv().await.expect("an answer").status, 200);
    join_all(connections.iter_mut().map(|connection| async { connection.recv().await.expect("an answer") }))
        .await
}

fn body_length(bytes: &[u8]) -> usize {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    bytes.len() - head - 4
}

async fn behind_a_proxy(deadline: &str) -> (Stage, Proxy) {
    let db = hooks_testkit::db::TestDb::create().await;
    let url = db.url_for("ingest");
    let proxy = Proxy::to_database(&url).await;
    let through = proxy.url(&url);
    let stage =
        Stage::on(db, &through, &format!("ingest: {{lanes: 1, commit_deadline: {deadline}}}{SOURCES}")).await;
    (stage, proxy)
}

/// What stands in a trigger's condition on one row, and the class of its error.
const REFUSAL: &str = "
    create function refuse() returns trigger language plpgsql as $$ begin
        raise exception 'refused' using errcode = TG_ARGV[0];
    end $$;
    create trigger refuse before insert on events for each row
        when (new.delivery_id = 'guilty') execute function refuse('CODE');";

#[tokio::test]
async fn of_a_batch_with_a_value_that_the_database_refuses_only_that_event_gets_an_error() {
    for code in ["22000", "23505", "54000", "21000"] {
        let (stage, proxy) = behind_a_proxy("30s").await;
        stage.db.client().await.batch_execute(&REFUSAL.replace("CODE", code)).await.expect("a trigger");
        let mut requests: Vec<_> = (0..30).map(|number| harmless(number).0).collect();
        requests.insert(15, post("hub", &hub("guilty", b"x"), b"x"));
        let answers = as_one_batch(&stage, &proxy, &requests).await;
        for (number, answer) in answers.iter().enumerate() {
            let expected = if number == 15 { 500 } else { 200 };
            assert_eq!(answer.status, expected, "{code} {number}: {}", answer.text());
        }
        assert_eq!(answers[15].text(), "not stored: the database refuses this event\n");
        let numbers: BTreeSet<_> =
            answers.iter().filter(|answer| answer.status == 200).map(sequence).collect();
        assert_eq!(numbers, (2..=31).collect(), "without a gap");
        assert!(!ids(&stage).await.contains("guilty"));
        // It was the event's fault, not its connection's or the batch's.
        stage.store("later").await;
    }
}

#[tokio::test]
async fn a_statement_that_fails_inside_the_burst_yields_no_acknowledgement() {
    let (stage, _proxy) = behind_a_proxy("1s").await;
    let sabotage = [
        // Fails in append, with an error that is not the event's fault.
        (
            "create trigger t before insert on events for each row execute function fail()",
            "drop trigger t on events",
        ),
        // Fails after the insert, in the same statement.
        (
            "create trigger t after update on source_heads for each row execute function fail()",
            "drop trigger t on source_heads",
        ),
        // Fails at COMMIT, after append has returned its rows.
        (
            "create constraint trigger t after update on source_heads deferrable initially deferred
                for each row execute function fail()",
            "drop trigger t on source_heads",
        ),
        // Fails in the statement before append.
        ("revoke update on source_heads from hooks_ingest", "grant update on source_heads to hooks_ingest"),
    ];
    let client = stage.db.client().await;
    client
        .batch_execute(
            "create function fail() returns trigger language plpgsql as $$ begin
                raise exception 'sabotage' using errcode = 'XX000';
            end $$",
        )
        .await
        .expect("a function");
    for (number, (begin, end)) in sabotage.iter().enumerate() {
        client.batch_execute(begin).await.expect("sabotage");
        let requests: Vec<_> = (0..5).map(|at| harmless(1000 * number + at).0).collect();
        let answers = join_all(requests.iter().map(|bytes| exchange(stage.address, bytes))).await;
        for answer in &answers {
            assert_eq!((answer.status, answer.header("x-hooks-sequence")), (503, None), "{begin}");
        }
        assert_eq!(stage.count("hub").await, 0, "{begin}");
        client.batch_execute(end).await.expect("the end of it");
    }
    let requests: Vec<_> = (0..5).map(|at| harmless(at).0).collect();
    let answers = join_all(requests.iter().map(|bytes| exchange(stage.address, bytes))).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
}

#[tokio::test]
async fn an_event_that_append_returns_no_row_for_is_not_acknowledged() {
    let (stage, _proxy) = behind_a_proxy("1s").await;
    // Another timeline, and heads that may not be raised: append writes nothing and says so by returning nothing.
    stage
        .db
        .client()
        .await
        .batch_execute(
            "update log_state set timeline = 'another';
             create or replace function raise_heads(force bool default false) returns bool language sql as 'select false'",
        )
        .await
        .expect("sabotage");
    let answer = stage.post("hub", &hub("d", b"1"), b"1").await;
    assert_eq!((answer.status, answer.header("x-hooks-sequence")), (503, None));
    assert_eq!(stage.count("hub").await, 0);
    stage.db.execute("update log_state set timeline = current_timeline()", &[]).await;
    assert_eq!(stage.post("hub", &hub("d", b"1"), b"1").await.status, 200);
}

#[tokio::test]
async fn a_missing_partition_is_the_databases_fault_and_not_the_events() {
    let stage = Stage::with(&format!("ingest: {{commit_deadline: 1s}}{SOURCES}")).await;
    let today: String = stage
        .db
        .query_one("select 'events_' || to_char(now() at time zone 'UTC', 'YYYYMMDD')", &[])
        .await
        .get(0);
    let client = stage.db.client().await;
    client.batch_execute(&format!("alter table events detach partition {today}")).await.expect("detach");
    let headers: Headers = hub("d", b"1");
    let bytes = request("POST", "/ingest/hub", &borrowed(&headers), b"1");
    let answer = exchange(stage.address, &bytes).await;
    assert_eq!(answer.status, 503, "sending again will help: {}", answer.text());
    let attach = format!(
        "alter table events attach partition {today}
         for values from ('{0} 00:00+00') to ('{0} 24:00+00')",
        &today["events_".len()..]
    );
    client.batch_execute(&attach).await.expect("attach");
    assert_eq!(exchange(stage.address, &bytes).await.status, 200);
}
