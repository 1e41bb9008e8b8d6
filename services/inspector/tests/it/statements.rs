//! The statements, and what the role may and may not.

use hooks_inspector::store;
use hooks_shared::Secret;
use hooks_shared::db::{SessionOptions, Target, connect};
use hooks_testkit::db::TestDb;
use tokio_postgres::error::SqlState;

#[tokio::test]
async fn every_statement_prepares_as_the_service_s_role() {
    let db = TestDb::create().await;
    let target = Target::parse(&Secret::new(db.url_for("inspector"))).expect("a URL");
    let session = connect(&target, &SessionOptions::service("test")).await.expect("connects");
    for sql in store::statements() {
        session.statement(sql).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    }
}

#[tokio::test]
async fn the_audit_can_only_be_added_to() {
    let db = TestDb::create().await;
    let client = db.client_for("inspector").await;
    client
        .execute("insert into audit (actor, action, subject) values ('a', 'b', 'c')", &[])
        .await
        .expect("it may add");
    for sql in [
        "update audit set actor = 'x'",
        "delete from audit",
        "truncate audit",
        "insert into events (source) values ('x')",
        "update events set body = ''",
        "delete from people",
        "delete from tokens",
        "update source_heads set last_sequence = 0",
        "update listeners set cursor = 0",
    ] {
        let error = client.execute(sql, &[]).await.expect_err(sql);
        assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {error:?}");
    }
}
