//! Events that somebody asked to be sent again to everybody who listens.

use crate::support::{NewEvent, PATIENCE, Relay, sequences};
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
    let relay = crate::support::Setup::default().start_on(db).await;
    let mut stream = relay.listen("/subscribe/render?since=latest").await;
    ask(&relay, "render", 1).await;
    let message = stream.next_message(PATIENCE).await;
    assert_eq!(message.json()["replay"], true);
    until(PATIENCE, "one replay", async || {
        relay.metric("hooks_subscribe_replays_total{source=\"render\"}").await == 1.0
    })
    .await;
}
