//! A laptop that sleeps: the link dies without a word.

use hooks_testkit::proxy::Proxy;
use hooks_testkit::receiver::Receiver;
use hooks_testkit::until;

use crate::support::{PATIENCE, Relay, SECRET};

#[tokio::test]
async fn a_dead_link_is_noticed_and_what_was_missed_is_said() {
    let relay = Relay::configured(&format!(
        "subscribe:\n  keepalive: 400ms\n  stall_timeout: 60s\nsources:\n  demo:\n    verifier: standard_webhooks\n    \
         secret: {SECRET}\n    skew_window: 3s\n"
    ))
    .await;
    let receiver = Receiver::start().await;
    let proxy = Proxy::to(relay.subscribe.address().await).await;
    let server = format!("http://{}", proxy.addr());
    relay.store("seen", b"seen").await;
    let forward =
        relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook")]).env("HOOKS_SERVER", &server).start();
    receiver.wait_for(1, PATIENCE).await;
    until(PATIENCE, "the cursor to move", async || relay.cursor_is(1)).await;

    proxy.blackhole().await;
    relay.store("missed-1", b"missed 1").await;
    relay.store("missed-2", b"missed 2").await;
    // Without the keepalive that the relay announced it would not be noticed before PATIENCE is over.
    forward.wait_log("nothing came for", PATIENCE).await;

    until(PATIENCE, "the missed events to be stale", async || {
        let stale = "select count(*) from events where provider_timestamp < now() - interval '4 seconds'";
        let row = relay.db.query_one(stale, &[]).await;
        row.get::<_, i64>(0) == 3
    })
    .await;
    let fresh = relay.store("fresh", b"fresh").await;
    proxy.pass().await;
    forward.wait_log("connected again: 3 events behind (last seen 1, newest 4)", PATIENCE).await;
    let hint = format!("hooksctl replay demo 2..3 --to {}", receiver.url("/hook"));
    forward.wait_log(&hint, PATIENCE).await;
    receiver.wait_for(2, PATIENCE).await;
    until(PATIENCE, "the cursor to arrive", async || relay.cursor_is(fresh)).await;
    let bodies: Vec<_> = receiver.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [&b"seen"[..], b"fresh"]);

    // The command that was shown brings what was left out.
    relay.run(&["replay", "demo", "2..3", "--to", &receiver.url("/hook")]).await.expect_success();
    let bodies: Vec<_> = receiver.requests().into_iter().map(|request| request.body).skip(2).collect();
    assert_eq!(bodies, [&b"missed 1"[..], b"missed 2"]);
}

#[tokio::test]
async fn a_target_that_is_down_for_long_costs_no_event() {
    let relay = Relay::configured(&format!(
        "subscribe:\n  keepalive: 400ms\n  stall_timeout: 2s\nsources:\n  demo:\n    verifier: standard_webhooks\n    \
         secret: {SECRET}\n    skew_window: 2s\n"
    ))
    .await;
    let receiver = Receiver::start().await;
    let gate = hooks_testkit::gate::Gate::closed();
    receiver.respond("/hook", hooks_testkit::receiver::Script::status(200).after(gate.clone()));
    let forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/hook")]).start();
    forward.wait_log("connected", PATIENCE).await;
    for n in 1..=20 {
        relay.store(&format!("id-{n}"), n.to_string().as_bytes()).await;
    }
    // Longer than the window, and longer than the server would bear a reader that takes nothing.
    until(PATIENCE, "all to be stale", async || {
        let stale = "select count(*) from events where provider_timestamp < now() - interval '4 seconds'";
        relay.db.query_one(stale, &[]).await.get::<_, i64>(0) == 20
    })
    .await;
    gate.open();
    until(PATIENCE, "all to be delivered", async || relay.cursor_is(20)).await;
    assert_eq!(receiver.requests().len(), 20);
    assert!(!forward.logs().contains("skipped"), "{}", forward.logs());
}
