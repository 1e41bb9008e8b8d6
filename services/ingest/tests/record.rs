//! Refused requests and handshakes are written down, behind the answer and within bounds, and a secret that is handed
//! over is stored before it is answered.

use hooks_shared::verify::presets;
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawResponse, exchange, request};
use hooks_testkit::process::{Launch, Service};
use hooks_testkit::{sign, until};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &str = "s3cret-of-the-tests";
const KEYS: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const SOURCES: &str = "
sources:
  hub: {verifier: github, secret: s3cret-of-the-tests}
  other: {verifier: github, secret: another-s3cret-entirely}
  quiet: {verifier: github, secret: s3cret-of-the-tests, record_rejected: false}
  key: {verifier: {type: token, from: 'header:X-Key'}, secret: s3cret-of-the-tests}
  task: {verifier: asana}
";

struct Stage {
    db: TestDb,
    _config: ConfigFile,
    _service: Service,
    address: SocketAddr,
}

impl Stage {
    async fn start(keys: &str) -> Self {
        Self::with(SOURCES, keys).await
    }

    async fn with(sources: &str, keys: &str) -> Self {
        let db = TestDb::create().await;
        let config = ConfigFile::write(sources);
        let launch = Launch::service("hooks-ingest")
            .config(config.path())
            .env("HOOKS_INGEST_DATABASE_URL", db.url_for("ingest"))
            .env("HOOKS_SECRET_KEYS", keys);
        let service = launch.start_ready(PATIENCE).await;
        let address = service.address().await;
        Self { db, _config: config, _service: service, address }
    }

    async fn post(&self, source: &str, headers: &[(&str, &str)], body: &[u8]) -> RawResponse {
        exchange(self.address, &request("POST", &format!("/ingest/{source}"), headers, body)).await
    }

    /// Posts with a signature of GitHub's under this secret.
    async fn hub(&self, source: &str, secret: &str, body: &[u8]) -> RawResponse {
        let headers = sign::github(secret, "d", "push", body);
        self.post(source, &sign::borrowed(&headers), body).await
    }

    async fn count(&self, table: &str, source: &str) -> i64 {
        self.db.query_one(&format!("select count(*) from {table} where source = $1"), &[&source]).await.get(0)
    }

    async fn count_becomes(&self, table: &str, source: &str, wanted: i64) {
        until(PATIENCE, &format!("{wanted} rows of {source} in {table}"), async || {
            let count = self.count(table, source).await;
            if count == wanted { Ok(()) } else { Err(count) }
        })
        .await;
    }
}

#[tokio::test]
async fn a_refused_request_is_kept_with_its_cause() {
    let stage = Stage::start(KEYS).await;
    assert_eq!(stage.hub("hub", "another-s3cret-entirely", b"{}").await.status, 401);
    stage.count_becomes("rejected_requests", "hub", 1).await;
    let row = stage.db.query_one("select * from rejected_requests where source = 'hub'", &[]).await;
    let reasons: Vec<String> = row.get("reasons");
    assert!(reasons[0].contains("source `other`"), "{reasons:?}");
    assert_eq!(
        (row.get::<_, &str>("verdict"), row.get::<_, i32>("status"), row.get::<_, bool>("certain")),
        ("bad_signature", 401, true)
    );
    assert_eq!((row.get::<_, &[u8]>("body"), row.get::<_, i64>("body_bytes")), (&b"{}"[..], 2));
    assert_eq!(row.get::<_, &[u8]>("target"), b"/ingest/hub");
}

#[tokio::test]
async fn credentials_are_masked_and_long_bodies_cut() {
    let stage = Stage::start(KEYS).await;
    let body = vec![b'x'; 100_000];
    let headers = [("X-Key", "the-key-of-someone"), ("Authorization", "Bearer abc"), ("X-Copy", SECRET)];
    assert_eq!(stage.post("key", &headers, &body).await.status, 401);
    stage.count_becomes("rejected_requests", "key", 1).await;
    let row = stage.db.query_one("select * from rejected_requests where source = 'key'", &[]).await;
    let headers = String::from_utf8(row.get("headers")).expect("text");
    for secret in ["the-key-of-someone", "abc", SECRET] {
        assert!(!headers.contains(secret), "{headers}");
    }
    assert_eq!((row.get::<_, &[u8]>("body").len(), row.get::<_, i64>("body_bytes")), (65_536, 100_000));
}

