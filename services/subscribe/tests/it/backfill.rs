//! The ten cases of the catch-up policy (README, "Catch-up"), with the clock standing still at noon.

use crate::support::{NewEvent, PATIENCE, Relay, Setup, lines_about, sequences, sequences_until};
use hooks_shared::Clock;
use hooks_testkit::sse::Item;
use time::macros::datetime;
use time::{Duration, OffsetDateTime};

const NOON: OffsetDateTime = datetime!(2026-05-09 12:00 UTC);

async fn relay_at_noon(sources: &'static [&'static str]) -> Relay {
    let (clock, _) = Clock::fixed(NOON);
    Setup { sources, clock, ..Setup::default() }.start().await
}

/// Signed so many seconds before noon.
fn signed(seconds_ago: i64) -> NewEvent {
    NewEvent::signed(Some(NOON - Duration::seconds(seconds_ago)))
}

/// First drains that have ended.
const DRAINS: &str = "hooks_subscribe_initial_drains_total{source=\"render\"}";

const STALE: i64 = 600;
const FRESH: i64 = 60;

async fn relay_with(seconds_ago: &[i64]) -> Relay {
    let relay = relay_at_noon(&["render"]).await;
    for ago in seconds_ago {
        relay.writer.append_quietly(&signed(*ago)).await;
    }
    relay
}

/// What a fresh listener gets in its first drain from the beginning. A stale event behind it, which only the live
/// tail can send, marks the end.
async fn backfilled(relay: &Relay) -> Vec<i64> {
    let before = relay.metric(DRAINS).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    relay.wait_metric(DRAINS, |drains| drains > before).await;
    let marker = relay.writer.append(&signed(STALE)).await;
    let mut seen = Vec::new();
    loop {
        match stream.next_message(PATIENCE).await.sequence() {
            sequence if sequence == marker => return seen,
            sequence => seen.push(sequence),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_01_a_stale_event_is_skipped() {
    let relay = relay_with(&[STALE]).await;
    assert_eq!(backfilled(&relay).await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_02_a_fresh_event_is_sent() {
    let relay = relay_with(&[FRESH]).await;
    assert_eq!(backfilled(&relay).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_03_of_a_mixed_batch_only_the_fresh_are_sent_each_time() {
    let relay = relay_with(&[STALE, FRESH, STALE, FRESH]).await;
    assert_eq!(backfilled(&relay).await, [2, 4]);
    assert_eq!(backfilled(&relay).await, [2, 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_04_skipped_events_move_the_cursor() {
    let relay = relay_with(&[STALE, STALE]).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    assert_eq!(sequences_until(&mut stream, "skipped 2 stale events 1..2").await, Vec::<i64>::new());
    let live = relay.writer.append(&signed(0)).await;
    // A keepalive reads again: what the drain had left behind would come now.
    let first = stream.next_message(PATIENCE).await.sequence();
    assert_eq!((first, live), (3, 3));
    assert_eq!(sequences_until(&mut stream, "keepalive").await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_05_the_live_tail_does_not_filter() {
    let relay = relay_with(&[STALE]).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    sequences_until(&mut stream, "skipped").await;
    relay.writer.append(&signed(STALE)).await;
    assert_eq!(sequences(&mut stream, 1).await, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_06_exactly_at_the_window_is_sent() {
    let relay = relay_with(&[300]).await;
    assert_eq!(backfilled(&relay).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_07_an_event_from_the_future_is_sent() {
    let relay = relay_with(&[-60]).await;
    assert_eq!(backfilled(&relay).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_08_an_event_without_a_time_is_sent() {
    let relay = relay_at_noon(&["render"]).await;
    relay.writer.append_quietly(&NewEvent::signed(None)).await;
    assert_eq!(backfilled(&relay).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_09_a_skip_is_logged_without_body_or_signature() {
    let relay = relay_at_noon(&["case-nine"]).await;
    let event = NewEvent {
        source: "case-nine",
        delivery_id: Some("msg_logged"),
        headers: b"webhook-signature:v1,c2VjcmV0LXNpZ25hdHVyZQ==\n".to_vec(),
        body: b"a body that nobody logs".to_vec(),
        ..signed(STALE)
    };
    relay.writer.append_quietly(&event).await;
    let mut stream = relay.listen("/subscribe/case-nine?since=0").await;
    sequences_until(&mut stream, "skipped").await;

    let lines = lines_about("delivery_id", "msg_logged");
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    assert_eq!(line.level, log::Level::Debug);
    let expected = [
        ("age", "600s"),
        ("delivery_id", "msg_logged"),
        ("message", "skipping a stale event in a first drain"),
        ("seq", "1"),
        ("skew_window", "300s"),
        ("source", "case-nine"),
    ];
    let fields: Vec<_> = line.fields.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(fields, expected);
    let said = format!("{line:?}");
    for secret in ["nobody logs", "c2VjcmV0", &relay.token] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn backfill_case_10_an_unknown_source_is_404() {
    let relay = relay_at_noon(&["render"]).await;
    let answer = relay.get("/subscribe/stripe").await;
    assert_eq!((answer.status, answer.text().as_str()), (404, "unknown source\n"));
    // Also for whoever has no token: the source is looked at first.
    assert_eq!(relay.get_as("/subscribe/stripe", None).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_instant_and_one_microsecond_over_the_window_is_skipped() {
    let relay = relay_at_noon(&["render"]).await;
    let over = NOON - Duration::minutes(5) - Duration::microseconds(1);
    relay.writer.append_quietly(&NewEvent::signed(Some(over))).await;
    assert_eq!(backfilled(&relay).await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_newest_nothing_is_read_and_nothing_is_skipped() {
    let relay = relay_with(&[STALE, FRESH]).await;
    let mut stream = relay.listen("/subscribe/render?since=latest").await;
    assert_eq!(stream.next(PATIENCE).await, Item::Comment("keepalive".to_owned()));
    relay.writer.append(&signed(STALE)).await;
    assert_eq!(sequences(&mut stream, 1).await, [3]);
}

/// Everything that a skip must leave as it was.
async fn rows_everywhere(relay: &Relay) -> Vec<(String, i64)> {
    let tables = relay
        .db
        .query(
            "select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
                and relname not in ('listeners', 'service_instances') order by 1",
            &[],
        )
        .await;
    let mut counts = Vec::new();
    for table in tables {
        let name: String = table.get(0);
        let query = format!("select count(*), coalesce(max(xmin::text::bigint), 0) from {name}");
        let row = relay.db.query_one(&query, &[]).await;
        counts.push((format!("{name} {}", row.get::<_, i64>(1)), row.get(0)));
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skip_writes_no_row_anywhere() {
    let relay = relay_with(&[STALE, STALE, FRESH]).await;
    // The use of the token is noted first, which is a write of its own.
    drop(relay.listen("/subscribe/render?since=latest").await);
    hooks_testkit::until(PATIENCE, "the token's use to be noted", async || {
        let row = relay.db.query_one("select count(*) from tokens where last_used_at is not null", &[]).await;
        row.get::<_, i64>(0) == 1
    })
    .await;
    let before = rows_everywhere(&relay).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    assert_eq!(sequences_until(&mut stream, "skipped 2 stale events 1..2").await, [3]);
    assert_eq!(rows_everywhere(&relay).await, before);
}
