//! What counts as the same event. Time is moved in the rows.

use crate::stage::{PATIENCE, SECRET, SOURCES, Stage, bare, hub, launch, plain, post, sequence};
use hooks_testkit::http::exchange;
use hooks_testkit::sign::{self, now};

/// Makes every event of a source, and its head, older.
async fn age(stage: &Stage, source: &str, by: &str) {
    let client = stage.db.client().await;
    let sql = format!(
        "select create_events_partition(day::date)
            from generate_series(now() - interval '4 days', now(), interval '1 day') day;
         update events set received_at = received_at - interval '{by}' where source = '{source}';
         update source_heads set last_received_at = last_received_at - interval '{by}' where source = '{source}';"
    );
    client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
}

#[tokio::test]
async fn equal_bodies_ten_minutes_apart_are_events_of_their_own_where_nothing_else_tells_them_apart() {
    let stage = Stage::start().await;
    let mut numbers = Vec::new();
    for body in ["up", "down", "up"] {
        let answer = stage.post("bare", &bare(body.as_bytes()), body.as_bytes()).await;
        assert_eq!(answer.status, 202, "{body}: {}", answer.text());
        numbers.push(sequence(&answer));
        // A sender that tries again right away is recognised.
        let again = stage.post("bare", &bare(body.as_bytes()), body.as_bytes()).await;
        assert_eq!((again.status, sequence(&again)), (200, sequence(&answer)), "{body}");
        age(&stage, "bare", "10 minutes").await;
    }
    assert_eq!(numbers, [1, 2, 3]);
}

#[tokio::test]
async fn eight_connections_with_one_delivery_make_one_row() {
    // To two processes: within one, a lane already puts them in a row.
    let stage = Stage::start().await;
    let url = stage.db.url_for("ingest");
    let second = launch(&stage.config, &url).start_ready(PATIENCE).await;
    let addresses = [stage.address, second.address().await];
    for round in 0..20 {
        let id = format!("msg_{round}");
        let bytes = post("plain", &plain(&id, b"{}"), b"{}");
        let eight = (0..8).map(|n| exchange(addresses[n % 2], &bytes));
        let answers = futures_util::future::join_all(eight).await;
        let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 202], "one is new, seven are repeats");
        assert!(answers.iter().all(|answer| sequence(answer) == round + 1));
    }
    assert_eq!(stage.count("plain").await, 20);
}

#[tokio::test]
async fn the_same_id_is_the_same_event_whatever_else_has_changed() {
    let stage = Stage::start().await;
    assert_eq!(stage.post("hub", &hub("d", b"1"), b"1").await.status, 200);
    let changed = stage.post("hub", &hub("d", b"2"), b"2").await;
    assert_eq!((changed.status, sequence(&changed)), (200, 1));
    // Ids are a matter of one source.
    let elsewhere = stage.post("plain", &plain("d", b"1"), b"1").await;
    assert_eq!((elsewhere.status, sequence(&elsewhere)), (202, 1));
}

#[tokio::test]
async fn without_an_id_the_signed_time_tells_events_apart() {
    let stage = Stage::start().await;
    let body = b"{\"type\":\"no id\"}";
    let at = now();
    for (at, expected) in [(at - 1, 1), (at, 2), (at - 1, 1)] {
        let answer = stage.post("pay", &sign::stripe(SECRET, at, body), body).await;
        assert_eq!((answer.status, sequence(&answer)), (200, expected));
    }
}

/// Each source's window: its own, else five minutes where only the body tells, else the top level's, else a day.
#[tokio::test]
async fn a_window_ends_where_it_says() {
    let stage = Stage::with(&format!(
        "dedupe_window: 2h{SOURCES}
  short: {{verifier: github, secret: s3cret-of-the-tests, dedupe_window: 90s}}
  long: {{verifier: github, secret: s3cret-of-the-tests, dedupe_window: 72h}}
  body: {{verifier: {{type: hmac, signature: ['header:X-Signature'], signed: '{{body}}'}},
          secret: s3cret-of-the-tests, dedupe_window: 1h}}"
    ))
    .await;
    for (source, just_inside, to_just_outside) in [
        ("hub", "1 hour 59 minutes 30 seconds", "35 seconds"),
        ("short", "60 seconds", "35 seconds"),
        ("long", "71 hours 59 minutes 30 seconds", "35 seconds"),
        ("bare", "4 minutes 30 seconds", "35 seconds"),
        ("body", "59 minutes 30 seconds", "35 seconds"),
    ] {
        let headers = [hub("d", b"x"), bare(b"x")].concat();
        let first = stage.post(source, &headers, b"x").await;
        assert_eq!(sequence(&first), 1, "{source}");
        age(&stage, source, just_inside).await;
        let inside = stage.post(source, &headers, b"x").await;
        assert_eq!(sequence(&inside), 1, "{source} after {just_inside}");
        age(&stage, source, to_just_outside).await;
        let outside = stage.post(source, &headers, b"x").await;
        assert_eq!(sequence(&outside), 2, "{source} after {just_inside} and {to_just_outside}");
    }
}

#[tokio::test]
async fn the_built_in_window_is_a_day() {
    let stage = Stage::start().await;
    stage.post("hub", &hub("d", b"x"), b"x").await;
    age(&stage, "hub", "23 hours 59 minutes 30 seconds").await;
    assert_eq!(sequence(&stage.post("hub", &hub("d", b"x"), b"x").await), 1);
    age(&stage, "hub", "35 seconds").await;
    assert_eq!(sequence(&stage.post("hub", &hub("d", b"x"), b"x").await), 2);
}

#[tokio::test]
async fn where_it_is_off_every_request_is_an_event() {
    let stage = Stage::with(
        "sources:
          all: {verifier: github, secret: s3cret-of-the-tests, dedupe_window: off}",
    )
    .await;
    let bytes = post("all", &hub("d", b"x"), b"x");
    let answers = futures_util::future::join_all((0..20).map(|_| exchange(stage.address, &bytes))).await;
    let mut numbers: Vec<_> = answers.iter().map(sequence).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
}
