//! Databases for tests come migrated, with the roles of the services.

use std::time::Duration;

use hooks_testkit::db::{ROLES, TestDb};
use hooks_testkit::pg::{Cluster, Options};
use hooks_testkit::until;

#[tokio::test]
async fn every_role_can_log_into_a_migrated_database_of_its_own() {
    let db = TestDb::create().await;
    let tables: i64 =
        db.query_one("select count(*) from pg_class where relname = 'source_heads'", &[]).await.get(0);
    assert_eq!(tables, 1);
    for role in ROLES {
        let client = db.client_for(role).await;
        let user: String = client.query_one("select current_user::text", &[]).await.expect("query").get(0);
        assert_eq!(user, format!("hooks_{role}"));
    }
}

#[tokio::test]
async fn a_clone_has_the_owner_and_grants_of_its_template() {
    let db = TestDb::create().await;
    let sql = "select datdba, datacl::text, array(select setconfig::text from pg_db_role_setting
                      where setdatabase = d.oid order by 1) from pg_database d where datname = $1";
    let clone = db.query_one(sql, &[&db.name()]).await;
    let template = db.query_one(sql, &[&"hooks_template"]).await;
    assert_eq!(clone.get::<_, u32>(0), template.get::<_, u32>(0));
    assert_eq!(clone.get::<_, Option<String>>(1), template.get::<_, Option<String>>(1));
    assert_eq!(clone.get::<_, Vec<String>>(2), template.get::<_, Vec<String>>(2));
}

#[tokio::test]
async fn a_database_goes_with_its_value_and_not_the_cluster() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let name = db.name().to_owned();
    drop(db);
    let admin = cluster.superuser_client("postgres").await;
    until(Duration::from_secs(10), "the database to be dropped", async || {
        admin.query("select 1 from pg_database where datname = $1", &[&name]).await.expect("query").is_empty()
    })
    .await;
}
