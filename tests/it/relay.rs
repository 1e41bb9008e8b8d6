//! Services of several kinds and numbers on one database.

use std::net::SocketAddr;
use std::time::Duration;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::load::Feed;
use hooks_testkit::process::{Launch, Service, run};
use hooks_testkit::sign::{self, Headers};
use hooks_testkit::sse::Stream;

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const SECRET: &str = "s3cret-of-the-tests";
/// A listener's token for every source of [`SOURCES`].
pub const TOKEN: &str = "hk_listener_of_the_tests_000000000000000000";

/// Sources without a signed time, so that no first drain leaves anything out.
pub const SOURCES: &str = "
subscribe: {keepalive: 500ms}
sources:
  one: {verifier: github, secret: s3cret-of-the-tests}
  two: {verifier: github, secret: s3cret-of-the-tests}
  three: {verifier: github, secret: s3cret-of-the-tests}
";

/// What a load sends to them.
pub const FEEDS: [Feed; 3] = [("one", signed), ("two", signed), ("three", signed)];

pub fn signed(id: &str, body: &[u8]) -> Headers {
    sign::github(SECRET, id, "push", body)
}

/// Makes [`TOKEN`] known.
pub async fn make_token(db: &TestDb) {
    let sql = "insert into tokens (id, name, kind, scopes, secret_hash)
        values (gen_random_uuid(), 'test', 'listener', $2, sha256(convert_to($1, 'UTF8')))";
    let scopes: Vec<&str> = FEEDS.iter().map(|(source, _)| *source).collect();
    db.execute(sql, &[&TOKEN, &scopes]).await;
}

/// What opens secrets at rest, for those who need to.
pub const KEYS: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// An administrator's token.
const ADMIN: &str = "hk_admin_of_the_tests_00000000000000000000000";

/// An ingest and a push-worker that sends what comes to `one` to a URL.
pub struct Pushing {
    pub ingest: Service,
    pub worker: Service,
    _db: TestDb,
    _config: ConfigFile,
}

impl Pushing {
    /// `push` stands under `push:`, beside what permits loopback; `add` is the URL, and more for `push add`.
    pub async fn start(push: &str, add: &[&str], env: &[(&str, &str)]) -> Self {
        let db = TestDb::create().await;
        let config =
            ConfigFile::write(&format!("push: {{allow_destinations: [loopback], {push}}}\n{SOURCES}"));
        let start = async |service: &str, role: &str| {
            let (name, value) = db.env_for(role);
            let launch = Launch::service(&format!("hooks-{service}")).config(config.path()).env(name, value);
            launch.envs(env.to_vec()).env("HOOKS_SECRET_KEYS", KEYS).start_ready(PATIENCE).await
        };
        let ingest = start("ingest", "ingest").await;
        let inspector = start("inspector", "inspector").await;
        let worker = start("push-worker", "push_worker").await;
        let sql = "insert into tokens (id, name, kind, scopes, secret_hash)
            values (gen_random_uuid(), 'test', 'pat', '{admin}', sha256(convert_to($1, 'UTF8')))";
        db.execute(sql, &[&ADMIN]).await;
        let inspector = inspector.url("").await;
        let env = [("HOOKS_INSPECTOR", inspector.as_str()), ("HOOKS_TOKEN", ADMIN)];
        run("hooksctl", &[&["push", "add", "one"], add].concat(), &env, b"").await.expect_success();
        Self { ingest, worker, _db: db, _config: config }
    }
}

/// `hooks-<name>` as its role, reaching its database by `url`.
pub async fn start(name: &str, config: &ConfigFile, url: &str) -> Service {
    let variable = format!("HOOKS_{}_DATABASE_URL", name.to_uppercase());
    Launch::service(&format!("hooks-{name}"))
        .config(config.path())
        .env(variable, url)
        .start_ready(PATIENCE)
        .await
}

/// A stream of `source` from behind `cursor`.
pub async fn listen(subscribe: SocketAddr, source: &str, cursor: i64) -> Stream {
    Stream::open(subscribe, &format!("/subscribe/{source}?since={cursor}"), TOKEN).await
}
