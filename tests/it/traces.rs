//! Spans for a collector (deploy/README.md, "Traces"): one trace from the provider's span over ingest to each attempt of
//! push, made by services that never talk to each other.

use std::collections::BTreeMap;

use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::process::{Signal, run};
use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::{http, port, until};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;

use crate::relay::{KEYS, PATIENCE, Pushing, SOURCES, signed};

const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const UNSAMPLED: &str = "00-1bf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// A relay that pushes what comes to `one`, and tells a collector.
struct Traced(Pushing);

impl Traced {
    async fn start(receiver: &Receiver, collector: &str) -> Self {
        let push = "retry: {initial: 100ms, factor: 1, max_attempts: 9, cap: 100ms}";
        let env = [("OTEL_EXPORTER_OTLP_ENDPOINT", collector), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
        Self(Pushing::start(push, &[&receiver.url("/hook")], &env).await)
    }

    async fn send(&self, id: &str, more: &[(&str, &str)]) -> u16 {
        let body = format!("{{\"id\":\"{id}\"}}");
        let signature = signed(id, body.as_bytes());
        let mut headers: Vec<(&str, &str)> =
            signature.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        headers.extend(more);
        let request = http::request("POST", "/ingest/one", &headers, body.as_bytes());
        http::exchange(self.0.ingest.address().await, &request).await.status
    }

    async fn stop(&self) {
        for service in [&self.0.ingest, &self.0.worker] {
            service.signal(Signal::Term);
            service.wait_exit(PATIENCE).await;
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Seen {
    service: String,
    name: String,
    trace: String,
    id: String,
    parent: String,
    failed: bool,
    attributes: BTreeMap<String, String>,
}

/// All spans that the collector has got, in the order of their beginnings.
fn spans(collector: &Receiver) -> Vec<Seen> {
    let text = |value: Option<Value>| match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    };
    let mut seen = Vec::new();
    for request in collector.requests_to("/v1/traces") {
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
        let export = ExportTraceServiceRequest::decode(request.body.as_slice()).expect("OTLP");
        for group in export.resource_spans {
            let resource = group.resource.expect("a resource").attributes;
            let service =
                resource.into_iter().find(|one| one.key == "service.name").and_then(|one| one.value);
            let service = text(service.expect("service.name").value);
            for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
                let pairs = span.attributes.into_iter();
                let one = Seen {
                    service: service.clone(),
                    name: span.name,
                    trace: hex::encode(span.trace_id),
                    id: hex::encode(span.span_id),
                    parent: hex::encode(span.parent_span_id),
                    failed: span.status.is_some_and(|status| status.code == 2),
                    attributes: pairs.map(|one| (one.key, text(one.value.expect("a value").value))).collect(),
                };
                seen.push((span.start_time_unix_nano, one));
            }
        }
    }
    seen.sort_by_key(|(start, _)| *start);
    seen.into_iter().map(|(_, one)| one).collect()
}

#[tokio::test]
async fn a_trace_leads_from_the_provider_over_ingest_to_every_attempt() {
    let (receiver, collector) = (Receiver::start().await, Receiver::start().await);
    receiver.respond_in_turn("/hook", [Script::status(503), Script::status(200)]);
    let relay = Traced::start(&receiver, &collector.url("")).await;
    assert_eq!(relay.send("joined", &[("Traceparent", SAMPLED)]).await, 200);
    receiver.wait_for(2, PATIENCE).await;
    assert_eq!(relay.send("own", &[]).await, 200);
    receiver.wait_for(3, PATIENCE).await;
    assert_eq!(relay.send("not-recorded", &[("traceparent", UNSAMPLED)]).await, 200);
    receiver.wait_for(4, PATIENCE).await;
    let forged = [("X-Hub-Signature-256", "sha256=00"), ("traceparent", SAMPLED)];
    assert_eq!(
        http::exchange(relay.0.ingest.address().await, &http::request("POST", "/ingest/one", &forged, b"{}"))
            .await
            .status,
        401
    );
    until(PATIENCE, "five spans", async || {
        let seen = spans(&collector);
        if seen.len() >= 5 { Ok(()) } else { Err(format!("{seen:#?}")) }
    })
    .await;
    relay.stop().await;

    let all = spans(&collector);
    assert_eq!(all.len(), 5, "{all:#?}");
    let (joined, own): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.trace == SAMPLED[3..35]);
    let [taken, first, second] = joined[..] else { panic!("{all:#?}") };
    assert_eq!((taken.service.as_str(), taken.name.as_str()), ("hooks-ingest", "ingest one"));
    assert_eq!(taken.parent, SAMPLED[36..52]);
    assert_eq!(taken.attributes["hooks.outcome"], "stored");
    for (attempt, number, outcome) in [(first, "1", "http_error"), (second, "2", "succeeded")] {
        assert_eq!((attempt.service.as_str(), attempt.name.as_str()), ("hooks-push-worker", "push one"));
        assert_eq!(attempt.parent, taken.id);
        assert_eq!(attempt.attributes["hooks.attempt"], number);
        assert_eq!(attempt.attributes["hooks.outcome"], outcome);
        assert_eq!(attempt.failed, outcome != "succeeded");
        assert_eq!(attempt.attributes["hooks.event_id"], taken.attributes["hooks.event_id"]);
    }
    assert_eq!(first.attributes["http.response.status_code"], "503");
    assert_ne!(first.id, second.id);

    let [taken, attempt] = own[..] else { panic!("{all:#?}") };
    assert_eq!((taken.parent.as_str(), &attempt.parent), ("", &taken.id));
    assert_eq!(taken.trace, attempt.trace);

    // What the receiver gets is what the provider sent, whoever collects.
    let parents: Vec<_> =
        receiver.requests().iter().map(|one| one.header("traceparent").map(str::to_owned)).collect();
    let sampled = Some(SAMPLED.to_owned());
    assert_eq!(parents, [sampled.clone(), sampled, None, Some(UNSAMPLED.to_owned())]);
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nothing_up_and_is_named_once_without_its_address() {
    let receiver = Receiver::start().await;
    let away = format!("http://127.0.0.1:{}", port::free());
    let relay = Traced::start(&receiver, &away).await;
    for number in 0..3 {
        assert_eq!(relay.send(&format!("e{number}"), &[]).await, 200);
        receiver.wait_for(number + 1, PATIENCE).await;
    }
    for service in [&relay.0.ingest, &relay.0.worker] {
        service.wait_log("the collector does not take spans", PATIENCE).await;
    }
    relay.stop().await;
    for service in [&relay.0.ingest, &relay.0.worker] {
        let logs = service.logs();
        assert_eq!(logs.matches("does not take spans").count(), 1, "{logs}");
        assert!(!logs.contains(&away), "{logs}");
    }
}

#[tokio::test]
async fn a_protocol_that_is_not_spoken_stops_the_start() {
    let db = TestDb::create().await;
    let config = ConfigFile::write(SOURCES);
    for (service, role) in [("hooks-ingest", "ingest"), ("hooks-push-worker", "push_worker")] {
        let (name, value) = db.env_for(role);
        let path = config.path().display().to_string();
        let env = [
            (name.as_str(), value.as_str()),
            ("HOOKS_CONFIG", &path),
            ("HOOKS_SECRET_KEYS", KEYS),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ];
        let output = run(service, &[], &env, b"").await;
        assert_eq!(output.code(), 1, "{output:?}");
        assert!(output.stderr.contains("OTEL_EXPORTER_OTLP_PROTOCOL"), "{output:?}");
    }
}
