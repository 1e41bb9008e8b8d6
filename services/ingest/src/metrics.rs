//! What ingest counts. Labels are bounded: sources come from the configuration, words from the contract.

use crate::budget::Budget;
use crate::lane::LaneMetrics;
use hooks_shared::admin::Metrics as Registry;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::PoisonError;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The source; empty where it is not known.
    pub source: String,
    /// `stored`, `duplicate`, `challenge`, or why not.
    pub outcome: &'static str,
}

#[derive(Debug, Clone)]
pub struct Metrics {
    pub requests: Family<RequestLabels, Counter>,
    pub body_bytes: Counter,
    pub inexact: Counter,
    pub budget_used: Gauge,
    pub lanes: LaneMetrics,
}

impl Metrics {
    pub fn register(registry: &Registry) -> Self {
        let mut registry = registry.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = Self {
            requests: Family::default(),
            body_bytes: Counter::default(),
            inexact: Counter::default(),
            budget_used: Gauge::default(),
            lanes: LaneMetrics::register(&mut registry),
        };
        registry.register(
            "hooks_ingest_requests",
            "Requests by source and outcome",
            metrics.requests.clone(),
        );
        registry.register("hooks_ingest_body_bytes", "Bytes of stored bodies", metrics.body_bytes.clone());
        registry.register(
            "hooks_ingest_inexact_heads",
            "Events whose raw head could not be told and is stored as the HTTP library read it",
            metrics.inexact.clone(),
        );
        registry.register(
            "hooks_ingest_budget_used_bytes",
            "Bytes of bodies in memory",
            metrics.budget_used.clone(),
        );
        metrics
    }

    pub fn count(&self, source: &str, outcome: &'static str, budget: &Budget) {
        self.requests.get_or_create(&RequestLabels { source: source.to_owned(), outcome }).inc();
        self.budget_used.set(budget.used() as i64);
    }
}
