//! The commands that work on the database.

use hooks_testkit::db::TestDb;
use hooks_testkit::pg::Cluster;
use hooks_testkit::port;
use hooks_testkit::process::run;
use serde_json::Value;

use crate::support::{Relay, assert_says};

async fn ctl(db: &TestDb, args: &[&str]) -> hooks_testkit::process::Output {
    run("hooksctl", args, &[("HOOKS_DATABASE_URL", &db.url())], b"").await
}

#[tokio::test]
async fn a_token_is_made_used_listed_and_revoked() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    let made =
        ctl(&relay.db, &["token", "create", "--scope", "demo", "--name", "laptop"]).await.expect_success();
    let token = made.stdout.trim();
    assert!(token.starts_with("hk_") && token.len() == 46 && !made.stderr.contains(token), "{made:?}");
    let tail = ["tail", "demo", "-n", "1"];
    relay.run_with(&tail, &[("HOOKS_TOKEN", token)]).await.expect_success();
    let list = ctl(&relay.db, &["token", "list", "--json"]).await.expect_success();
    assert!(!list.stdout.contains(token));
    let listed = list.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let laptop = listed.into_iter().find(|token| token["name"] == "laptop").expect("in the list");
    assert_eq!((&laptop["kind"], &laptop["scopes"]), (&"listener".into(), &serde_json::json!(["demo"])));
    let id = laptop["id"].as_str().expect("an id").to_owned();
    ctl(&relay.db, &["token", "revoke", &id]).await.expect_success();
    let refused = relay.run_with(&tail, &[("HOOKS_TOKEN", token)]).await;
    assert_says(&refused, 4, &["401"]);
    let list = ctl(&relay.db, &["token", "list"]).await.expect_success();
    assert!(!list.stdout.contains("laptop"), "{}", list.stdout);
    let list = ctl(&relay.db, &["token", "list", "--all"]).await.expect_success();
    assert!(list.stdout.contains("laptop") && list.stdout.contains("revoked"), "{}", list.stdout);
    let unknown = "00000000-0000-4000-8000-000000000000";
    assert_says(&ctl(&relay.db, &["token", "revoke", unknown]).await, 3, &[unknown]);
}

#[tokio::test]
async fn admin_tokens_are_pats_and_expiry_is_kept() {
    let db = TestDb::create().await;
    ctl(&db, &["token", "create", "-s", "admin", "--expires-in", "30d"]).await.expect_success();
    let row = db
        .query_one("select kind, extract(epoch from expires_at - now())::float8 as left from tokens", &[])
        .await;
    assert_eq!(row.get::<_, &str>("kind"), "pat");
    assert!((row.get::<_, f64>("left") - 30.0 * 86_400.0).abs() < 60.0);
    assert_says(&ctl(&db, &["token", "create", "-s", "a", "--expires-in", "5"]).await, 2, &["30d"]);
}

#[tokio::test]
async fn verify_finds_a_body_that_has_changed() {
    let relay = Relay::start().await;
    for n in 1..=7 {
        relay.store(&format!("id-{n}"), n.to_string().as_bytes()).await;
    }
    let good = ctl(&relay.db, &["verify", "--page", "3"]).await.expect_success();
    assert!(good.stdout.contains("7 bodies checked, 0 differ"), "{}", good.stdout);
    relay.db.execute("update events set body = 'rot' where sequence = 5", &[]).await;
    let bad = ctl(&relay.db, &["verify", "--page", "3"]).await;
    assert_eq!(bad.code(), 1);
    assert!(bad.stdout.contains("mismatch source=demo sequence=5 stored="), "{}", bad.stdout);
    assert!(bad.stdout.contains("7 bodies checked, 1 differ"), "{}", bad.stdout);
    let json = ctl(&relay.db, &["verify", "--json"]).await;
    let last: Value = serde_json::from_str(json.stdout.lines().last().expect("a line")).expect("JSON");
    assert_eq!((json.code(), &last["mismatches"]), (1, &1.into()));
    ctl(&relay.db, &["verify", "--source", "other"]).await.expect_success();
}

#[tokio::test]
async fn prune_takes_what_has_expired_and_numbers_go_on() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    let config = relay.config.path().display().to_string();
    let prune = async || ctl(&relay.db, &["prune", "--config", &config]).await;
    prune().await.expect_success();
    let short = "sources:\n  demo:\n    verifier: standard_webhooks\n    secret: x\n    retention: 1m\n";
    let short = relay.config.beside("short.yaml", short).display().to_string();
    relay.db.execute("alter table events disable trigger all", &[]).await;
    let old = "update events set received_at = received_at - interval '2 minutes'";
    relay.db.execute(old, &[]).await;
    let pruned = ctl(&relay.db, &["prune", "--config", &short]).await.expect_success();
    assert!(pruned.stdout.contains("1 events deleted"), "{}", pruned.stdout);
    assert_eq!(relay.store("two", b"2").await, 2);
}

#[tokio::test]
async fn sources_are_listed_with_how_far_they_got() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    let list = ctl(&relay.db, &["sources", "list", "--json"]).await.expect_success();
    let demo = list.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let demo = demo.into_iter().find(|source| source["name"] == "demo").expect("in the list");
    assert_eq!(demo["last_sequence"], 1);
}

#[tokio::test]
async fn a_schema_that_does_not_fit_is_told_with_what_to_do() {
    let cluster = Cluster::shared().await;
    let empty = TestDb::empty_on(&cluster).await;
    for command in [&["token", "list"][..], &["verify"], &["sources", "list"]] {
        assert_says(&ctl(&empty, command).await, 1, &["no hooks schema", "hooksctl migrate"]);
    }
    let missing = ctl(&empty, &["migrate", "--check"]).await;
    assert!(missing.code() == 1 && missing.stdout.contains("create_log"), "{missing:?}");
    let old = TestDb::create().await;
    old.execute("delete from schema_versions where version > 0", &[]).await;
    old.execute("insert into schema_versions (version, oldest_build) values (0, 0)", &[]).await;
    assert_says(&ctl(&old, &["token", "list"]).await, 1, &["version 0", "hooksctl migrate"]);
    let new = TestDb::create().await;
    new.execute("insert into schema_versions (version, oldest_build) values (1000, 1000)", &[]).await;
    assert_says(&ctl(&new, &["token", "list"]).await, 1, &["version 1000", "newer build"]);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_5_and_its_password_stays_secret() {
    let url = format!("postgres://me:hunter2@127.0.0.1:{}/hooks", port::free());
    for command in [&["token", "list"][..], &["verify"], &["migrate"], &["prune", "--config", "/x"]] {
        let output = run("hooksctl", command, &[("HOOKS_DATABASE_URL", &url)], b"").await;
        assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
        if command[0] != "prune" {
            assert_says(&output, 5, &["127.0.0.1", "cannot be used"]);
        }
    }
    assert_says(&run("hooksctl", &["verify"], &[], b"").await, 2, &["HOOKS_DATABASE_URL is not set"]);
    let output = run("hooksctl", &["verify"], &[("HOOKS_DATABASE_URL", "hunter2")], b"").await;
    assert_says(&output, 2, &["HOOKS_DATABASE_URL", "postgres://"]);
    assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
}