/// A request whose credential is in it, and what the kept row must still have.
struct Carrier {
    source: &'static str,
    verifier: &'static str,
    more: &'static str,
    query: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static [u8],
    kept: &'static [u8],
}

/// What everybody in [`CARRIERS`] offers; none of it is in the configuration.
const OFFERED: &str = "0ffered-by-someone";
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

const CARRIERS: &[Carrier] = &[
    carrier("gitlab", "gitlab", &[("X-Gitlab-Token", OFFERED)]),
    carrier("telegram", "telegram", &[("X-Telegram-Bot-Api-Secret-Token", OFFERED)]),
    carrier("generic_api_key", "generic_api_key", &[("X-Api-Key", OFFERED)]),
    // user:0ffered-by-someone
    carrier("postmark", "postmark", &[("Authorization", "Basic dXNlcjowZmZlcmVkLWJ5LXNvbWVvbmU=")]),
    carrier("generic_basic", "generic_basic", &[("authorization", "basic dXNlcjowZmZlcmVkLWJ5LXNvbWVvbmU=")]),
    carrier("cloudevents", "cloudevents", &[("Authorization", "Bearer 0ffered-by-someone")]),
    Carrier { query: "?a=b&access_token=0ffered-by-someone&c=d", ..carrier("cloudquery", "cloudevents", &[]) },
    Carrier { query: "?access%5Ftoken=0ffered-by-someone", ..carrier("cloudescaped", "cloudevents", &[]) },
    Carrier {
        body: br#"{ "value": [{"clientState" : "0ffered-by-someone", "id":1},{"clientState":"0ffered-by-someone"}] }"#,
        kept: br#"{ "value": [{"clientState" : "***", "id":1},{"clientState":"***"}] }"#,
        ..carrier("microsoft_graph", "microsoft_graph", &[])
    },
    Carrier {
        body: b"a=b&token=0ffered-by-someone&c=%20d",
        kept: b"a=b&token=***&c=%20d",
        ..carrier("form", "{type: token, from: 'form:token'}", &[FORM])
    },
    // A token that is bound to no body can be sent again with any.
    carrier(
        "bearer",
        "{type: jws, algorithm: HS256, signature: 'header:X-Token'}",
        &[("X-Token", "e30.0ffered-by-someone.e30")],
    ),
    // Secrets that come in handshakes for which there is no time any more.
    Carrier {
        body: br#"{"verification_token":"0ffered-by-someone","x":1}"#,
        kept: br#"{"verification_token":"***","x":1}"#,
        ..carrier("notion", "notion", &[])
    },
    carrier("asana", "asana", &[("X-Hook-Secret", OFFERED)]),
    Carrier {
        more: ", verify_token: the-token-of-meta",
        query: "?hub.challenge=1&hub.verify_token=0ffered-by-someone",
        ..carrier("meta", "meta", &[])
    },
];

const fn carrier(
    source: &'static str,
    verifier: &'static str,
    headers: &'static [(&'static str, &'static str)],
) -> Carrier {
    Carrier { source, verifier, more: "", query: "", headers, body: b"{}", kept: b"{}" }
}

impl Carrier {
    fn line(&self) -> String {
        let Self { source, verifier, more, .. } = self;
        format!("  {source}: {{verifier: {verifier}, secret: 'user:another-s3cret'{more}}}\n")
    }

    /// Handshakes by query come with GET.
    fn method(&self) -> &'static str {
        if self.source == "meta" { "GET" } else { "POST" }
    }
}

