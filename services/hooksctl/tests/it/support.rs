//! A relay of ingest and subscribe on a database of its own, and hooksctl pointed at it.

use std::time::Duration;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{exchange, request};
use hooks_testkit::process::{Launch, Output, Service, run};
use hooks_testkit::sign;

pub const PATIENCE: Duration = Duration::from_secs(30);
pub const TOKEN: &str = "hk_listener_of_the_tests_000000000000000000";
pub const SECRET: &str = sign::STANDARD_WEBHOOKS_SECRET;

/// The services that events need to get from a provider to a listener.
pub struct Relay {
    pub db: TestDb,
    pub config: ConfigFile,
    pub ingest: Service,
    pub subscribe: Service,
    pub ingest_url: String,
    pub subscribe_url: String,
}

impl Relay {
    /// With one source, `demo`.
    pub async fn start() -> Self {
        Self::with("").await
    }

    /// With more lines for `hooks.yaml`, after those of `demo`.
    pub async fn with(more: &str) -> Self {
        let demo = format!(
            "  demo:\n    verifier: standard_webhooks\n    secret: {SECRET}\n    body_size_limit: 32MiB\n"
        );
        Self::configured(&format!(
            "subscribe:\n  keepalive: 400ms\n  stall_timeout: 60s\nsources:\n{demo}{more}"
        ))
        .await
    }

    pub async fn configured(yaml: &str) -> Self {
        let db = TestDb::create().await;
        let config = ConfigFile::write(yaml);
        let start = async |binary: &str, role: &str| {
            let (name, value) = db.env_for(role);
            Launch::service(binary).config(config.path()).env(name, value).start_ready(PATIENCE).await
        };
        let ingest = start("hooks-ingest", "ingest").await;
        let subscribe = start("hooks-subscribe", "subscribe").await;
        let (ingest_url, subscribe_url) = (ingest.url("").await, subscribe.url("").await);
        let relay = Self { db, config, ingest, subscribe, ingest_url, subscribe_url };
        relay.make_token(TOKEN, "listener", &["demo", "stripe", "github", "slack"]).await;
        relay
    }

    pub async fn make_token(&self, text: &str, kind: &str, scopes: &[&str]) {
        let insert = "insert into tokens (id, name, kind, scopes, secret_hash) \
                      values (gen_random_uuid(), 'test', $2, $3, sha256(convert_to($1, 'UTF8')))";
        self.db.execute(insert, &[&text, &kind, &scopes]).await;
    }

    /// hooksctl with these arguments, in the folder of the configuration.
    pub fn ctl(&self, args: &[&str]) -> Launch {
        Launch::binary("hooksctl")
            .args(args.iter().copied())
            .dir(self.config.dir())
            .home(self.config.dir())
            .envs(self.env())
    }

    pub fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("HOOKS_SERVER", self.subscribe_url.clone()),
            ("HOOKS_INGEST", self.ingest_url.clone()),
            ("HOOKS_TOKEN", TOKEN.to_owned()),
            ("HOOKS_CONFIG", self.config.path().display().to_string()),
        ]
    }

    /// Runs hooksctl to its end.
    pub async fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, &[]).await
    }

    pub async fn run_with(&self, args: &[&str], more: &[(&str, &str)]) -> Output {
        let env = self.env();
        let mut env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        env.extend_from_slice(more);
        run("hooksctl", args, &env, b"").await
    }

    /// Stores an event of `demo` that was signed now; its sequence.
    pub async fn store(&self, id: &str, body: &[u8]) -> i64 {
        let headers = sign::standard_webhooks(SECRET, id, sign::now(), body);
        let post = request("POST", "/ingest/demo", &sign::borrowed(&headers), body);
        let answer = exchange(self.ingest.address().await, &post).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        answer.header("x-hooks-sequence").and_then(|text| text.parse().ok()).expect("a sequence")
    }

    /// Makes every stored event older than any skew window.
    pub async fn age_everything(&self) {
        let age = "update events set provider_timestamp = provider_timestamp - interval '1 day'";
        self.db.execute(age, &[]).await;
    }

    /// What `forward` has written down for `demo`.
    pub fn cursor(&self) -> Option<String> {
        let folder = self.config.dir().join(".local/state/hooks");
        let mut entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let path = entries.find(|path| path.to_string_lossy().ends_with("-demo"))?;
        Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
    }

    pub fn cursor_is(&self, expected: i64) -> Result<(), String> {
        let found = self.cursor();
        if found.as_deref() == Some(&expected.to_string()) {
            Ok(())
        } else {
            Err(format!("cursor {found:?}"))
        }
    }
}

/// Asserts an exit code and that each part is in what was said on standard error.
pub fn assert_says(output: &Output, code: i32, parts: &[&str]) {
    assert_eq!(output.code(), code, "{output:?}");
    for part in parts {
        assert!(output.stderr.contains(part), "no {part:?} in: {}", output.stderr);
    }
    assert!(!output.stderr.contains(TOKEN) && !output.stderr.contains(SECRET), "a secret: {}", output.stderr);
}
