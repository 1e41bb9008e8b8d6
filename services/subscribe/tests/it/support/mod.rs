//! A relay for one test: a database, the service built on it, and somebody who appends events.

mod log;
mod writer;

pub use log::lines_about;
pub use writer::{NewEvent, Writer};

use hooks_shared::config::{self, Service};
use hooks_shared::{Clock, Config, token};
use hooks_subscribe::app::{self, Running, Seams};
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{self, RawResponse};
use hooks_testkit::sse::Stream;
use hooks_testkit::until;
use std::path::Path;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

/// Long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The sections of `hooks.yaml` behind the sources.
pub const QUICK: &str = "subscribe: {keepalive: 300ms, stall_timeout: 2s}\n";

/// A running service and its database.
pub struct Relay {
    pub db: TestDb,
    pub running: Running,
    pub token: String,
    pub writer: Writer,
}

/// How a relay is set up.
pub struct Setup {
    pub sources: &'static [&'static str],
    /// Further sections of the configuration.
    pub settings: &'static str,
    pub clock: Clock,
    pub ring_idle: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            sources: &["render"],
            settings: QUICK,
            clock: Clock::system(),
            ring_idle: Duration::from_secs(60),
        }
    }
}

impl Setup {
    pub fn config(&self, database_url: &str) -> Config {
        configured(self.sources, self.settings, database_url)
    }

    pub async fn start(self) -> Relay {
        let db = TestDb::create().await;
        self.start_on(db).await
    }

    pub async fn start_on(self, db: TestDb) -> Relay {
        let url = db.url_for("subscribe");
        self.start_via(db, &url).await
    }

    /// The service reaches the database by `url`; the test itself does so directly.
    pub async fn start_via(self, db: TestDb, url: &str) -> Relay {
        log::capture();
        let token = mint(&db, "listener", self.sources).await;
        let writer = Writer::new(&db).await;
        let seams = Seams { clock: self.clock.clone(), ring_idle: self.ring_idle };
        let running = app::build(self.config(url), "127.0.0.1:0", "127.0.0.1:0", seams)
            .await
            .expect("build the service");
        Relay { db, running, token, writer }
    }
}

/// A configuration with these sources, all without a verifier's own limits.
pub fn configured(sources: &[&str], settings: &str, database_url: &str) -> Config {
    let mut yaml = format!("database_url: {database_url}\nsources:\n");
    for source in sources {
        yaml.push_str(&format!(
            "  {source}: {{verifier: standard_webhooks, secret: unused, skew_window: 5m}}\n"
        ));
    }
    yaml.push_str(settings);
    config::parse("hooks.yaml", &yaml, Path::new("."), Service::Subscribe, &|_| None)
        .expect("a good configuration")
}

/// A new token in the database; its text.
pub async fn mint(db: &TestDb, kind: &str, scopes: &[&str]) -> String {
    let token = token::mint().expose().to_owned();
    db.execute(
        "insert into tokens (id, name, kind, scopes, secret_hash) values ($1, 'test', $2, $3, $4)",
        &[&Uuid::new_v4(), &kind, &scopes, &token::hash(&token)],
    )
    .await;
    token
}

impl Relay {
    pub async fn start() -> Self {
        Setup::default().start().await
    }

    /// Opens a stream with the relay's own token.
    pub async fn listen(&self, path: &str) -> Stream {
        Stream::open(self.running.address, path, &self.token).await
    }

    pub async fn get(&self, path: &str) -> RawResponse {
        self.get_as(path, Some(&self.token)).await
    }

    pub async fn get_as(&self, path: &str, token: Option<&str>) -> RawResponse {
        let bearer = format!("Bearer {}", token.unwrap_or_default());
        let headers: &[_] = if token.is_some() { &[("Authorization", &*bearer)] } else { &[] };
        http::get(self.running.address, path, headers).await
    }

    /// The value of a metric on the admin port, the labels included in `name`; zero where it is not shown.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = http::get(self.running.admin_address, "/metrics", &[]).await.text();
        let line =
            text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
    }

    pub async fn wait_metric(&self, name: &str, good: impl Fn(f64) -> bool) {
        until(PATIENCE, name, async || {
            let value = self.metric(name).await;
            if good(value) { Ok(()) } else { Err(value) }
        })
        .await;
    }
}

/// Opens a stream with `token` and further headers.
pub async fn listen_with(relay: &Relay, path: &str, headers: &[(&str, &str)]) -> Result<Stream, RawResponse> {
    let bearer = format!("Bearer {}", relay.token);
    let mut all = vec![("Authorization", &*bearer)];
    all.extend_from_slice(headers);
    Stream::connect(relay.running.address, path, &all).await
}

/// The sequences of the next `n` messages.
pub async fn sequences(stream: &mut Stream, n: usize) -> Vec<i64> {
    stream.collect_until(n, PATIENCE).await.iter().map(hooks_testkit::sse::Message::sequence).collect()
}

/// The sequences of all messages up to the first comment that contains `comment`.
pub async fn sequences_until(stream: &mut Stream, comment: &str) -> Vec<i64> {
    let items = stream.collect_until_comment(comment, PATIENCE).await;
    let sequence = |item| match item {
        hooks_testkit::sse::Item::Message(message) => Some(hooks_testkit::sse::Message::sequence(&message)),
        hooks_testkit::sse::Item::Comment(_) => None,
    };
    items.into_iter().filter_map(sequence).collect()
}

pub fn now() -> OffsetDateTime {
    OffsetDateTime::now_utc()
}
