//! Starting with something wrong: a clear word, at once, or a service that waits and says for what.

use crate::stage::{PATIENCE, SOURCES, Stage, launch, plain, post};
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{exchange, get};
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::process::{Output, Service, run};
use hooks_testkit::until;
use std::net::TcpListener;

/// Runs the service to its end.
async fn fails(config: &ConfigFile, args: &[&str], env: &[(&str, &str)]) -> Output {
    let path = config.path().display().to_string();
    let mut all = vec!["--config", &path];
    all.extend(args);
    let output = run("hooks-ingest", &all, env, b"").await;
    assert_eq!(output.code(), 1, "{output:?}");
    output
}

const NOWHERE: (&str, &str) = ("HOOKS_DATABASE_URL", "postgres://u:hunter2@127.0.0.1:9/x");

#[tokio::test]
async fn every_fault_of_the_configuration_is_named_with_its_line_and_key() {
    let config = ConfigFile::write(
        "body_size_limit: lots
sources:
  one: {verifier: github, secret: '${NOT_SET_ANYWHERE}'}
  two:
    verifier: github
    secret: ''
  hooks.mine: {verifier: github, secret: x}
  three:
    verifier: github
    secret_file: not-there
    dedupe_window: 100h
  four: {secret: x}
surplus: 1
",
    );
    for args in [&[][..], &["--check-config"]] {
        let output = fails(&config, args, &[NOWHERE]).await;
        for (place, word) in [
            ("hooks.yaml:1: body_size_limit:", "lots"),
            ("hooks.yaml:3: sources.one.secret:", "NOT_SET_ANYWHERE"),
            ("hooks.yaml:6: sources.two.secret:", "empty"),
            ("sources.hooks.mine:", "belong to the relay"),
            ("hooks.yaml:10: sources.three.secret_file:", "not-there"),
            ("hooks.yaml:11: sources.three.dedupe_window:", "at most 72h"),
            ("hooks.yaml:12: sources.four.verifier:", "missing"),
            ("hooks.yaml:13: surplus:", "not a key"),
        ] {
            let line = output.stderr.lines().find(|line| line.contains(place));
            assert!(line.is_some_and(|line| line.contains(word)), "{place} {word}:\n{}", output.stderr);
        }
    }
}

