//! Clusters start, break, recover and replicate.

use std::time::Duration;

use hooks_testkit::db::TestDb;
use hooks_testkit::pg::{Cluster, Options, StopMode};

const PATIENCE: Duration = Duration::from_secs(30);

async fn count(db: &TestDb) -> i64 {
    db.query_one("select count(*) from t", &[]).await.get(0)
}

#[tokio::test]
async fn the_shared_cluster_is_one_and_its_databases_are_apart() {
    let (one, two) = (Cluster::shared().await, Cluster::shared().await);
    assert_eq!(one.port(), two.port());
    let (a, b) = (TestDb::empty_on(&one).await, TestDb::empty_on(&two).await);
    a.execute("create table t()", &[]).await;
    b.execute("create table t()", &[]).await;
    assert_eq!(count(&a).await, 0);
}

#[tokio::test]
async fn a_cluster_comes_back_on_its_port_with_its_rows_after_every_kind_of_stop() {
    let cluster = Cluster::start(Options::default().with("work_mem", "5MB")).await;
    let port = cluster.port();
    let db = TestDb::empty_on(&cluster).await;
    let work_mem: String = db.query_one("show work_mem", &[]).await.get(0);
    assert_eq!(work_mem, "5MB");
    db.execute("create table t(n int)", &[]).await;
    for mode in [Some(StopMode::Smart), Some(StopMode::Fast), Some(StopMode::Immediate), None] {
        db.execute("insert into t values (1)", &[]).await;
        match mode {
            Some(mode) => cluster.stop(mode).await,
            None => cluster.kill_9().await,
        }
        cluster.start_again().await;
    }
    assert_eq!(count(&db).await, 4);
    assert_eq!(cluster.port(), port);
}

#[tokio::test]
async fn a_promoted_standby_has_what_it_replayed_and_takes_writes() {
    let primary = Cluster::start(Options::default()).await;
    let db = TestDb::empty_on(&primary).await;
    db.execute("create table t(n int)", &[]).await;
    let standby = primary.standby().await;
    db.execute("insert into t values (1)", &[]).await;
    standby.caught_up_with(&primary, PATIENCE).await;
    primary.stop(StopMode::Immediate).await;
    let client = standby.superuser_client(db.name()).await;
    let refused = client.execute("insert into t values (2)", &[]).await.expect_err("a standby is read-only");
    assert_eq!(refused.code().map(|code| code.code()), Some("25006"));
    standby.promote().await;
    client.execute("insert into t values (2)", &[]).await.expect("the new primary takes writes");
    let rows: i64 = client.query_one("select count(*) from t", &[]).await.expect("count").get(0);
    assert_eq!(rows, 2);
}
