//! One role a service, and each may write what is its own and nothing else.

use std::collections::BTreeSet;

use hooks_testkit::db::TestDb;

const SERVICES: [&str; 4] = ["ingest", "subscribe", "push_worker", "inspector"];

/// Who may do what to the tables on which the promises rest. Whatever is not here must fail.
const MAY_WRITE: [(&str, &str, &str); 20] = [
    ("ingest", "INSERT", "events"),
    ("ingest", "INSERT", "source_heads"),
    ("ingest", "UPDATE", "source_heads"),
    ("ingest", "INSERT", "event_days"),
    ("ingest", "UPDATE", "event_days"),
    ("ingest", "UPDATE", "log_state"),
    ("push_worker", "UPDATE", "subscription_cursors"),
    ("push_worker", "INSERT", "deliveries"),
    ("push_worker", "UPDATE", "deliveries"),
    ("push_worker", "INSERT", "attempts"),
    ("push_worker", "INSERT", "audit"),
    ("inspector", "INSERT", "push_subscriptions"),
    ("inspector", "UPDATE", "push_subscriptions"),
    ("inspector", "INSERT", "subscription_cursors"),
    ("inspector", "UPDATE", "subscription_cursors"),
    ("inspector", "INSERT", "deliveries"),
    ("inspector", "UPDATE", "deliveries"),
    ("inspector", "INSERT", "tokens"),
    ("inspector", "UPDATE", "tokens"),
    ("inspector", "INSERT", "audit"),
];

const TABLES: [&str; 11] = [
    "schema_versions",
    "events",
    "source_heads",
    "event_days",
    "log_state",
    "tokens",
    "push_subscriptions",
    "subscription_cursors",
    "deliveries",
    "attempts",
    "audit",
];

/// What would do something, if it were allowed; `false` keeps it from doing so.
fn statement(action: &str, table: &str) -> String {
    match action {
        "INSERT" => format!("insert into {table} overriding system value select * from {table} where false"),
        "UPDATE" => format!("update {table} set COLUMN = default where false"),
        "DELETE" => format!("delete from {table} where false"),
        other => format!("{other} {table}"),
    }
}

#[tokio::test]
async fn every_forbidden_write_fails_and_every_other_is_needed() {
    let db = TestDb::create().await;
    let allowed: BTreeSet<_> = MAY_WRITE.into();
    for role in SERVICES {
        let client = db.client_for(role).await;
        for table in TABLES {
            let column: String = db
                .query_one(
                    "select attname::text from pg_attribute where attrelid = $1::text::regclass and attnum = 1",
                    &[&table],
                )
                .await
                .get(0);
            for action in ["INSERT", "UPDATE", "DELETE", "TRUNCATE"] {
                let sql = statement(action, table).replace("COLUMN", &column);
                let done = client.batch_execute(&sql).await;
                let refused = done.as_ref().err().and_then(|error| error.code()).map(|code| code.code());
                let may = allowed.contains(&(role, action, table));
                if may {
                    // Reading the table back, as this INSERT does, may be forbidden where adding is not.
                    let sql = format!("select has_table_privilege('hooks_{role}', '{table}', '{action}')");
                    assert!(
                        db.query_one(&sql, &[]).await.get::<_, bool>(0),
                        "{role} cannot {action} {table}"
                    );
                } else {
                    assert_eq!(refused, Some("42501"), "{role}: {sql}: {done:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn no_service_may_change_the_schema_or_the_partitions() {
    let db = TestDb::create().await;
    let day: String =
        db.query_one("select 'events_' || to_char(now() at time zone 'UTC', 'YYYYMMDD')", &[]).await.get(0);
    for role in SERVICES {
        let client = db.client_for(role).await;
        for sql in [
            "create table mine ()".to_owned(),
            "create function mine() returns int language sql as 'select 1'".to_owned(),
            "alter table events add column mine int".to_owned(),
            "drop table events".to_owned(),
            "select create_events_partition(current_date + 100)".to_owned(),
            format!("alter table events detach partition {day}"),
            format!("drop table {day}"),
            format!("insert into {day} select * from events where false"),
            format!("delete from {day}"),
            "set role hooks_owner".to_owned(),
            "set role hooks_maintenance".to_owned(),
            "copy tokens to program 'true'".to_owned(),
        ] {
            let error = client.batch_execute(&sql).await.expect_err(&sql);
            assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{role}: {sql}: {error:?}");
        }
    }
}

/// Reading is least, too: secrets and tokens stay with those who need them.
#[tokio::test]
async fn who_need_not_know_cannot_read() {
    let db = TestDb::create().await;
    for (role, table) in [
        ("ingest", "tokens"),
        ("ingest", "push_subscriptions"),
        ("ingest", "deliveries"),
        ("ingest", "audit"),
        ("push_worker", "tokens"),
        ("push_worker", "listeners"),
        ("subscribe", "log_state"),
        ("subscribe", "audit"),
    ] {
        let client = db.client_for(role).await;
        let error = client.batch_execute(&format!("select * from {table}")).await.expect_err(table);
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{role}: {table}: {error:?}");
    }
}
