//! What this service counts.

use hooks_shared::admin::Metrics;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::sync::PoisonError;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct SourceLabel {
    source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabel {
    reason: &'static str,
}

/// All families; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct SubscribeMetrics {
    listeners: Family<SourceLabel, Gauge>,
    ring_bytes: Family<SourceLabel, Gauge>,
    messages: Family<SourceLabel, Counter>,
    message_bytes: Family<SourceLabel, Counter>,
    skipped: Family<SourceLabel, Counter>,
    initial_drains: Family<SourceLabel, Counter>,
    replays: Family<SourceLabel, Counter>,
    replays_missed: Family<SourceLabel, Counter>,
    cuts: Family<ReasonLabel, Counter>,
    pub catch_up_reads: Counter,
    pub catch_up_failures: Counter,
    pub catch_up_waiting: Gauge,
    pub head_reads: Counter,
    pub listen_healthy: Gauge,
}

/// Those of one source, looked up once.
#[derive(Debug, Clone)]
pub struct SourceMetrics {
    pub listeners: Gauge,
    pub ring_bytes: Gauge,
    pub messages: Counter,
    pub message_bytes: Counter,
    pub skipped: Counter,
    pub initial_drains: Counter,
    pub replays: Counter,
    pub replays_missed: Counter,
}

impl SubscribeMetrics {
    /// Registers everything under `hooks_subscribe_`.
    pub fn register(metrics: &Metrics) -> Self {
        let new = Self::default();
        let mut registry = metrics.lock().unwrap_or_else(PoisonError::into_inner);
        new.register_in(registry.sub_registry_with_prefix("hooks_subscribe"));
        new
    }

    fn register_in(&self, to: &mut Registry) {
        to.register("listeners", "Open event streams", self.listeners.clone());
        to.register("ring_bytes", "Bytes of serialised newest events", self.ring_bytes.clone());
        to.register("messages", "Messages sent, replays included", self.messages.clone());
        to.register("message_bytes", "Bytes of messages sent", self.message_bytes.clone());
        to.register("skipped", "Stale events left out of first drains", self.skipped.clone());
        to.register("initial_drains", "First drains that have ended", self.initial_drains.clone());
        to.register("replays", "Replay requests re-emitted", self.replays.clone());
        to.register(
            "replays_missed",
            "Replays dropped before a listener took them",
            self.replays_missed.clone(),
        );
        to.register("cuts", "Streams cut by the service", self.cuts.clone());
        to.register(
            "catch_up_reads",
            "Pages read for listeners behind the ring",
            self.catch_up_reads.clone(),
        );
        to.register(
            "catch_up_failures",
            "Such reads that failed and were tried again",
            self.catch_up_failures.clone(),
        );
        to.register("catch_up_waiting", "Such reads waiting for their turn", self.catch_up_waiting.clone());
        to.register("head_reads", "Reads of the heads", self.head_reads.clone());
        to.register("listen_healthy", "1 while LISTEN is in place", self.listen_healthy.clone());
    }

    pub fn of_source(&self, source: &str) -> SourceMetrics {
        let label = SourceLabel { source: source.to_owned() };
        SourceMetrics {
            listeners: self.listeners.get_or_create(&label).clone(),
            ring_bytes: self.ring_bytes.get_or_create(&label).clone(),
            messages: self.messages.get_or_create(&label).clone(),
            message_bytes: self.message_bytes.get_or_create(&label).clone(),
            skipped: self.skipped.get_or_create(&label).clone(),
            initial_drains: self.initial_drains.get_or_create(&label).clone(),
            replays: self.replays.get_or_create(&label).clone(),
            replays_missed: self.replays_missed.get_or_create(&label).clone(),
        }
    }

    pub fn cut(&self, reason: &'static str) {
        self.cuts.get_or_create(&ReasonLabel { reason }).inc();
    }
}
