//! Services of several kinds and numbers on one database.

use std::net::SocketAddr;
use std::time::Duration;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::load::Feed;
use hooks_testkit::process::{Launch, Service};
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
