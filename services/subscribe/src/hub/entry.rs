//! An event ready to be written, and the page of them that one read brings.

use crate::frame::{self, Sending};
use crate::store::PageRow;
use bytes::Bytes;
use std::sync::Arc;
use time::OffsetDateTime;

/// An event as listeners get it: what decides about sending it, and the serialised message.
#[derive(Debug)]
pub struct Entry {
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub provider_timestamp: Option<OffsetDateTime>,
    pub delivery_id: Box<str>,
    /// Empty only for an event that was read as stale.
    pub message: Bytes,
}

/// What an entry costs beside its message: itself, its id and its place.
const OVERHEAD: usize = size_of::<Entry>() + 64;

impl Entry {
    pub fn from_row(row: &PageRow) -> Arc<Self> {
        let message = if row.stale { Bytes::new() } else { frame::message(&row.stored, Sending::InOrder) };
        let event = &row.stored.event;
        Arc::new(Self {
            sequence: event.sequence,
            received_at: event.received_at,
            provider_timestamp: event.provider_timestamp,
            delivery_id: event.delivery_id().into(),
            message,
        })
    }

    /// Bytes of memory, roughly.
    pub fn weight(&self) -> usize {
        self.message.len() + self.delivery_id.len() + OVERHEAD
    }
}

/// A stretch of a source: every stored event behind the asked cursor up to `through` is among the entries.
#[derive(Debug)]
pub struct Page {
    pub entries: Vec<Arc<Entry>>,
    pub through: i64,
}
