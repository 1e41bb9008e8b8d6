//! A batch as the arrays that the append statement takes.

use super::Job;
use std::net::IpAddr;
use time::OffsetDateTime;
use tokio_postgres::types::ToSql;

/// Most rows of a batch.
pub const MOST_ROWS: usize = 500;
/// Bytes after which a batch takes no further row. One row always fits, however large.
pub const MOST_BYTES: usize = 4 << 20;

#[derive(Debug, Default)]
pub struct Columns<'a> {
    pub sources: Vec<&'a str>,
    event_ids: Vec<&'a str>,
    dedupe_keys: Vec<&'a [u8]>,
    windows: Vec<i64>,
    delivery_ids: Vec<Option<&'a str>>,
    event_types: Vec<Option<&'a str>>,
    timestamps: Vec<Option<OffsetDateTime>>,
    methods: Vec<&'a str>,
    targets: Vec<&'a [u8]>,
    headers: Vec<&'a [u8]>,
    exact: Vec<bool>,
    remote_addrs: Vec<Option<IpAddr>>,
    bodies: Vec<&'a [u8]>,
    hashes: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    pub fn of(jobs: &'a [Job]) -> Self {
        let mut columns = Columns::default();
        for Job { event, .. } in jobs {
            columns.sources.push(&event.source);
            columns.event_ids.push(&event.event_id);
            columns.dedupe_keys.push(&event.dedupe_key);
            columns.windows.push(event.window_seconds);
            columns.delivery_ids.push(event.delivery_id.as_deref());
            columns.event_types.push(event.event_type.as_deref());
            columns.timestamps.push(event.provider_timestamp);
            columns.methods.push(&event.method);
            columns.targets.push(&event.target);
            columns.headers.push(&event.headers);
            columns.exact.push(event.exact);
            columns.remote_addrs.push(event.remote_addr);
            columns.bodies.push(&event.body);
            columns.hashes.push(&event.body_sha256);
        }
        columns
    }

    /// The parameters of `append.sql`, in its order.
    pub fn parameters(&self) -> [&(dyn ToSql + Sync); 14] {
        [
            &self.sources,
            &self.event_ids,
            &self.dedupe_keys,
            &self.windows,
            &self.delivery_ids,
            &self.event_types,
            &self.timestamps,
            &self.methods,
            &self.targets,
            &self.headers,
            &self.exact,
            &self.remote_addrs,
            &self.bodies,
            &self.hashes,
        ]
    }
}