#[tokio::test]
async fn no_credential_of_any_preset_is_kept_and_the_rest_is() {
    let lines: String = CARRIERS.iter().map(Carrier::line).collect();
    let stage = Stage::with(&format!("sources:\n{lines}"), KEYS).await;
    for one in CARRIERS {
        let target = format!("/ingest/{}{}", one.source, one.query);
        let answer = exchange(stage.address, &request(one.method(), &target, one.headers, one.body)).await;
        assert_eq!(answer.status, 401, "{}: {}", one.source, answer.text());
    }
    for one in CARRIERS {
        stage.count_becomes("rejected_requests", one.source, 1).await;
        let row = "select target, headers, body, reasons from rejected_requests where source = $1";
        let row = stage.db.query_one(row, &[&one.source]).await;
        let text = |column: &str| String::from_utf8_lossy(row.get::<_, &[u8]>(column)).into_owned();
        let reasons: Vec<String> = row.get("reasons");
        let all = format!("{} {} {} {reasons:?}", text("target"), text("headers"), text("body"));
        for part in [OFFERED, "dXNlcjowZmZlcmVk"] {
            assert!(!all.contains(part), "{}: {all}", one.source);
        }
        assert_eq!(row.get::<_, &[u8]>("body"), one.kept, "{}", one.source);
    }
}

/// So that a preset that comes later is not forgotten above.
#[test]
fn every_preset_with_a_credential_in_its_requests_is_among_them() {
    for preset in presets().filter(|preset| preset.alias_of.is_none()) {
        let tables = match preset.verifier {
            Value::Array(list) => list.clone(),
            one => vec![one.clone()],
        };
        let carries = tables.iter().any(|table| {
            let handshakes = table["challenge"].as_array().cloned().unwrap_or_default();
            matches!(table["type"].as_str(), Some("token" | "basic"))
                || (table["type"] == "jws" && table.get("body_hash").is_none())
                || handshakes.iter().any(|h| h.get("store_secret").is_some() || h.get("check").is_some())
        });
        assert!(!carries || CARRIERS.iter().any(|one| one.source == preset.name), "{}", preset.name);
    }
}

#[tokio::test]
async fn at_most_one_a_second_and_a_hundred_of_a_source_are_kept() {
    let stage = Stage::start(KEYS).await;
    stage
        .db
        .execute(
            "insert into rejected_requests
                 (source, verdict, status, certain, reasons, method, target, headers, body, body_bytes)
             select 'hub', 'stale', 401, true, '{}', 'POST', '', '', '', 0 from generate_series(1, 150)",
            &[],
        )
        .await;
    for _ in 0..20 {
        assert_eq!(stage.hub("hub", "wrong", b"{}").await.status, 401);
        assert_eq!(stage.hub("quiet", "wrong", b"{}").await.status, 401);
    }
    stage.count_becomes("rejected_requests", "hub", 100).await;
    let fresh = "select count(*) from rejected_requests where source = 'hub' and verdict = 'bad_signature'";
    let fresh: i64 = stage.db.query_one(fresh, &[]).await.get(0);
    assert!((1..20).contains(&fresh), "{fresh}");
    assert_eq!(stage.count("rejected_requests", "quiet").await, 0);
}

#[tokio::test]
async fn a_secret_is_stored_sealed_before_it_is_answered_and_used_at_once() {
    let stage = Stage::start(KEYS).await;
    let answer = stage.post("task", &[("X-Hook-Secret", "captured-in-the-test")], b"{}").await;
    assert_eq!((answer.status, answer.header("x-hook-secret")), (204, Some("captured-in-the-test")));
    let row = stage.db.query_one("select sealed from captured_secrets where source = 'task'", &[]).await;
    let sealed: Vec<u8> = row.get("sealed");
    assert!(!sealed.windows(8).any(|part| part == b"captured"));
    let digest = hex::encode(sign::hmac_sha256(b"captured-in-the-test", b"{}"));
    assert_eq!(stage.post("task", &[("X-Hook-Signature", &digest)], b"{}").await.status, 200);
    assert_eq!(stage.post("task", &[("X-Hook-Secret", "of-an-attacker")], b"{}").await.status, 401);
    assert_eq!(stage.post("task", &[("X-Hook-Signature", &digest)], b"{}").await.status, 200);
    stage.count_becomes("handshakes", "task", 1).await;
    assert_eq!(stage.count("captured_secrets", "task").await, 1);
}

#[tokio::test]
async fn a_handshake_whose_secret_cannot_be_kept_is_not_answered() {
    let stage = Stage::start("").await;
    let answer = stage.post("task", &[("X-Hook-Secret", "captured-in-the-test")], b"{}").await;
    assert_eq!((answer.status, answer.header("x-hook-secret")), (503, None));
    assert_eq!(stage.count("captured_secrets", "task").await, 0);
}
