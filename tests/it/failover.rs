//! A standby takes over that never got the last commits: numbers stay unique, and who has seen lost ones is told.

use std::net::SocketAddr;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{exchange, request};
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::proxy::Proxy;
use hooks_testkit::sign::borrowed;
use hooks_testkit::until;

use crate::relay::{PATIENCE, SOURCES, listen, make_token, signed, start};

fn address(cluster: &Cluster) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], cluster.port()))
}

/// Sends until it is accepted; the event's number.
async fn store(ingest: SocketAddr, id: &str) -> i64 {
    let bytes = request("POST", "/ingest/one", &borrowed(&signed(id, b"{}")), b"{}");
    until(PATIENCE, &format!("{id} to be accepted"), async || {
        let answer = exchange(ingest, &bytes).await;
        let number = answer.header("x-hooks-sequence").and_then(|text| text.parse().ok());
        number.ok_or(answer.status)
    })
    .await
}

#[tokio::test]
async fn a_listener_ahead_of_a_log_that_lost_its_end_is_told_and_gets_everything_new() {
    let primary = Cluster::start(Options::default()).await;
    let db = TestDb::on(&primary).await;
    make_token(&db).await;
    let replication = Proxy::to(address(&primary)).await;
    let standby = primary.standby_via(replication.addr()).await;
    let link = Proxy::to(address(&primary)).await;
    let config = ConfigFile::write(SOURCES);
    let ingest = start("ingest", &config, &link.url(&db.url_for("ingest"))).await;
    let subscribe = start("subscribe", &config, &link.url(&db.url_for("subscribe"))).await;
    let (ingest_at, subscribe_at) = (ingest.address().await, subscribe.address().await);

    for n in 1..=5 {
        assert_eq!(store(ingest_at, &format!("kept-{n}")).await, n);
    }
    standby.caught_up_with(&primary, PATIENCE).await;
    replication.refuse().await;
    replication.cut().await;
    for n in 6..=8 {
        assert_eq!(store(ingest_at, &format!("lost-{n}")).await, n);
    }
    let mut open = listen(subscribe_at, "one", 0).await;
    let seen: Vec<_> =
        open.collect_until(8, PATIENCE).await.iter().map(|message| message.sequence()).collect();
    assert_eq!(seen, (1..=8).collect::<Vec<_>>());

    primary.stop(StopMode::Immediate).await;
    standby.promote().await;
    link.retarget(address(&standby));
    link.cut().await;
    subscribe.wait_log("the log became shorter", PATIENCE).await;

    let mut back = listen(subscribe_at, "one", 8).await;
    back.collect_until_comment("ahead of log", PATIENCE).await;
    assert_eq!(store(ingest_at, "lost-6").await, 1_000_006);
    assert_eq!(back.next_message(PATIENCE).await.sequence(), 1_000_006);
    assert_eq!(
        open.next_message(PATIENCE).await.sequence(),
        1_000_006,
        "also on the stream that stayed open"
    );
    assert_eq!(store(ingest_at, "new").await, 1_000_007);
    assert_eq!(back.next_message(PATIENCE).await.sequence(), 1_000_007);
    let mut fresh = listen(subscribe_at, "one", 3).await;
    let seen: Vec<_> =
        fresh.collect_until(4, PATIENCE).await.iter().map(|message| message.sequence()).collect();
    assert_eq!(seen, [4, 5, 1_000_006, 1_000_007]);
}
