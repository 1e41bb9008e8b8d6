//! The statements against the migrated schema: each can be prepared, as the service's own role, and over four
//! hundred days none plans more than two partitions.

use hooks_shared::db::{SessionOptions, Target, connect};
use hooks_shared::{Secret, sql};
use hooks_subscribe::store::STATEMENTS;
use hooks_testkit::db::TestDb;

async fn session(db: &TestDb) -> hooks_shared::db::Session {
    let target = Target::parse(&Secret::new(db.url_for("subscribe"))).expect("a URL");
    connect(&target, &SessionOptions::service("plans")).await.expect("connect")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_can_be_prepared() {
    let db = TestDb::create().await;
    let session = session(&db).await;
    for statement in STATEMENTS {
        let prepared = session.statement(*statement).await;
        assert!(prepared.is_ok(), "{}: {}", statement.name, prepared.expect_err("an error"));
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/store")).expect("the folder");
    let sql = files.flatten().filter(|file| file.path().extension().is_some_and(|end| end == "sql")).count();
    assert_eq!(sql, STATEMENTS.len(), "a statement is not listed");
}

/// Partitions that the plan of a statement reads.
async fn partitions(session: &hooks_shared::db::Session, name: &str, values: &str) -> usize {
    let statement = STATEMENTS.iter().find(|sql| sql.name == name).expect("a known statement");
    let prepare = format!("prepare looked_at as {}", statement.text);
    session.batch_execute(&prepare).await.expect("prepare");
    let explain = format!("explain (costs off) execute looked_at({values})");
    let rows = session.query(&explain, &[]).await.expect("explain");
    session.batch_execute("deallocate looked_at").await.expect("deallocate");
    let lines: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let scans = lines.iter().filter(|line| line.contains("Scan") && line.contains("on events_2")).count();
    assert!(scans >= 1, "{name}: {lines:#?}");
    scans
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_plans_more_than_two_of_four_hundred_partitions() {
    let db = TestDb::create().await;
    db.execute(
        "select create_events_partition((date '2025-01-01') + day) from generate_series(0, 399) day",
        &[],
    )
    .await;
    let count: i64 = db.query_one("select count(*) from pg_inherits", &[]).await.get(0);
    assert!(count >= 400);
    let session = session(&db).await;
    let day = "timestamptz '2025-06-01 00:00Z', timestamptz '2025-06-02 00:00Z'";
    let cases = [
        ("page", format!("'render', 5, {day}, 1000, 749999, null, 100000")),
        ("page", format!("'render', 5, {day}, 1000, 749999, timestamptz '2025-06-01 12:00Z', 100000")),
        ("newest", format!("'render', 5, {day}, 1000, 749999, 100000")),
        ("event", format!("'render', 5, {day}, 749999")),
        ("body", format!("'render', 5, {day}")),
        ("list_newest", format!("'render', 0, 9, {day}, 50, null, null, null")),
        ("list_newest", format!("'render', 0, 9, {day}, 50, 'msg_1', null, null")),
        ("list_oldest", format!("'render', 0, 9, {day}, 50, null, 'ping', null")),
    ];
    for (name, values) in cases {
        let scans = partitions(&session, name, &values).await;
        assert!(scans <= 2, "{name} reads {scans} partitions");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_id_is_looked_up_by_its_index() {
    let db = TestDb::create().await;
    db.execute(
        "insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, method, target,
                headers, exact, body, body_sha256)
            select 'render', n, now(), 'evt_' || n, '', 'msg_' || n, 'POST', '', '', true, '', ''
                from generate_series(1, 5000) n",
        &[],
    )
    .await;
    db.execute("analyze events", &[]).await;
    let session = session(&db).await;
    let look = sql!("../../src/store/list_newest.sql");
    session.batch_execute(&format!("prepare look as {}", look.text)).await.expect("prepare");
    let today = time::OffsetDateTime::now_utc().date();
    let explain = format!(
        "explain (costs off) execute look('render', 0, 9000, '{today} 00:00Z', '{today} 23:59Z', 50, 'msg_1', null, null)"
    );
    let rows = session.query(&explain, &[]).await.expect("explain");
    let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let condition = plan.iter().find(|line| line.contains("Index Cond")).expect("an index");
    assert!(condition.contains("delivery_id"), "{plan:#?}");
}
