//! Secrets that providers hand over: shown once, renewed by an operator only, sealed anew with the others.

use std::net::SocketAddr;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawResponse, exchange, request};
use hooks_testkit::process::{Launch, Output, Service, run};
use hooks_testkit::{sign, until};
use serde_json::{Value, json};

use crate::support::{PATIENCE, assert_says};

const OLD: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW: &str = "k2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";
const FIRST: &str = "the-first-secret-handed-over";
const SECOND: &str = "the-second-secret-handed-over";

struct Stage {
    db: TestDb,
    _config: ConfigFile,
    _ingest: Service,
    address: SocketAddr,
}

impl Stage {
    async fn start() -> Self {
        let db = TestDb::create().await;
        let config = ConfigFile::write("sources:\n  task: {verifier: asana}\n  page: {verifier: notion}\n");
        let (name, url) = db.env_for("ingest");
        let launch = Launch::service("hooks-ingest").config(config.path()).env(name, url);
        let ingest = launch.env("HOOKS_SECRET_KEYS", OLD).start_ready(PATIENCE).await;
        let address = ingest.address().await;
        Self { db, _config: config, _ingest: ingest, address }
    }

    async fn ctl(&self, keys: &str, args: &[&str]) -> Output {
        run("hooksctl", args, &[("HOOKS_DATABASE_URL", &self.db.url()), ("HOOKS_SECRET_KEYS", keys)], b"")
            .await
    }

    async fn post(&self, source: &str, headers: &[(&str, &str)], body: &[u8]) -> RawResponse {
        exchange(self.address, &request("POST", &format!("/ingest/{source}"), headers, body)).await
    }

    async fn hand_over(&self, secret: &str) -> u16 {
        self.post("task", &[("X-Hook-Secret", secret)], b"{}").await.status
    }

    async fn signed_by(&self, secret: &str, body: &[u8]) -> u16 {
        let digest = hex::encode(sign::hmac_sha256(secret.as_bytes(), body));
        self.post("task", &[("X-Hook-Signature", &digest)], body).await.status
    }

    async fn audited(&self, action: &str) -> i64 {
        let query = "select count(*) from audit where action = $1 and subject = 'source:task'";
        self.db.query_one(query, &[&action]).await.get(0)
    }
}

/// That nobody but the one who asked first has seen it.
fn assert_kept_quiet(output: &Output, secret: &str) {
    assert!(!output.stdout.contains(secret) && !output.stderr.contains(secret), "{output:?}");
}

#[tokio::test]
async fn a_secret_that_was_handed_over_is_shown_once() {
    let stage = Stage::start().await;
    assert_says(&stage.ctl(OLD, &["sources", "show-secret", "page"]).await, 3, &["`page`", "hooks.yaml"]);
    let token = br#"{"verification_token":"secret_of_the_notion_page"}"#;
    assert_eq!(stage.post("page", &[], token).await.status, 200);
    assert_eq!(stage.hand_over(FIRST).await, 204);
    // What cannot be opened does not count as shown.
    let show = &["sources", "show-secret", "task"];
    assert_says(&stage.ctl(NEW, show).await, 1, &["`k1`", "HOOKS_SECRET_KEYS"]);
    assert_says(&stage.ctl("", show).await, 2, &["HOOKS_SECRET_KEYS"]);
    assert_eq!(stage.audited("source.show_secret").await, 0);
    let shown = stage.ctl(OLD, show).await.expect_success();
    assert_eq!(shown.stdout, format!("{FIRST}\n"));
    assert!(!shown.stderr.contains(FIRST));
    let again = stage.ctl(OLD, show).await;
    assert_says(&again, 4, &["only once", "renew-secret task"]);
    assert_kept_quiet(&again, FIRST);
    assert_eq!(stage.audited("source.show_secret").await, 1);
    let page = stage.ctl(OLD, &["sources", "show-secret", "page", "--json"]).await.expect_success();
    let page: Value = serde_json::from_str(&page.stdout).expect("JSON");
    assert_eq!(page["secret"], json!("secret_of_the_notion_page"));
}

#[tokio::test]
async fn another_secret_is_taken_when_an_operator_says_so_and_once() {
    let stage = Stage::start().await;
    let renew = &["sources", "renew-secret", "task"];
    assert_says(&stage.ctl(OLD, renew).await, 3, &["`task`"]);
    assert_eq!(stage.hand_over(FIRST).await, 204);
    assert_eq!(stage.hand_over(SECOND).await, 401);
    stage.ctl(OLD, renew).await.expect_success();
    let minutes =
        "select extract(epoch from renewable_until - clock_timestamp())::float8 / 60 from captured_secrets";
    let minutes: f64 = stage.db.query_one(minutes, &[]).await.get(0);
    assert!((9.0..=10.0).contains(&minutes), "{minutes}");
    assert_eq!(stage.signed_by(FIRST, b"{\"n\":1}").await, 200);
    until(PATIENCE, "the second secret to be taken", async || match stage.hand_over(SECOND).await {
        204 => Ok(()),
        status => Err(status),
    })
    .await;
    assert_eq!(stage.signed_by(SECOND, b"{\"n\":2}").await, 200);
    assert_eq!(stage.signed_by(FIRST, b"{\"n\":3}").await, 401);
    assert_eq!(stage.hand_over("of-an-attacker").await, 401);
    assert_eq!(stage.signed_by(SECOND, b"{\"n\":4}").await, 200);
    assert_eq!(stage.audited("source.renew_secret").await, 1);
    // The door closes by itself.
    stage.ctl(OLD, renew).await.expect_success();
    let past = "update captured_secrets set renewable_until = clock_timestamp() - interval '1 second'";
    stage.db.execute(past, &[]).await;
    assert_eq!(stage.hand_over("of-an-attacker").await, 401);
    assert_eq!(stage.signed_by(SECOND, b"{\"n\":5}").await, 200);
}

#[tokio::test]
async fn secrets_that_were_handed_over_move_to_a_new_key() {
    let stage = Stage::start().await;
    assert_eq!(stage.hand_over(FIRST).await, 204);
    let reencrypt = async |keys: &str| stage.ctl(keys, &["secrets", "reencrypt"]).await;
    assert_says(&reencrypt(NEW).await, 1, &["cannot be read", "HOOKS_SECRET_KEYS"]);
    assert_says(&reencrypt(&format!("{NEW},{OLD}")).await, 0, &["1 encrypted anew"]);
    assert_says(&reencrypt(NEW).await, 0, &["0 encrypted anew"]);
    let shown = stage.ctl(NEW, &["sources", "show-secret", "task"]).await.expect_success();
    assert_eq!(shown.stdout, format!("{FIRST}\n"));
}
