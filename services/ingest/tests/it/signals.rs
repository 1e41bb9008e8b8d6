//! SIGHUP and SIGTERM.

use crate::stage::{FEEDS, PATIENCE, SOURCES, Stage, ask, hub, plain, post};
use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::http::{RawConnection, exchange, get};
use hooks_testkit::load::Load;
use hooks_testkit::process::Signal;
use hooks_testkit::proxy::{At, Proxy};
use hooks_testkit::until;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_changed_configuration_takes_effect_on_sighup_without_a_lost_connection() {
    let stage = Stage::start().await;
    let mut connection = RawConnection::connect(stage.address).await;
    let fresh = |id: &str| post("fresh", &hub(id, b"1"), b"1");
    assert_eq!(ask(&mut connection, &fresh("d")).await.status, 404);
    // An unknown source's body is not read, which ends the connection.
    let mut connection = RawConnection::connect(stage.address).await;
    assert_eq!(ask(&mut connection, &post("plain", &plain("m", b"1"), b"1")).await.status, 202);
    let with_fresh = format!(
        "{}
  fresh: {{verifier: github, secret: s3cret-of-the-tests, dedupe_window: off}}",
        SOURCES.replace("  chat: {verifier: slack, secret: s3cret-of-the-tests}\n", "")
    );
    stage.config.rewrite(&with_fresh);
    stage.service.signal(Signal::Hup);
    stage.service.wait_log("configuration read again", PATIENCE).await;
    assert_eq!(ask(&mut connection, &fresh("d")).await.status, 200);
    let gone = exchange(stage.address, &post("chat", &vec![], b"{}")).await;
    assert_eq!(gone.status, 404);
    let head = stage.db.query("select from source_heads where source = 'fresh'", &[]).await;
    assert_eq!(head.len(), 1);
    // What `doctor` compares.
    let hash = hex::encode(&<sha2::Sha256 as sha2::Digest>::digest(with_fresh.as_bytes())[..8]);
    until(PATIENCE, "the instance to tell the new configuration's hash", async || {
        let rows = stage.db.query("select config_hash from service_instances", &[]).await;
        let hashes: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        if hashes == [hash.clone()] { Ok(()) } else { Err(hashes) }
    })
    .await;
}

#[tokio::test]
async fn a_faulty_configuration_changes_nothing_and_is_named_in_the_log() {
    let stage = Stage::start().await;
    for (yaml, word) in [
        ("sources: [", "not valid YAML"),
        ("sources:\n  plain: {verifier: nonsense, secret: x}\n", "nonsense"),
        ("sources:\n  plain: {verifier: github, secret: ''}\n", "sources.plain.secret"),
    ] {
        stage.config.rewrite(yaml);
        stage.service.signal(Signal::Hup);
        let line = stage.service.wait_log(word, PATIENCE).await;
        assert!(line.contains("the changed configuration is not used"), "{line}");
    }
    assert_eq!(stage.post("hub", &hub("d", b"1"), b"1").await.status, 200);
    stage.service.wait_ready(PATIENCE).await;
}

#[tokio::test]
async fn sigterm_under_load_answers_what_is_under_way_and_exits_0() {
    let stage = Stage::start().await;
    let load = Load::start(&[stage.address], 16, &FEEDS);
    load.goes_on(200).await;
    let start = Instant::now();
    stage.service.signal(Signal::Term);
    let status = stage.service.wait_exit(PATIENCE).await;
    assert_eq!(status.code(), Some(0));
    // A busy client's connection is closed between two of its requests, not after the longest drain.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(stage.settle(load).await >= 200);
}

#[tokio::test]
async fn sigterm_waits_for_a_commit_that_is_under_way_and_takes_no_new_connection() {
    let db = TestDb::create().await;
    let url = db.url_for("ingest");
    let proxy = Proxy::to_database(&url).await;
    let through = proxy.url(&url);
    let stage = Stage::on(db, &through, SOURCES).await;
    let gate = Gate::closed();
    let trip = proxy.hold_when(At::commit(), gate.clone());
    let mut connection = RawConnection::connect(stage.address).await;
    connection.send(&post("plain", &plain("m", b"1"), b"1")).await.expect("send");
    trip.wait(PATIENCE).await;
    let admin = stage.service.admin().await;
    stage.service.signal(Signal::Term);
    until(PATIENCE, "the port to be closed", async || {
        RawConnection::try_connect(stage.address).await.is_err()
    })
    .await;
    let ready = get(admin, "/readyz", &[]).await;
    assert_eq!(ready.status, 503);
    assert!(ready.text().contains("stopping"), "{}", ready.text());
    assert_eq!(stage.service.try_status(), None);
    gate.open();
    assert_eq!(connection.recv().await.expect("an answer").status, 202);
    assert_eq!(stage.service.wait_exit(PATIENCE).await.code(), Some(0));
    assert_eq!(stage.count("plain").await, 1);
}

#[tokio::test]
async fn idle_connections_do_not_hold_up_a_stop() {
    let stage = Stage::start().await;
    let mut used = RawConnection::connect(stage.address).await;
    assert_eq!(ask(&mut used, &post("plain", &plain("m", b"1"), b"1")).await.status, 202);
    let mut fresh = RawConnection::connect(stage.address).await;
    // Whoever gets an answer on a later connection knows that the one before it was accepted.
    assert_eq!(get(stage.address, "/healthz", &[]).await.status, 200);
    let start = Instant::now();
    stage.service.signal(Signal::Term);
    assert_eq!(stage.service.wait_exit(PATIENCE).await.code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(used.closed_within(PATIENCE).await && fresh.closed_within(PATIENCE).await);
}
