//! Accepted means committed, whoever is killed.

use crate::stage::{FEEDS, PATIENCE, SOURCES};
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::load::{Load, assert_accounts_agree, assert_gapless};
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::port;
use hooks_testkit::process::{Launch, Signal};
use std::net::SocketAddr;

/// A service that comes back on the same port.
fn on_port(config: &ConfigFile, db: &TestDb, port: u16) -> Launch {
    Launch::binary("hooks-ingest")
        .args(["--listen", &format!("127.0.0.1:{port}"), "--admin-listen", "127.0.0.1:0"])
        .config(config.path())
        .envs([db.env_for("ingest")])
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9_of_one_of_two_ingests() {
    let db = TestDb::create().await;
    let config = ConfigFile::write(SOURCES);
    let (mortal_port, other_port) = (port::free(), port::free());
    let _other = on_port(&config, &db, other_port).start_ready(PATIENCE).await;
    let mut mortal = on_port(&config, &db, mortal_port).start_ready(PATIENCE).await;
    let addresses = [mortal_port, other_port].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let load = Load::start(&addresses, 16, &FEEDS);
    for _ in 0..5 {
        load.goes_on(150).await;
        mortal.signal(Signal::Kill);
        mortal.wait_exit(PATIENCE).await;
        mortal = on_port(&config, &db, mortal_port).start_ready(PATIENCE).await;
    }
    load.goes_on(150).await;
    let sent = load.end().await;
    assert!(assert_accounts_agree(&db, &sent).await >= 900);
    assert_gapless(&db).await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_crash_of_the_server() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let config = ConfigFile::write(&format!("ingest: {{commit_deadline: 1s}}{SOURCES}"));
    let service = on_port(&config, &db, 0).start_ready(PATIENCE).await;
    let load = Load::start(&[service.address().await], 16, &FEEDS);
    for round in 0..4 {
        load.goes_on(150).await;
        if round % 2 == 0 {
            cluster.stop(StopMode::Immediate).await;
        } else {
            cluster.kill_9().await;
        }
        load.fails(16).await;
        cluster.start_again().await;
    }
    load.goes_on(150).await;
    let sent = load.end().await;
    assert!(assert_accounts_agree(&db, &sent).await >= 750);
    assert_gapless(&db).await;
}
