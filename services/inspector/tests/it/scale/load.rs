//! The big database: made once, by few large statements.

use hooks_inspector::search;
use hooks_shared::event::{Header, encode_headers};
use hooks_testkit::db::TestDb;
use hooks_testkit::pg::{Cluster, Options};
use std::time::Instant;

/// Event types; rows take turns.
pub const KINDS: [&str; 8] =
    ["push", "issue.opened", "issue.closed", "payment.made", "payment.failed", "ping", "release", "star"];

/// Headers of every event of a type.
fn headers(kind: &str) -> Vec<Header> {
    [
        ("Content-Type", "application/json"),
        ("User-Agent", "provider/1.0"),
        ("X-Event", kind),
        ("X-Signature", "sha256=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"),
    ]
    .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
    .to_vec()
}

/// A server whose role for the inspector tells the plan of everything it runs, with a big database on it.
pub async fn load() -> TestDb {
    let cluster = Cluster::start(
        Options::default()
            .with("shared_preload_libraries", "auto_explain")
            .with("max_wal_size", "4GB")
            .with("autovacuum", "off"),
    )
    .await;
    let db = TestDb::on(&cluster).await;
    let began = Instant::now();
    let client = db.client().await;
    run(&db, include_str!("begin.sql")).await;
    for (number, kind) in KINDS.iter().enumerate() {
        let (headers, body) = (headers(kind), format!(r#"{{"data":{{"kind":"{kind}"}}}}"#));
        let terms = search::of_event(&[kind], &headers, body.as_bytes());
        let number = i32::try_from(number).expect("a few");
        client
            .execute(
                "insert into fixture.kinds values ($1, $2, $3, $4)",
                &[&number, kind, &encode_headers(&headers), &terms],
            )
            .await
            .expect("a kind");
    }
    // The two long ones beside each other, and the rest after the quicker of them.
    let log = async { run(&db, include_str!("log.sql")).await };
    let other = async {
        run(&db, include_str!("deliveries.sql")).await;
        run(&db, include_str!("rest.sql")).await;
    };
    tokio::join!(run(&db, include_str!("search.sql")), async {
        log.await;
        other.await
    });
    client
        .batch_execute(
            "alter role hooks_inspector set auto_explain.log_min_duration = 0;
             alter role hooks_inspector set auto_explain.log_analyze = on;
             alter role hooks_inspector set auto_explain.log_buffers = on;
             alter role hooks_inspector set auto_explain.log_timing = off;
             alter role hooks_inspector set auto_explain.log_format = json",
        )
        .await
        .expect("plans are logged");
    println!("the big database was made in {:.0} s", began.elapsed().as_secs_f64());
    db
}

/// Runs statements that stand apart by an empty line, without triggers: foreign keys hold by how the rows are made.
async fn run(db: &TestDb, statements: &str) {
    let client = db.client().await;
    let settings = "set session_replication_role = replica; set synchronous_commit = off; set jit = off;
        set maintenance_work_mem = '256MB'; set work_mem = '64MB'; set timezone = 'UTC'";
    client.batch_execute(settings).await.expect("settings");
    for statement in statements.split("\n\n") {
        client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
}
