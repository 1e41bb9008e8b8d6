//! `deliveries` and `events replay`: what is owed, by one and by filter.

use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::until;
use serde_json::json;

use crate::operators::Operators;
use crate::support::{PATIENCE, assert_says};

#[tokio::test]
async fn failed_deliveries_are_planned_and_replayed_by_filter_and_by_id() {
    let desk = Operators::start("").await;
    let receiver = Receiver::start().await;
    receiver.respond("/a", Script::status(500));
    desk.add("a", &receiver.url("/a"), &["--retry", "[]"]).await;
    for n in 1..=4 {
        desk.relay.store(&format!("id-{n}"), b"{}").await;
    }
    let failed = desk.wait_for("a", "failed", 4, 1).await;
    let why = desk.why(&failed[0]).await;
    assert!(why.contains("every attempt of its schedule is spent") && why.contains("status 500"), "{why}");
    let plan = desk.json(&["deliveries", "replay", "-s", "a", "--dry-run"]).await.remove(0);
    assert_eq!((&plan["count"], &plan["dry_run"]), (&json!(4), &json!(true)));
    let none = desk.json(&["deliveries", "replay", "-s", "a", "--status", "503", "--dry-run"]).await;
    assert_eq!(none[0]["count"], 0);
    assert_says(&desk.run(&["deliveries", "replay", "--source", "demo"]).await, 2, &["4 failed", "--yes"]);
    assert_says(&desk.run(&["deliveries", "replay"]).await, 2, &["--all"]);
    receiver.respond("/a", Script::status(200));
    assert_says(&desk.run(&["deliveries", "replay", &failed[0]]).await, 0, &["replayed dlv_"]);
    desk.wait_for("a", "delivered", 1, 2).await;
    let done = desk.run(&["deliveries", "replay", "--source", "demo", "--status", "500", "--yes"]).await;
    assert_says(&done, 0, &["3 failed deliveries", "replayed 3"]);
    desk.wait_for("a", "delivered", 4, 2).await;
    assert_says(&desk.run(&["deliveries", "replay", "--all", "--yes"]).await, 3, &["no failed delivery"]);
    let again = desk.run(&["deliveries", "replay", &failed[0]]).await;
    assert_says(&again, 4, &["delivered", "only a failed one"]);
    let mixed = desk.run(&["deliveries", "replay", &failed[0], "dlv_nosuch"]).await;
    assert_says(&mixed, 4, &["dlv_nosuch"]);
}

#[tokio::test]
async fn pending_deliveries_are_cancelled_and_a_pause_is_named() {
    let desk = Operators::start("  retry: {schedule: [1h]}\n").await;
    let receiver = Receiver::start().await;
    receiver.respond("/a", Script::status(503).header("Retry-After", "7200"));
    desk.add("a", &receiver.url("/a"), &[]).await;
    for n in 1..=3 {
        desk.relay.store(&format!("id-{n}"), b"{}").await;
    }
    let pending = desk.wait_for("a", "pending", 3, 1).await;
    let why = desk.why(&pending[0]).await;
    assert!(why.contains("Retry-After") && why.contains("status 503"), "{why}");
    desk.run(&["push", "pause", "a", "-r", "too loud"]).await.expect_success();
    let why = desk.why(&pending[0]).await;
    assert!(why.contains("the subscription is paused by") && why.contains("too loud"), "{why}");
    assert_says(&desk.run(&["deliveries", "cancel", &pending[0]]).await, 0, &["cancelled dlv_"]);
    assert_says(&desk.run(&["deliveries", "cancel", &pending[0]]).await, 4, &["only a pending one"]);
    let plan = desk.json(&["deliveries", "cancel", "-s", "a", "--dry-run"]).await.remove(0);
    assert_eq!(plan["count"], 2);
    let later = desk.json(&["deliveries", "cancel", "-s", "a", "--to", "1h", "--dry-run"]).await.remove(0);
    assert_eq!(later["count"], 0);
    assert_says(&desk.run(&["deliveries", "cancel", "-s", "a"]).await, 2, &["2 pending", "--yes"]);
    assert_says(&desk.run(&["deliveries", "cancel", "-s", "a", "-y"]).await, 0, &["cancelled 2"]);
    let list = desk.run(&["deliveries", "list", "--state", "cancelled", "-n", "2"]).await.expect_success();
    assert_eq!(list.stdout.lines().count(), 2, "{}", list.stdout);
    assert!(list.stderr.contains("there are more"), "{}", list.stderr);
}

#[tokio::test]
async fn an_event_is_sent_again_to_listeners_and_to_push() {
    let desk = Operators::start("").await;
    let receiver = Receiver::start().await;
    desk.add("a", &receiver.url("/a"), &[]).await;
    desk.relay.store("one", b"{\"n\":1}").await;
    desk.wait_for("a", "delivered", 1, 1).await;
    let listener = desk.relay.ctl(&["tail", "demo", "--since", "latest", "--json"]).start();
    until(PATIENCE, "the listener", async || {
        let row = desk.relay.db.query_one("select count(*) from listeners", &[]).await;
        row.get::<_, i64>(0) == 1
    })
    .await;
    let both = ["events", "replay", "demo", "1", "--to-listeners", "--to-push", "a"];
    let done = desk.run(&both).await.expect_success();
    assert!(done.stdout.starts_with("dlv_") && done.stderr.contains("listeners"), "{done:?}");
    let arrived = receiver.wait_for(2, PATIENCE).await;
    assert_eq!(arrived[1].header("x-hooks-replay"), Some("1"));
    listener.wait_log("\"replay\":true", PATIENCE).await;
    assert_says(&desk.run(&["events", "replay", "demo", "1"]).await, 2, &["--to-listeners"]);
    let missing = desk.run(&["events", "replay", "demo", "99", "--to-push", "all"]).await;
    assert_says(&missing, 3, &["event demo/99"]);
}
