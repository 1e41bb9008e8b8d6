//! Spans for whoever collects traces, over OTLP: one for each accepted event, one for each attempt to push it. Off
//! unless the environment names a collector, as the OpenTelemetry specification has it
//! (`OTEL_EXPORTER_OTLP_ENDPOINT`, …). What cannot be handed over in time is dropped: nothing waits for a collector.

mod export;
mod place;

pub use place::Place;

use opentelemetry::trace::{SpanId, SpanKind, Status, TraceFlags};
use opentelemetry::{InstrumentationScope, KeyValue, Value, trace::SpanContext};
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanProcessor};
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

/// How long a stopping service waits for its last spans to be taken.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Where spans go. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Spans(Option<Arc<BatchSpanProcessor>>);

/// Something that was done for an event.
#[derive(Debug)]
pub struct Done {
    pub name: String,
    pub began: OffsetDateTime,
    pub ended: OffsetDateTime,
    pub attributes: Vec<(&'static str, Value)>,
    /// Why it did not succeed, in a word.
    pub failure: Option<&'static str>,
}

impl Spans {
    /// Spans of `service`, sent to the collector that the environment names; none if it names none.
    ///
    /// # Errors
    /// What is wrong with the environment, for people. Call it within the runtime that is to send them.
    pub fn from_env(service: &'static str) -> Result<Self, String> {
        Ok(Self(export::processor(service, |name| std::env::var(name).ok())?.map(Arc::new)))
    }

    /// Whether anybody collects: what a span says need not be gathered otherwise.
    pub fn are_collected(&self) -> bool {
        self.0.is_some()
    }

    /// The event was taken in.
    pub fn taken_in(&self, place: &Place, done: Done) {
        self.hand_over(place, place.taken_in, place.above, SpanKind::Server, done);
    }

    /// The event was sent on to somebody.
    pub fn sent_on(&self, place: &Place, done: Done) {
        let id = SpanId::from_bytes(rand::random());
        self.hand_over(place, id, place.taken_in, SpanKind::Client, done);
    }

    fn hand_over(&self, place: &Place, id: SpanId, parent: SpanId, kind: SpanKind, done: Done) {
        let Some(processor) = self.0.as_ref().filter(|_| place.sampled) else { return };
        processor.on_end(SpanData {
            span_context: SpanContext::new(place.trace, id, TraceFlags::SAMPLED, false, place.state.clone()),
            parent_span_id: parent,
            parent_span_is_remote: true,
            span_kind: kind,
            name: done.name.into(),
            start_time: done.began.into(),
            end_time: done.ended.into(),
            attributes: done.attributes.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect(),
            dropped_attributes_count: 0,
            events: Default::default(),
            links: Default::default(),
            status: done.failure.map_or(Status::Unset, Status::error),
            instrumentation_scope: InstrumentationScope::builder("hooks")
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
        });
    }

    /// Sends what is left. Nothing is collected afterwards.
    pub async fn stop(self) {
        if let Some(processor) = self.0 {
            // It waits for its own thread, which in turn needs the runtime.
            let last = tokio::task::spawn_blocking(move || processor.shutdown_with_timeout(LAST_WORDS));
            if !matches!(last.await, Ok(Ok(()))) {
                log::warn!("the last spans were not taken by the collector");
            }
        }
    }
}
