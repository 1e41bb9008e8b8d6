//! What the tests stand on: a database, a configuration, the service, and requests that pass.

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawConnection, RawResponse, exchange, request};
use hooks_testkit::load::{Feed, Load, assert_accounts_agree, assert_gapless};
use hooks_testkit::process::{Launch, Service};
use hooks_testkit::sign::{self, Headers, STANDARD_WEBHOOKS_SECRET, borrowed};
use hooks_testkit::until;
use std::net::SocketAddr;
use std::time::Duration;

/// Longer than anything takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The secret of every source that is not one of Standard Webhooks.
pub const SECRET: &str = "s3cret-of-the-tests";

/// Sources of four providers, and one of a scheme of its own whose events have neither id nor time.
pub const SOURCES: &str = "
sources:
  plain: {verifier: standard_webhooks, secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}
  hub: {verifier: github, secret: s3cret-of-the-tests}
  pay: {verifier: stripe, secret: s3cret-of-the-tests}
  chat: {verifier: slack, secret: s3cret-of-the-tests}
  bare:
    verifier: {type: hmac, signature: ['header:X-Signature'], signed: '{body}'}
    secret: s3cret-of-the-tests
";

/// What a load sends.
pub const FEEDS: [Feed; 2] = [("plain", plain), ("hub", hub)];

/// A running ingest with its database and its configuration.
pub struct Stage {
    pub db: TestDb,
    pub config: ConfigFile,
    pub service: Service,
    pub address: SocketAddr,
}

impl Stage {
    /// With [`SOURCES`].
    pub async fn start() -> Self {
        Self::with(SOURCES).await
    }

    /// With a configuration of the test's own.
    pub async fn with(yaml: &str) -> Self {
        let db = TestDb::create().await;
        let url = db.url_for("ingest");
        Self::on(db, &url, yaml).await
    }

    /// With a database of the test's own, reached by `url`.
    pub async fn on(db: TestDb, url: &str, yaml: &str) -> Self {
        let config = ConfigFile::write(yaml);
        let service = launch(&config, url).start_ready(PATIENCE).await;
        let address = service.address().await;
        Self { db, config, service, address }
    }

    /// Sends a POST to `/ingest/<source>` on a connection of its own.
    pub async fn post(&self, source: &str, headers: &Headers, body: &[u8]) -> RawResponse {
        exchange(self.address, &post(source, headers, body)).await
    }

    /// Stores an event of `plain` and returns its number; panics unless it is new.
    pub async fn store(&self, id: &str) -> i64 {
        let answer = self.post("plain", &plain(id, b"{}"), b"{}").await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        sequence(&answer)
    }

    pub async fn count(&self, source: &str) -> i64 {
        self.db.query_one("select count(*) from events where source = $1", &[&source]).await.get(0)
    }

    /// Ends a load; what its clients know must be what is stored. Returns how many events were accepted.
    pub async fn settle(&self, load: Load) -> usize {
        let sent = load.end().await;
        assert_gapless(&self.db).await;
        assert_accounts_agree(&self.db, &sent).await
    }

    /// Waits until the bodies in memory have this size together. The gauge moves with the next request that is
    /// counted, so one that is refused is sent each time.
    pub async fn holds(&self, bytes: usize) {
        let admin = self.service.admin().await;
        until(PATIENCE, &format!("{bytes} bytes of bodies to be in memory"), async || {
            exchange(self.address, &request("POST", "/ingest/nobody", &[], b"")).await;
            let text = exchange(admin, &request("GET", "/metrics", &[], b"")).await.text();
            let value = text.lines().find_map(|line| line.strip_prefix("hooks_ingest_budget_used_bytes "));
            if value == Some(&bytes.to_string()) { Ok(()) } else { Err(value.map(str::to_owned)) }
        })
        .await;
    }

    /// `/metrics`, until the sample `name` (with its labels) has this value.
    pub async fn metric_becomes(&self, name: &str, value: f64) {
        let admin = self.service.admin().await;
        until(PATIENCE, &format!("{name} to be {value}"), async || {
            let text = exchange(admin, &request("GET", "/metrics", &[], b"")).await.text();
            let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
            if found == Some(value) { Ok(()) } else { Err(found) }
        })
        .await;
    }
}

/// The service on free ports with the database at `url`.
pub fn launch(config: &ConfigFile, url: &str) -> Launch {
    Launch::service("hooks-ingest").config(config.path()).env("HOOKS_INGEST_DATABASE_URL", url)
}

/// The bytes of a POST.
pub fn post(source: &str, headers: &Headers, body: &[u8]) -> Vec<u8> {
    request("POST", &format!("/ingest/{source}"), &borrowed(headers), body)
}

/// Standard Webhooks, signed now.
pub fn plain(id: &str, body: &[u8]) -> Headers {
    sign::standard_webhooks(STANDARD_WEBHOOKS_SECRET, id, sign::now(), body)
}

pub fn hub(id: &str, body: &[u8]) -> Headers {
    sign::github(SECRET, id, "push", body)
}

/// The scheme of `bare`: a signature over the body and nothing else.
pub fn bare(body: &[u8]) -> Headers {
    vec![("X-Signature".into(), hex::encode(sign::hmac_sha256(SECRET.as_bytes(), body)))]
}

/// The number that an answer gives; panics if it gives none.
pub fn sequence(answer: &RawResponse) -> i64 {
    let number = answer.header("x-hooks-sequence").and_then(|text| text.parse().ok());
    number.unwrap_or_else(|| panic!("no X-Hooks-Sequence: {} {}", answer.head.start_line, answer.text()))
}

/// Sends on an open connection and reads one answer.
pub async fn ask(connection: &mut RawConnection, bytes: &[u8]) -> RawResponse {
    connection.send(bytes).await.expect("send");
    connection.recv().await.expect("an answer")
}
