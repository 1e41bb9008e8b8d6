//! What the lanes count.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Debug, Clone)]
pub struct LaneMetrics {
    pub batches: Counter,
    pub retried_batches: Counter,
    pub rows_per_batch: Histogram,
    pub commit_seconds: Histogram,
    pub raised_heads: Counter,
}

impl LaneMetrics {
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            batches: Counter::default(),
            retried_batches: Counter::default(),
            rows_per_batch: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            commit_seconds: Histogram::new(exponential_buckets(0.0005, 2.0, 15)),
            raised_heads: Counter::default(),
        };
        registry.register("hooks_ingest_batches", "Batches committed", metrics.batches.clone());
        registry.register(
            "hooks_ingest_batches_retried",
            "Batches sent again because their commit was undecided",
            metrics.retried_batches.clone(),
        );
        registry.register("hooks_ingest_batch_rows", "Events per batch", metrics.rows_per_batch.clone());
        registry.register(
            "hooks_ingest_commit_seconds",
            "From sending a batch to the answer of its commit",
            metrics.commit_seconds.clone(),
        );
        registry.register(
            "hooks_ingest_heads_raised",
            "Times the heads were raised after a change of the database's timeline",
            metrics.raised_heads.clone(),
        );
        metrics
    }
}