#[tokio::test]
async fn what_is_not_yaml_is_named_with_its_line() {
    let config = ConfigFile::write("sources:\n  one: {verifier: github\n  two: x\n");
    let output = fails(&config, &[], &[NOWHERE]).await;
    assert!(
        output.stderr.contains("hooks.yaml:") && output.stderr.contains("not valid YAML"),
        "{}",
        output.stderr
    );
    let output = run("hooks-ingest", &["--config", "/nowhere/hooks.yaml"], &[NOWHERE], b"").await;
    assert!(
        output.stderr.contains("/nowhere/hooks.yaml") && output.stderr.contains("--config"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_verifier_that_cannot_be_used_is_found_before_anything_starts() {
    let config = ConfigFile::write(
        "sources:
  one: {verifier: githib, secret: x}
  two: {verifier: standard_webhooks, secret: 'whsec_not base64'}
  three: {verifier: github}
  four: {verifier: {type: hmac, signature: ['header:X'], signed: '{nonsense}'}, secret: x}
",
    );
    for args in [&[][..], &["--check-config"]] {
        let output = fails(&config, args, &[NOWHERE]).await;
        for word in [
            "sources.one.verifier",
            "sources.two.secret",
            "sources.three.secret",
            "sources.four.verifier.signed",
        ] {
            assert!(output.stderr.contains(word), "{word}:\n{}", output.stderr);
        }
    }
    let good = ConfigFile::write(SOURCES);
    let path = good.path().display().to_string();
    let output =
        run("hooks-ingest", &["--config", &path, "--check-config"], &[NOWHERE], b"").await.expect_success();
    assert!(output.stdout.contains("ok, 5 sources"), "{}", output.stdout);
}

#[tokio::test]
async fn a_database_url_that_is_missing_or_unreadable_is_named_without_its_password() {
    let config = ConfigFile::write(SOURCES);
    let output = fails(&config, &[], &[]).await;
    assert!(output.stderr.contains("HOOKS_INGEST_DATABASE_URL"), "{}", output.stderr);
    let bad = ("HOOKS_INGEST_DATABASE_URL", "postgres://u:hunter2@127.0.0.1:port/x");
    let output = fails(&config, &["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"], &[bad]).await;
    assert!(output.stderr.contains("database_url"), "{}", output.stderr);
    assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let config = ConfigFile::write(SOURCES);
    let taken = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = taken.local_addr().expect("an address").to_string();
    for flags in [
        ["--listen", &address, "--admin-listen", "127.0.0.1:0"],
        ["--listen", "127.0.0.1:0", "--admin-listen", &address],
    ] {
        let output = fails(&config, &flags, &[NOWHERE]).await;
        assert!(
            output.stderr.contains(&address) && output.stderr.contains("another process has this port"),
            "{}",
            output.stderr
        );
    }
    let output = fails(&config, &["--listen", "nonsense", "--admin-listen", "127.0.0.1:0"], &[NOWHERE]).await;
    assert!(output.stderr.contains("--listen nonsense"), "{}", output.stderr);
}

/// Waits until `/readyz` is red and says `word`.
async fn red(service: &Service, word: &str) {
    let admin = service.admin().await;
    until(PATIENCE, &format!("/readyz to say {word:?}"), async || {
        let answer = get(admin, "/readyz", &[]).await;
        if answer.status == 503 && answer.text().contains(word) { Ok(()) } else { Err(answer.text()) }
    })
    .await;
}

#[tokio::test]
async fn a_database_that_is_down_is_waited_for() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let config = ConfigFile::write(&format!("ingest: {{commit_deadline: 500ms}}{SOURCES}"));
    cluster.stop(StopMode::Fast).await;
    let service = launch(&config, &db.url_for("ingest")).start();
    red(&service, "database: cannot connect").await;
    let address = service.address().await;
    let bytes = post("plain", &plain("m", b"1"), b"1");
    assert_eq!(exchange(address, &bytes).await.status, 503);
    assert_eq!(get(address, "/healthz", &[]).await.status, 200);
    service.wait_log("not ready", PATIENCE).await;
    cluster.start_again().await;
    service.wait_ready(PATIENCE).await;
    assert_eq!(exchange(address, &bytes).await.status, 202);
}

#[tokio::test]
async fn a_password_that_is_wrong_is_told_and_not_shown() {
    let db = TestDb::create().await;
    let config = ConfigFile::write(SOURCES);
    let service =
        launch(&config, &db.url_for("ingest").replace(hooks_testkit::db::ROLE_PASSWORD, "hunter2")).start();
    red(&service, "password authentication failed").await;
    assert!(!service.logs().contains("hunter2"), "{}", service.logs());
}

#[tokio::test]
async fn a_schema_that_is_missing_too_old_or_too_new_is_told_with_what_to_do() {
    let cluster = Cluster::shared().await;
    let empty = TestDb::empty_on(&cluster).await;
    let config = ConfigFile::write(SOURCES);
    let service = launch(&config, &empty.url()).start();
    red(&service, "run `hooksctl migrate`").await;

    let stage = Stage::start().await;
    let versions = async |sql: &str| {
        stage.db.execute(sql, &[]).await;
    };
    versions("insert into schema_versions (version, oldest_build) values (9001, 9000)").await;
    red(&stage.service, "start a newer build").await;
    versions("delete from schema_versions where version > 9000").await;
    stage.service.wait_ready(PATIENCE).await;
    versions("insert into schema_versions (version, oldest_build) values (9001, 1)").await;
    stage.service.wait_ready(PATIENCE).await;
    versions("delete from schema_versions where version > 1").await;
    red(&stage.service, "run `hooksctl migrate`").await;
}

#[tokio::test]
async fn without_tomorrows_partition_it_is_not_ready_and_stores_all_the_same() {
    let db = TestDb::create().await;
    let name: String = db
        .query_one(
            "select 'events_' || to_char((now() at time zone 'UTC') + interval '1 day', 'YYYYMMDD')",
            &[],
        )
        .await
        .get(0);
    db.execute(&format!("drop table {name}"), &[]).await;
    let config = ConfigFile::write(SOURCES);
    let service = launch(&config, &db.url_for("ingest")).start();
    red(&service, "partition: tomorrow's partition").await;
    let address = service.address().await;
    assert_eq!(exchange(address, &post("plain", &plain("m", b"1"), b"1")).await.status, 202);
    db.execute("select create_events_partition((now() at time zone 'UTC')::date + 1)", &[]).await;
    service.wait_ready(PATIENCE).await;
}

#[tokio::test]
async fn heads_of_the_configured_sources_are_made_at_the_start() {
    let stage = Stage::start().await;
    let rows = stage.db.query("select source, last_sequence from source_heads order by source", &[]).await;
    let heads: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected = ["bare", "chat", "hooks.system", "hub", "pay", "plain"].map(|name| (name.to_owned(), 0));
    assert_eq!(heads, expected);
    // One that was removed behind its back is made again with the next event.
    stage.db.execute("delete from source_heads where source = 'plain'", &[]).await;
    assert_eq!(stage.store("m").await, 1);
}

#[tokio::test]
async fn free_ports_are_taken_and_told() {
    let stage = Stage::start().await;
    assert_ne!(stage.address.port(), 0);
    assert_ne!(stage.address, stage.service.admin().await);
}
