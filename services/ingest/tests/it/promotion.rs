//! A standby that was promoted although it had not received the last commits.

use crate::stage::{PATIENCE, SOURCES, Stage, launch, plain, post, sequence};
use hooks_testkit::db::TestDb;
use hooks_testkit::http::exchange;
use hooks_testkit::load::assert_gapless;
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::proxy::Proxy;
use hooks_testkit::until;
use std::net::SocketAddr;

fn address(cluster: &Cluster) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], cluster.port()))
}

#[tokio::test]
async fn no_number_is_given_twice_after_a_promotion_that_lost_commits() {
    let primary = Cluster::start(Options::default()).await;
    let db = TestDb::on(&primary).await;
    let name = db.name().to_owned();
    let replication = Proxy::to(address(&primary)).await;
    let standby = primary.standby_via(replication.addr()).await;
    let url = db.url_for("ingest");
    let proxy = Proxy::to_database(&url).await;
    let through = proxy.url(&url);
    let stage = Stage::on(db, &through, SOURCES).await;
    let second = launch(&stage.config, &through).start_ready(PATIENCE).await;
    for n in 1..=5 {
        assert_eq!(stage.store(&format!("kept-{n}")).await, n);
    }
    standby.caught_up_with(&primary, PATIENCE).await;
    replication.refuse().await;
    replication.cut().await;
    for n in 6..=10 {
        assert_eq!(stage.store(&format!("lost-{n}")).await, n);
    }
    assert_gapless(&stage.db).await;

    primary.stop(StopMode::Immediate).await;
    standby.promote().await;
    proxy.retarget(address(&standby));
    proxy.cut().await;

    let send = async |service: SocketAddr, id: &str| {
        let bytes = post("plain", &plain(id, b"{}"), b"{}");
        until(PATIENCE, &format!("{id} to be accepted"), async || {
            let answer = exchange(service, &bytes).await;
            if answer.status < 300 { Ok((answer.status, sequence(&answer))) } else { Err(answer.status) }
        })
        .await
    };
    let second = second.address().await;
    // Not known there any more, so new; and never under a number that anybody has seen.
    assert_eq!(send(stage.address, "lost-6").await, (202, 1_000_006));
    assert_eq!(send(second, "lost-7").await, (202, 1_000_007), "raised once, whoever comes");
    assert_eq!(send(stage.address, "kept-5").await, (200, 5));
    let client = standby.superuser_client(&name).await;
    let idle: i64 = client
        .query_one("select last_sequence from source_heads where source = 'hub'", &[])
        .await
        .expect("query")
        .get(0);
    assert_eq!(idle, 1_000_000, "sources that were silent meanwhile count as well");
    stage.service.wait_ready(PATIENCE).await;
    let line = stage.service.wait_log("a million higher", PATIENCE).await;
    assert!(line.contains("WARN"), "{line}");
}
