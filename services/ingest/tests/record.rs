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
        Self::on(TestDb::create().await, sources, keys).await
    }

    /// On a database that has something in it.
    async fn on(db: TestDb, sources: &str, keys: &str) -> Self {
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
async fn the_head_of_a_refused_request_is_kept_as_it_came() {
    let stage = Stage::start(KEYS).await;
    let head = "POST /ingest/key?b=%2F&a HTTP/1.1\r\nX-ZULU: 2 \r\nhOST: h\r\nx-Key: the-key-of-someone\r\n\
                X-Alpha:\r\nx-zulu: 1\r\nContent-LENGTH: 2\r\nConnection: close\r\n\r\n{}";
    assert_eq!(exchange(stage.address, head.as_bytes()).await.status, 401);
    stage.count_becomes("rejected_requests", "key", 1).await;
    let row = stage.db.query_one("select * from rejected_requests where source = 'key'", &[]).await;
    assert_eq!(row.get::<_, &[u8]>("target"), b"/ingest/key?b=%2F&a");
    assert_eq!(
        String::from_utf8_lossy(row.get("headers")),
        "X-ZULU:2\nhOST:h\nx-Key:***\nX-Alpha:\nx-zulu:1\nContent-LENGTH:2\nConnection:close\n"
    );
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

#[tokio::test]
async fn the_own_token_of_another_source_is_not_kept_wherever_it_stands() {
    let own = "{type: token, from: 'header:X-Acme', secret: acmes+own/token}";
    let sources = format!(
        "sources:\n  hub: {{verifier: github, secret: 0123456789abcdef}}\n  acme: {{verifier: {own}}}\n"
    );
    let stage = Stage::with(&sources, KEYS).await;
    let headers = [("X-Acme", "acmes+own/token")];
    let target = "/ingest/hub?key=acmes%2Bown%2Ftoken";
    let body = b"{\"key\":\"acmes+own/token\"}";
    let answer = exchange(stage.address, &request("POST", target, &headers, body)).await;
    assert_eq!(answer.status, 401, "{}", answer.text());
    stage.count_becomes("rejected_requests", "hub", 1).await;
    let row = stage.db.query_one("select target, headers, body from rejected_requests", &[]).await;
    let text = |column: &str| String::from_utf8_lossy(row.get::<_, &[u8]>(column)).into_owned();
    assert_eq!(text("target"), "/ingest/hub?key=***");
    assert_eq!(text("body"), r#"{"key":"***"}"#);
    assert!(text("headers").contains("***") && !text("headers").contains("acmes"), "{}", text("headers"));
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

/// What the doctor is known to find is found behind an answer too: of requests that came over a wire.
#[tokio::test]
async fn causes_are_found_behind_the_answer() {
    let names = ["compacted", "crlf", "older", "doubled", "late", "forged"];
    let line = |name: &str| match name {
        "doubled" | "late" => format!("  {name}: {{verifier: slack, secret: {SECRET}}}\n"),
        _ => format!("  {name}: {{verifier: github, secret: {SECRET}}}\n"),
    };
    let lines: String = names.iter().map(|name| line(name)).collect();
    let stage = Stage::with(&format!("sources:\n{lines}"), KEYS).await;
    let github = |secret: &str, signed: &[u8]| sign::github(secret, "d", "push", signed);
    let slack = |at: i64| sign::slack(SECRET, at, b"{}");
    let mut doubled = slack(sign::now());
    doubled.push(("X-Slack-Signature".into(), "v0=00".into()));
    // Each is sent to a source of its own: of one source one a second is kept.
    type Sent<'t> = (&'t str, Vec<(String, String)>, &'t [u8]);
    let older = vec![("X-Hub-Signature".into(), "sha1=00".into())];
    let pretty = b"{\n  \"a\": 1\n}";
    let cases: [(Sent<'_>, &str, &str, bool); 6] = [
        (("compacted", github(SECRET, pretty), b"{\"a\":1}"), "bad_signature", "indented by two", true),
        (("crlf", github(SECRET, b"a\nb"), b"a\r\nb"), "bad_signature", "became CR LF", true),
        (("older", older, b"{}"), "missing_header", "X-Hub-Signature-256", true),
        (("doubled", doubled, b"{}"), "malformed", "twice", true),
        (("late", slack(sign::now() - 5000), b"{}"), "stale", "signature is right", true),
        (("forged", github("of-somebody-else", b"{}"), b"{}"), "bad_signature", "I do not know", false),
    ];
    for ((source, headers, body), verdict, words, certain) in cases {
        let answer = stage.post(source, &sign::borrowed(&headers), body).await;
        assert_eq!((answer.status, answer.text()), (401, format!("{verdict}\n")), "{source}");
        stage.count_becomes("rejected_requests", source, 1).await;
        let row = "select verdict, reasons, certain from rejected_requests where source = $1";
        let row = stage.db.query_one(row, &[&source]).await;
        let reasons: Vec<String> = row.get("reasons");
        assert_eq!(
            (row.get::<_, &str>("verdict"), row.get::<_, bool>("certain")),
            (verdict, certain),
            "{source}"
        );
        assert!(reasons.iter().any(|reason| reason.contains(words)), "{source}: {reasons:?}");
    }
}

/// Of a body that is longer than is looked at, the verdict is the one that was answered.
#[tokio::test]
async fn a_long_body_keeps_the_verdict_it_got() {
    let stage = Stage::with(
        &format!("sources:\n  long: {{verifier: slack, secret: {SECRET}, body_size_limit: 4MiB}}\n"),
        KEYS,
    )
    .await;
    let body = vec![b'x'; 2 * 1024 * 1024];
    let headers = sign::slack(SECRET, sign::now() - 5000, &body);
    let answer = stage.post("long", &sign::borrowed(&headers), &body).await;
    assert_eq!((answer.status, answer.text()), (401, "stale\n".into()));
    stage.count_becomes("rejected_requests", "long", 1).await;
    let row = stage.db.query_one("select verdict, reasons, certain from rejected_requests", &[]).await;
    let reasons: Vec<String> = row.get("reasons");
    assert_eq!((row.get::<_, &str>("verdict"), row.get::<_, bool>("certain")), ("stale", false));
    assert!(reasons[0].contains("signed 50") && reasons[1].contains("longer"), "{reasons:?}");
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
async fn no_answer_waits_for_what_is_kept_of_the_request() {
    let stage = Stage::start(KEYS).await;
    let holder = stage.db.client().await;
    let lock = "begin; lock table rejected_requests in exclusive mode";
    holder.batch_execute(lock).await.expect("the lock");
    for source in ["hub", "other"] {
        assert_eq!(stage.hub(source, "wrong", b"{}").await.status, 401);
    }
    // Whoever had waited for the row to be written would have been answered only after the write was given up.
    until(PATIENCE, "a write that still waits", async || {
        let waits = "select from pg_locks where relation = 'rejected_requests'::regclass and not granted";
        stage.db.query(waits, &[]).await.len() == 1
    })
    .await;
    assert_eq!(stage.count("rejected_requests", "hub").await, 0);
    holder.batch_execute("rollback").await.expect("the end of the lock");
    assert_eq!(stage.post("key", &[], b"{}").await.status, 401);
    stage.count_becomes("rejected_requests", "key", 1).await;
}

#[tokio::test]
async fn what_was_refused_more_than_a_day_ago_is_forgotten() {
    let db = TestDb::create().await;
    // Also of a source that is configured no more.
    db.execute(
        "insert into rejected_requests
             (source, at, verdict, status, certain, reasons, method, target, headers, body, body_bytes)
         select source, clock_timestamp() - age, 'stale', 401, true, '{}', 'POST', '', '', '', 0
         from unnest('{hub,gone}'::text[]) as source,
              unnest('{23 hours 59 minutes,1 day 1 minute,3 days}'::interval[]) as age",
        &[],
    )
    .await;
    let stage = Stage::on(db, SOURCES, KEYS).await;
    stage.count_becomes("rejected_requests", "hub", 1).await;
    stage.count_becomes("rejected_requests", "gone", 1).await;
    let kept = "select min(clock_timestamp() - at) < interval '1 day' as fresh from rejected_requests";
    assert!(stage.db.query_one(kept, &[]).await.get::<_, bool>("fresh"));
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
