//! Events that somebody asked to be sent again to everybody who listens.

use crate::support::{NewEvent, PATIENCE, Relay, Setup, sequences};
use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::proxy::{At, Proxy};
use hooks_testkit::sse::Item;
use hooks_testkit::until;

async fn request(relay: &Relay, source: &str, sequence: i64) {
    relay
        .db
        .execute(
            "with head as (update replay_head set last_number = last_number + 1 returning last_number)
             insert into replay_requests (number, source, sequence, received_at, requested_by)
             select last_number, $1, $2, coalesce((select received_at from events where source = $1 and sequence = $2),
                 now()), 'test' from head",
            &[&source, &sequence],
        )
        .await;
}

async fn ask(relay: &Relay, source: &str, sequence: i64) {
    request(relay, source, sequence).await;
    relay.writer.notify("!replay").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_reaches_every_listener_and_moves_no_cursor() {
    let relay = Relay::start().await;
    for _ in 0..3 {
        relay.writer.append_quietly(&NewEvent::fresh()).await;
    }
    let mut begun = relay.listen("/subscribe/render?since=0").await;
    let mut past = relay.listen("/subscribe/render?since=latest").await;
    assert_eq!(sequences(&mut begun, 3).await, [1, 2, 3]);
    ask(&relay, "render", 2).await;
    for stream in [&mut begun, &mut past] {
        let message = stream.next_message(PATIENCE).await;
        assert_eq!((&message.id, message.event.as_deref()), (&None, Some("render")));
        let json = message.json();
        assert_eq!((&json["replay"], &json["sequence"]), (&true.into(), &2.into()));
        assert!(message.alone_in_chunk);
    }
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut begun, 1).await, [4]);
    assert_eq!(sequences(&mut past, 1).await, [4]);
    // Who comes later is not meant.
    let mut late = relay.listen("/subscribe/render?since=3").await;
    assert_eq!(sequences(&mut late, 1).await, [4]);
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut late, 1).await, [5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn replays_come_in_the_order_in_which_they_were_asked_for() {
    let relay = Relay::start().await;
    for _ in 0..150 {
        relay.writer.append_quietly(&NewEvent::fresh()).await;
    }
    let mut stream = relay.listen("/subscribe/render?since=latest").await;
    // Without a hint: the poll finds them.
    for sequence in (1..=150).rev() {
        request(&relay, "render", sequence).await;
    }
    request(&relay, "nowhere", 1).await;
    request(&relay, "render", 999).await;
    request(&relay, "render", 7).await;
    let messages = stream.collect_until(151, PATIENCE).await;
    let order: Vec<i64> = messages.iter().filter_map(|message| message.json()["sequence"].as_i64()).collect();
    let expected: Vec<i64> = (1..=150).rev().chain([7]).collect();
    assert_eq!(order, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_before_the_process_began_is_not_its_business() {
    let relay = Relay::start().await;
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let Relay { db, running, writer, .. } = relay;
    running.stop().await;
    db.execute("update replay_head set last_number = 1", &[]).await;
    db.execute(
        "insert into replay_requests (number, source, sequence, received_at, requested_by)
             select 1, source, sequence, received_at, 'test' from events",
        &[],
    )
    .await;
    drop(writer);
    let relay = Setup::default().start_on(db).await;
    let mut stream = relay.listen("/subscribe/render?since=latest").await;
    ask(&relay, "render", 1).await;
    let message = stream.next_message(PATIENCE).await;
    assert_eq!(message.json()["replay"], true);
    until(PATIENCE, "one replay", async || {
        relay.metric("hooks_subscribe_replays_total{source=\"render\"}").await == 1.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_drain_that_waits_for_the_database_says_only_keepalive_and_gets_the_replay_afterwards() {
    let db = TestDb::create().await;
    let url = db.url_for("subscribe");
    let proxy = Proxy::to_database(&url).await;
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 2s, ring_bytes: 5KiB}\n";
    let relay = Setup { settings, ..Setup::default() }.start_via(db, &proxy.url(&url)).await;
    for signed_hours_ago in [0, 0, 2, 0, 0] {
        let signed = crate::support::now() - time::Duration::hours(signed_hours_ago);
        let event = NewEvent { body: vec![b'x'; 2_000], ..NewEvent::signed(Some(signed)) };
        relay.writer.append_quietly(&event).await;
    }
    let gate = Gate::closed();
    // The first events are behind the ring: where they lie is asked of the log.
    let held = proxy.hold_when(At::sql_with("from event_days"), gate.clone());
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    held.wait(PATIENCE).await;
    for _ in 0..2 {
        assert_eq!(stream.next(PATIENCE).await, Item::Comment("keepalive".to_owned()));
    }
    ask(&relay, "render", 3).await;
    relay.wait_metric("hooks_subscribe_replays_total{source=\"render\"}", |replays| replays == 1.0).await;
    gate.open();
    let mut order = Vec::new();
    while order.len() < 6 {
        match stream.next(PATIENCE).await {
            Item::Message(message) => order.push(message.id.unwrap_or_else(|| "replay".to_owned())),
            Item::Comment(comment) if comment == "keepalive" => {}
            Item::Comment(comment) => order.push(comment),
        }
    }
    assert_eq!(order, ["1", "2", "4", "5", "skipped 1 stale events 3..3", "replay"]);
}
