//! Recorded requests of every provider over real HTTP, each at the moment it was made: the verdicts of
//! `tests/vectors/` hold for the service as they hold for the verifier alone.

use crate::stage::PATIENCE;
use hooks_ingest::app::{self, Seams};
use hooks_shared::clock::Clock;
use hooks_shared::config::{Config, Service, parse};
use hooks_shared::verify::{Reason, Recorded, Verdict, Verifier};
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawResponse, exchange, request};
use hooks_testkit::until;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use time::OffsetDateTime;

/// A record and the source that it is sent to.
struct Sample {
    source: String,
    record: Recorded,
    vector: Value,
}

impl Sample {
    fn new(number: usize, vector: Value) -> Self {
        let record = serde_json::from_value(vector.clone()).expect("a record");
        Self { source: format!("v{number}"), record, vector }
    }

    fn config(&self) -> Value {
        let settings = self.record.settings();
        let secrets: Vec<&str> = settings.secrets.iter().map(|secret| secret.expose()).collect();
        let mut source = json!({"verifier": settings.verifier});
        // Providers that send events with other methods are written down so; handshakes are let in without.
        if self.record.method != "POST" && self.vector["expect"] != "challenge" {
            source["methods"] = json!(["POST", self.record.method]);
        }
        if !secrets.is_empty() {
            source["secrets"] = secrets.iter().map(|secret| secret.replace('$', "$$")).collect();
        }
        if let Some(url) = &settings.public_url {
            source["public_url"] = json!(url);
        }
        if let Some(token) = &settings.verify_token {
            source["verify_token"] = json!(token.expose());
        }
        if !settings.allowed_origins.is_empty() {
            source["allowed_origins"] = json!(settings.allowed_origins);
        }
        source
    }

    async fn send(&self, address: SocketAddr) -> RawResponse {
        let parts = self.record.parts().expect("a request");
        let query = parts.target.split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
        let headers: Vec<(&str, &str)> =
            self.record.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let path = format!("/ingest/{}{query}", self.source);
        exchange(address, &request(&parts.method, &path, &headers, &parts.body)).await
    }

    /// What is wrong with the answer.
    fn complaint(&self, answer: &RawResponse) -> Option<String> {
        let verifier = Verifier::compile(&self.record.settings());
        let verifier = verifier.expect("it compiles").verifier;
        let expect = self.vector["expect"].as_str().unwrap_or_default();
        let (status, body) = match expect {
            "ok" => (verifier.ack().status, String::from_utf8_lossy(&verifier.ack().body).into_owned()),
            "challenge" => {
                let response = &self.vector["response"];
                let status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok());
                (status.unwrap_or_default(), response["body"].as_str().unwrap_or_default().to_owned())
            }
            word => (verifier.refuse_status(Reason::BadSignature), format!("{word}\n")),
        };
        let right = answer.status == status && answer.text() == body;
        (!right).then(|| {
            let name = format!("{} / {}", self.vector["provider"], self.vector["name"]);
            format!("{name}: {status} {body:?} expected, got {} {:?}", answer.status, answer.text())
        })
    }
}

/// For each scheme one that is stored, one that is refused for its signature, and one that is a handshake.
fn samples() -> Vec<Sample> {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../../../../tests/vectors/signatures.json"))
        .expect("vectors in JSON");
    let mut seen = BTreeSet::new();
    let mut first = |vector: &Value| {
        let kind = (vector["provider"].to_string(), vector["expect"].to_string());
        ["ok", "bad_signature", "challenge"].iter().any(|word| vector["expect"] == *word)
            && can_be_sent(vector)
            && seen.insert(kind)
    };
    let chosen: Vec<Value> = vectors.into_iter().filter(|vector| first(vector)).collect();
    chosen.into_iter().enumerate().map(|(number, vector)| Sample::new(number, vector)).collect()
}

/// Not: a sender's address, which is this machine's here; a secret to be stored, which needs keys (tests/record.rs);
/// a confirmation, which is a request to the provider; and what is not the body alone that HTTP itself reads.
fn can_be_sent(vector: &Value) -> bool {
    let framing = ["host", "content-length", "transfer-encoding", "connection"];
    let headers = vector["headers"].as_array().cloned().unwrap_or_default();
    let name = |header: &Value| header[0].as_str().unwrap_or_default().to_ascii_lowercase();
    let reads_framing = headers.iter().any(|header| framing.contains(&name(header).as_str()));
    let confirms = vector["provider"] == "aws_sns" && vector["expect"] == "challenge";
    let record: Recorded = serde_json::from_value(vector.clone()).expect("a record");
    let settings = record.settings();
    let moment = record.moment().expect("a moment");
    let parts = record.parts().expect("a request");
    // Some need the path itself, which differs here, or settings that a file cannot have.
    let whole = Verifier::compile(&settings)
        .is_ok_and(|compiled| compiled.verifier.verify(&parts.request(), moment).word() == vector["expect"]);
    whole
        && !reads_framing
        && !confirms
        && vector.get("stores_secret").is_none()
        && vector.get("allow").is_none()
        && !matches!(
            Verifier::compile(&settings).map(|c| c.verifier.verify(&parts.request(), moment)),
            Ok(Verdict::Challenge(answer)) if answer.store_secret.is_some() || answer.confirm.is_some()
        )
}

fn config(db: &TestDb, samples: &[Sample]) -> Config {
    let sources: Map<String, Value> =
        samples.iter().map(|sample| (sample.source.clone(), sample.config())).collect();
    let text = json!({"database_url": db.url_for("ingest"), "sources": sources}).to_string();
    parse("hooks.yaml", &text, Path::new("."), Service::Ingest, &|_| None).expect("a good file")
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_requests_get_their_verdict_over_http() {
    let db = TestDb::create().await;
    let samples = samples();
    assert!(samples.len() > 120, "only {} samples", samples.len());
    let (clock, hand) = Clock::fixed(OffsetDateTime::now_utc());
    let running =
        app::build(config(&db, &samples), "127.0.0.1:0", "127.0.0.1:0", Seams { clock, ..Seams::default() })
            .await;
    let running = running.expect("it starts");
    until(PATIENCE, "ingest to be ready", async || {
        let answer = exchange(running.admin_address, &request("GET", "/readyz", &[], b"")).await;
        if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
    })
    .await;
    let mut complaints = Vec::new();
    for sample in &samples {
        hand.set(sample.record.moment().expect("a moment"));
        complaints.extend(sample.complaint(&sample.send(running.address).await));
    }
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), samples.len(), complaints.join("\n"));
    running.stop().await;
    let stored: i64 = db.query_one("select count(*) from events", &[]).await.get(0);
    let good = samples.iter().filter(|sample| sample.vector["expect"] == "ok").count();
    assert_eq!(stored, i64::try_from(good).expect("a small number"));
}
