//! A database that does not answer, refuses, or takes no writes: 503 in time, and nothing has to be restarted.

use crate::stage::{PATIENCE, SOURCES, Stage, plain, post, sequence};
use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::http::{RawResponse, exchange, get};
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::proxy::{At, Proxy};
use hooks_testkit::until;
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(2);
/// What may come on top of the deadline on a busy machine; the service's own last resort is five seconds later.
const SLACK: Duration = Duration::from_millis(4500);

async fn stage_on(db: TestDb, url: &str) -> Stage {
    Stage::on(db, url, &format!("ingest: {{commit_deadline: {}s}}{SOURCES}", DEADLINE.as_secs())).await
}

async fn behind_a_proxy() -> (Stage, Proxy) {
    let db = TestDb::create().await;
    let url = db.url_for("ingest");
    let proxy = Proxy::to_database(&url).await;
    let through = proxy.url(&url);
    (stage_on(db, &through).await, proxy)
}

async fn send(stage: &Stage, id: &str) -> RawResponse {
    exchange(stage.address, &post("plain", &plain(id, b"{}"), b"{}")).await
}

/// The request is answered with 503 around the deadline, not much later.
async fn unavailable(stage: &Stage, id: &str) {
    let start = Instant::now();
    let answer = send(stage, id).await;
    assert_eq!((answer.status, answer.text()), (503, "not known to be stored, send it again\n".into()));
    assert!(answer.header("retry-after").is_some());
    assert!(start.elapsed() < DEADLINE + SLACK, "after {:?}", start.elapsed());
}

/// The same event, sent again as its provider would, is accepted; how it is numbered.
async fn accepted_again(stage: &Stage, id: &str) -> i64 {
    until(PATIENCE, "the event to be accepted", async || {
        let answer = send(stage, id).await;
        if answer.status < 300 { Ok(sequence(&answer)) } else { Err(answer.status) }
    })
    .await
}

async fn readiness(stage: &Stage, word: &str) {
    let admin = stage.service.admin().await;
    until(PATIENCE, &format!("/readyz to be red with {word:?}"), async || {
        let answer = get(admin, "/readyz", &[]).await;
        if answer.status == 503 && answer.text().contains(word) { Ok(()) } else { Err(answer.text()) }
    })
    .await;
    assert_eq!(get(stage.address, "/healthz", &[]).await.status, 200, "alive all the same");
}

#[tokio::test]
async fn a_frozen_server_means_503_in_time_and_nothing_twice_when_it_thaws() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let url = db.url_for("ingest");
    let stage = stage_on(db, &url).await;
    assert_eq!(stage.store("before").await, 1);
    cluster.freeze();
    unavailable(&stage, "during").await;
    unavailable(&stage, "during, later").await;
    readiness(&stage, "database: ").await;
    cluster.thaw();
    accepted_again(&stage, "during").await;
    accepted_again(&stage, "during, later").await;
    stage.service.wait_ready(PATIENCE).await;
    assert_eq!(stage.count("plain").await, 3);
}

#[tokio::test]
async fn a_link_that_swallows_everything_means_503_in_time_and_is_replaced() {
    let (stage, proxy) = behind_a_proxy().await;
    stage.store("before").await;
    proxy.blackhole().await;
    unavailable(&stage, "during").await;
    unavailable(&stage, "during, later").await;
    readiness(&stage, "database: ").await;
    // The old connections stay dead, as after a failover of the address.
    proxy.cut().await;
    proxy.pass().await;
    accepted_again(&stage, "during").await;
    accepted_again(&stage, "during, later").await;
    stage.service.wait_ready(PATIENCE).await;
    assert_eq!(stage.count("plain").await, 3);
}

/// Wherever in its conversation with the server a lane is when the link goes silent.
#[tokio::test]
async fn no_silent_statement_holds_a_lane_for_ever() {
    for (statement, holds_locks) in [
        ("begin", false),
        ("for no key update", false),
        ("find_repeats(", true),
        ("commit", true),
        ("as timeline_changed", false),
        ("raise_heads()", false),
    ] {
        let (stage, proxy) = behind_a_proxy().await;
        // Makes append return nothing, so that the lane asks why, and mends it.
        stage.db.execute("update log_state set timeline = 'another'", &[]).await;
        let trip = proxy.hold_when(At::sql_with(statement), Gate::closed());
        let answer = send(&stage, "d").await;
        assert!(matches!(answer.status, 202 | 503), "{statement}: {}", answer.status);
        assert_eq!(trip.fired(), 1, "{statement}");
        if holds_locks {
            // The server keeps them for its half of a dead link; its own checks of the link end that.
            proxy.cut().await;
        }
        accepted_again(&stage, "d").await;
        assert_eq!(stage.count("plain").await, 1, "{statement}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_means_503_and_is_found_again() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let url = db.url_for("ingest");
    let stage = stage_on(db, &url).await;
    cluster.stop(StopMode::Fast).await;
    unavailable(&stage, "during").await;
    readiness(&stage, "database: ").await;
    cluster.start_again().await;
    assert_eq!(accepted_again(&stage, "during").await, 1);
    stage.service.wait_ready(PATIENCE).await;
}

#[tokio::test]
async fn a_demoted_server_takes_nothing_and_is_not_stormed() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let url = db.url_for("ingest");
    let proxy = Proxy::to_database(&url).await;
    let through = proxy.url(&url);
    let stage = stage_on(db, &through).await;
    stage.store("before").await;
    let admin = cluster.superuser_client("postgres").await;
    let set = async |value: &str| {
        let alter = format!("alter system set default_transaction_read_only = {value}");
        admin.batch_execute(&alter).await.expect("alter system");
        admin.execute("select pg_reload_conf()", &[]).await.expect("reload");
    };
    set("on").await;
    readiness(&stage, "read-only").await;
    let connections = proxy.accepted();
    unavailable(&stage, "during").await;
    unavailable(&stage, "during, later").await;
    let made = proxy.accepted() - connections;
    assert!(made < 60, "{made} connections in {:?}", DEADLINE * 2);
    admin.batch_execute("set default_transaction_read_only = off").await.expect("set");
    set("off").await;
    accepted_again(&stage, "during").await;
    stage.service.wait_ready(PATIENCE).await;
    assert_eq!(stage.count("plain").await, 2);
}
