//! What the worker counts.

use crate::outcome::Outcome;
use hooks_shared::admin::Metrics as Page;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, AtomicU64};

/// An outcome as a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label(Outcome);

impl EncodeLabelSet for Label {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        use prometheus_client::encoding::EncodeLabel;
        ("outcome", self.0.as_str()).encode(encoder.encode_label())
    }
}

/// The worker's counters. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    pub open: Gauge<i64, AtomicI64>,
    pub due: Gauge<i64, AtomicI64>,
    pub oldest_due: Gauge<f64, AtomicU64>,
    pub in_flight: Gauge<i64, AtomicI64>,
    pub claims: Counter,
    pub reclaims: Counter,
    pub superseded: Counter,
    pub given_back: Counter,
    pub dropped: Counter,
    pub lost_to_ceiling: Counter,
    pub attempts: Family<Label, Counter>,
    pub attempt_seconds: Histogram,
    /// From the arrival of an event to the end of its first attempt.
    pub first_attempt_seconds: Histogram,
    pub record_seconds: Histogram,
}

impl Metrics {
    pub fn register(page: &Page) -> Self {
        let metrics = Self {
            open: Gauge::default(),
            due: Gauge::default(),
            oldest_due: Gauge::default(),
            in_flight: Gauge::default(),
            claims: Counter::default(),
            reclaims: Counter::default(),
            superseded: Counter::default(),
            given_back: Counter::default(),
            dropped: Counter::default(),
            lost_to_ceiling: Counter::default(),
            attempts: Family::default(),
            attempt_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 16)),
            first_attempt_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 24)),
            record_seconds: Histogram::new(exponential_buckets(0.000_25, 2.0, 14)),
        };
        for outcome in Outcome::ALL {
            // Shown from the start, at zero.
            drop(metrics.attempts.get_or_create(&Label(outcome)));
        }
        let mut registry = page.lock().unwrap_or_else(PoisonError::into_inner);
        let push = registry.sub_registry_with_prefix("hooks_push");
        push.register(
            "open_deliveries",
            "Deliveries of active subscriptions not yet at an end",
            metrics.open.clone(),
        );
        push.register("due_deliveries", "Of these, how many are due", metrics.due.clone());
        push.register(
            "oldest_due_seconds",
            "For how long the oldest of them has been due",
            metrics.oldest_due.clone(),
        );
        push.register("in_flight", "Deliveries this worker holds", metrics.in_flight.clone());
        push.register("claims", "Deliveries claimed", metrics.claims.clone());
        push.register("reclaims", "Of these, taken over from a lost claim", metrics.reclaims.clone());
        push.register(
            "superseded",
            "Attempts that ended after another worker had taken over: the lease is too short, or this worker stalled",
            metrics.superseded.clone(),
        );
        push.register("given_back", "Claims given back unsent", metrics.given_back.clone());
        push.register("dropped_results", "Results whose delivery was gone", metrics.dropped.clone());
        push.register(
            "lost_to_ceiling",
            "Deliveries failed after too many lost claims",
            metrics.lost_to_ceiling.clone(),
        );
        push.register("attempts", "Attempts by outcome", metrics.attempts.clone());
        push.register("attempt_seconds", "Duration of attempts", metrics.attempt_seconds.clone());
        push.register(
            "first_attempt_seconds",
            "From the arrival of an event to the end of its first attempt",
            metrics.first_attempt_seconds.clone(),
        );
        push.register(
            "record_seconds",
            "Duration of the transaction that records results",
            metrics.record_seconds.clone(),
        );
        drop(registry);
        metrics
    }

    pub fn attempt(&self, outcome: Outcome) {
        self.attempts.get_or_create(&Label(outcome)).inc();
    }
}
