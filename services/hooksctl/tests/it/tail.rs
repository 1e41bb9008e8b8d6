//! `tail` and `events`: looking.

use hooks_testkit::process::Signal;
use serde_json::Value;

use crate::support::{PATIENCE, Relay};

#[tokio::test]
async fn lines_are_plain_when_piped_and_json_is_one_object_a_line() {
    let relay = Relay::start().await;
    relay.store("one", b"{\"type\":\"greeting\"}").await;
    relay.store("two", b"\x1b[2J\"quoted\"").await;
    let text = relay.run(&["tail", "demo", "-n", "2"]).await.expect_success();
    let lines: Vec<&str> = text.stdout.lines().collect();
    assert!(lines[0].starts_with("demo seq=1 delivery=one"), "{}", lines[0]);
    assert!(!text.stdout.contains('\u{1b}'), "{:?}", text.stdout);
    assert!(text.stderr.contains("last seen: 2"), "{}", text.stderr);
    let json = relay.run(&["tail", "demo", "-n", "2", "--json"]).await.expect_success();
    let events: Vec<Value> =
        json.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(events[1]["source"], "demo");
    assert_eq!(events[1]["sequence"], 2);
    assert_eq!(events[1]["delivery_id"], "two");
    assert_eq!(events[1]["body"], "G1sySiJxdW90ZWQi");
}

#[tokio::test]
async fn latest_shows_new_events_only_and_skipped_ones_are_told() {
    let relay = Relay::start().await;
    relay.store("old", b"old").await;
    relay.age_everything().await;
    let latest = relay.ctl(&["tail", "demo", "--since", "latest", "--json"]).start();
    let all = relay.ctl(&["tail", "demo"]).start();
    all.wait_log("1 events (1..1) are older than the skew window", PATIENCE).await;
    hooks_testkit::until(PATIENCE, "both to listen", async || {
        let row = relay.db.query_one("select count(*) from listeners where source = 'demo'", &[]).await;
        row.get::<_, i64>(0) == 2
    })
    .await;
    relay.store("new", b"new").await;
    latest.wait_log("\"sequence\":2", PATIENCE).await;
    all.wait_log("seq=2", PATIENCE).await;
    for tail in [latest, all] {
        tail.signal(Signal::Int);
        assert_eq!(tail.wait_exit(PATIENCE).await.code(), Some(130));
        assert!(!tail.stdout().contains("delivery=old"), "{}", tail.stdout());
    }
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_it_quietly() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    let exe = hooks_testkit::process::binary("hooksctl");
    let script = format!("{} tail demo | head -n 1", exe.display());
    let output = tokio::task::spawn_blocking({
        let env = relay.env();
        move || std::process::Command::new("sh").args(["-c", &script]).envs(env).output().expect("run sh")
    });
    // head closes the pipe with the first line; the second finds it closed.
    hooks_testkit::until(PATIENCE, "tail to listen", async || {
        let row = relay.db.query_one("select count(*) from listeners", &[]).await;
        row.get::<_, i64>(0) == 1
    })
    .await;
    relay.store("two", b"2").await;
    let output = tokio::time::timeout(PATIENCE, output).await.expect("it ends").expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{said}");
}

#[tokio::test]
async fn stored_events_are_listed_and_shown() {
    let relay = Relay::start().await;
    for n in 1..=3 {
        relay.store(&format!("id-{n}"), format!("{{\"n\":{n}}}").as_bytes()).await;
    }
    relay.age_everything().await;
    let list = relay.run(&["events", "list", "demo"]).await.expect_success();
    let order: Vec<usize> = ["id-3", "id-2", "id-1"].map(|id| list.stdout.find(id).expect(id)).to_vec();
    assert!(order.is_sorted(), "{}", list.stdout);
    let some = relay.run(&["events", "list", "demo", "-n", "1", "--asc", "--json"]).await.expect_success();
    let first: Value = serde_json::from_str(some.stdout.trim()).expect("one line of JSON");
    assert_eq!(first["sequence"], 1);
    let shown = relay.run(&["events", "show", "demo", "2"]).await.expect_success();
    for part in ["id-2", "webhook-id: id-2", "{\"n\":2}"] {
        assert!(shown.stdout.contains(part), "no {part} in {}", shown.stdout);
    }
    let body = relay.run(&["events", "show", "demo", "2", "--body"]).await.expect_success();
    assert_eq!(body.stdout, "{\"n\":2}");
    let found = relay.run(&["events", "list", "demo", "--delivery-id", "id-1", "--json"]).await;
    assert_eq!(found.expect_success().stdout.lines().count(), 1);
}
