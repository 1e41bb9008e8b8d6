//! The way to the collector: OTLP over HTTP, in batches, from a thread of its own.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use url::Url;

const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
/// The whole of one request; the exporter's own limit is read from the environment and may be shorter.
const TIME_OUT: Duration = Duration::from_secs(10);

/// None where no collector is named, or spans are switched off.
pub fn processor(
    service: &'static str,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Option<BatchSpanProcessor>, String> {
    let set = |name: &str| env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
    let Some(name) = ENDPOINTS.into_iter().find(|name| set(name).is_some()).filter(|_| !off) else {
        return Ok(None);
    };
    for protocol in PROTOCOLS {
        if let Some(other) = set(protocol).filter(|value| value != "http/protobuf") {
            return Err(format!(
                "{protocol}: {other:?} is not spoken here; expected http/protobuf (port 4318)"
            ));
        }
    }
    check(&set(name).unwrap_or_default()).map_err(|why| {
        format!("{name} {why}; write one such as http://collector:4318 (credentials go into OTEL_EXPORTER_OTLP_HEADERS)")
    })?;
    let wrong = |error: String| format!("{name}: spans cannot be exported: {error}");
    let client = OnRuntime::new().map_err(wrong)?;
    let exporter = SpanExporter::builder().with_http().with_http_client(client).build();
    let exporter = exporter.map_err(|error| wrong(error.to_string()))?;
    let mut processor = BatchSpanProcessor::builder(exporter).build();
    let mut resource = Resource::builder();
    if set("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name(service);
    }
    processor.set_resource(&resource.build());
    Ok(Some(processor))
}

/// What the exporter would not say, or say with the whole of it: an address can hold a credential.
fn check(endpoint: &str) -> Result<(), &'static str> {
    let url = Url::parse(endpoint).map_err(|_| "is not a URL")?;
    match () {
        () if !matches!(url.scheme(), "http" | "https") || !url.has_host() => {
            Err("is not an http or https URL")
        }
        () if !url.username().is_empty() || url.password().is_some() => Err("holds a user or password"),
        () if url.query().is_some() || url.fragment().is_some() => Err("holds a query"),
        () => Ok(()),
    }
}

/// Sends on the service's runtime, which the exporter's thread is no part of, and says when the collector is away
/// and when it is back.
#[derive(Debug)]
struct OnRuntime {
    client: reqwest::Client,
    runtime: Handle,
    away: AtomicBool,
}

impl OnRuntime {
    fn new() -> Result<Self, String> {
        // One TLS provider for the process; a second call would be the only way to fail.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).timeout(TIME_OUT);
        let client = client.build().map_err(|error| error.to_string())?;
        Ok(Self { client, runtime: Handle::current(), away: AtomicBool::new(false) })
    }

    /// Once when it goes and once when it comes; its address can hold a credential and is not said.
    fn say(&self, trouble: Option<&str>) {
        match (trouble, self.away.swap(trouble.is_some(), Ordering::Relaxed)) {
            (Some(trouble), false) => {
                log::warn!("the collector does not take spans, they are dropped: {trouble}")
            }
            (None, true) => log::info!("the collector takes spans again"),
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move { client.send_bytes(request).await }).await?;
        match &sent {
            Ok(answer) if answer.status().is_success() => self.say(None),
            Ok(answer) => self.say(Some(&format!("it answered {}", answer.status()))),
            Err(error) => self.say(Some(&without_url(error))),
        }
        sent
    }
}

/// The innermost cause says what happened, and no address.
fn without_url(error: &HttpError) -> String {
    let mut cause: &dyn std::error::Error = error.as_ref();
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match error.downcast_ref::<reqwest::Error>() {
        Some(whole) if whole.is_timeout() => "no answer in time".to_owned(),
        _ => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");

    fn with(pairs: &[(&str, &str)]) -> Result<bool, String> {
        let find = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        processor("hooks-test", find).map(|processor| processor.is_some())
    }

    #[tokio::test]
    async fn nothing_is_exported_unless_a_collector_is_named_and_spans_are_wanted() {
        assert_eq!(with(&[]), Ok(false));
        assert_eq!(with(&[(NAMED.0, " ")]), Ok(false));
        assert_eq!(with(&[NAMED, ("OTEL_SDK_DISABLED", "TRUE")]), Ok(false));
        assert_eq!(with(&[NAMED, ("OTEL_TRACES_EXPORTER", "none")]), Ok(false));
        assert_eq!(with(&[NAMED]), Ok(true));
        assert_eq!(with(&[NAMED, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")]), Ok(true));
    }

    #[tokio::test]
    async fn a_protocol_that_is_not_spoken_is_named() {
        let refusal = with(&[NAMED, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).expect_err("grpc");
        assert!(
            refusal.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && refusal.contains("http/protobuf"),
            "{refusal}"
        );
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_used_is_refused_without_being_repeated() {
        for bad in [
            "127.0.0.1:4318",
            "http://u:hunter2@[bad/",
            "http://u:hunter2@collector:4318",
            "http://c/p?k=hunter2",
            "grpc://c",
        ] {
            let refusal = with(&[(NAMED.0, bad)]).expect_err(bad);
            assert!(refusal.contains(NAMED.0) && refusal.contains("http://collector:4318"), "{refusal}");
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
    }
}
