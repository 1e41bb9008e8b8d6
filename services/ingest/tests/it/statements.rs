//! The statements of the store, on the migrated database and as the role that runs them.

use hooks_ingest::store;
use hooks_testkit::db::TestDb;
use std::net::IpAddr;
use time::OffsetDateTime;
use tokio_postgres::{Client, Row};

#[tokio::test]
async fn every_statement_prepares_as_the_services_role() {
    let db = TestDb::create().await;
    let client = db.client_for("ingest").await;
    for sql in store::ALL {
        client.prepare(sql.text).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    }
}

/// Appends `count` events of `source` with the given window, inside a transaction that stays open.
async fn append(client: &Client, source: &str, window_seconds: i64, count: usize) -> Vec<Row> {
    client.batch_execute("set plan_cache_mode = force_generic_plan; begin").await.expect("begin");
    client.query(store::LOCK_HEADS.text, &[&vec![source]]).await.expect("lock the heads");
    let ids: Vec<String> = (0..count).map(|n| format!("evt_{n}")).collect();
    let keys: Vec<Vec<u8>> = ids.iter().map(|id| id.clone().into_bytes()).collect();
    let none: Vec<Option<String>> = vec![None; count];
    let no_time: Vec<Option<OffsetDateTime>> = vec![None; count];
    let nobody: Vec<Option<IpAddr>> = vec![None; count];
    let bytes: Vec<&[u8]> = vec![b"x"; count];
    client
        .query(
            store::APPEND.text,
            &[
                &vec![source; count],
                &ids,
                &keys,
                &vec![window_seconds; count],
                &none,
                &none,
                &no_time,
                &vec!["POST"; count],
                &bytes,
                &bytes,
                &vec![true; count],
                &nobody,
                &bytes,
                &bytes,
            ],
        )
        .await
        .expect("append")
}

/// How many partitions of events the open transaction of `client` has locked.
async fn locked_partitions(db: &TestDb, client: &Client) -> i64 {
    let pid: i32 = client.query_one("select pg_backend_pid()", &[]).await.expect("a pid").get(0);
    let sql = "select count(distinct c.oid) from pg_locks l join pg_class c on c.oid = l.relation
        where l.pid = $1 and c.relkind = 'r' and c.relname like 'events\\_2%'";
    db.query_one(sql, &[&pid]).await.get(0)
}

/// However long the log is, a batch touches the days of its window and no others.
#[tokio::test]
async fn append_touches_only_the_partitions_of_its_window_among_four_hundred() {
    let db = TestDb::create().await;
    let client = db.client().await;
    client
        .batch_execute(
            "select create_events_partition((now() at time zone 'UTC')::date - n) from generate_series(2, 400) n;
             insert into source_heads (source, last_sequence, last_received_at)
                values ('busy', 7, now()), ('idle', 7, now() - interval '100 days'), ('new', 0, 'epoch'),
                    ('ahead', 7, now() + interval '3 days')",
        )
        .await
        .expect("four hundred partitions");
    let partitions: i64 = client
        .query_one("select count(*) from pg_inherits where inhparent = 'events'::regclass", &[])
        .await
        .expect("count")
        .get(0);
    assert!(partitions >= 400, "{partitions}");
    let day = 86_400;
    for (source, window, most) in [
        ("busy", 0, 2),
        ("busy", 300, 2),
        ("busy", day, 2),
        ("busy", 3 * day, 4),
        ("new", day, 2),
        ("idle", day, 3),
        ("ahead", day, 6),
    ] {
        let ingest = db.client_for("ingest").await;
        let rows = append(&ingest, source, window, 100).await;
        assert_eq!(rows.len(), 100);
        let locked = locked_partitions(&db, &ingest).await;
        assert!(locked <= most, "{source} with {window} s: {locked} partitions, not {most}");
        ingest.batch_execute("rollback").await.expect("rollback");
    }
}

/// What ingest may not do, although some of it would be convenient for an intruder.
#[tokio::test]
async fn the_role_of_ingest_may_add_and_nothing_else() {
    let db = TestDb::create().await;
    let client = db.client_for("ingest").await;
    for forbidden in [
        "update events set body = ''",
        "delete from events",
        "truncate events",
        "drop table events",
        "delete from source_heads",
        "delete from event_days",
        "insert into log_state (timeline) values ('x')",
        "select from tokens",
        "select from replay_requests",
        "select from push_subscriptions",
        "select from deliveries",
        "insert into schema_versions values (99, 99)",
        "create table mine ()",
    ] {
        let error = client.batch_execute(forbidden).await.expect_err(forbidden);
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{forbidden}: {error:?}");
    }
}
