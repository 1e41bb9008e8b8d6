//! An event between verification and the log. Ids and types were made printable and short by the verifier,
//! everything else is bytes, so that no event can spoil the batch it goes into.

use bytes::Bytes;
use hooks_shared::config::DedupeWindow;
use std::net::IpAddr;
use std::sync::Arc;
use time::OffsetDateTime;

/// What a lane stores.
#[derive(Debug)]
pub struct NewEvent {
    pub source: Arc<str>,
    pub event_id: String,
    pub dedupe_key: [u8; 32],
    /// Seconds for which an equal key is the same event; 0 where that is off.
    pub window_seconds: i64,
    pub delivery_id: Option<String>,
    pub event_type: Option<String>,
    pub provider_timestamp: Option<OffsetDateTime>,
    pub method: String,
    pub target: Vec<u8>,
    /// Packed by [`hooks_shared::event::encode_headers`].
    pub headers: Vec<u8>,
    pub exact: bool,
    pub remote_addr: Option<IpAddr>,
    pub body: Bytes,
    pub body_sha256: [u8; 32],
}

impl NewEvent {
    /// Roughly what it adds to a batch, bytes.
    pub fn size(&self) -> usize {
        self.body.len() + self.headers.len() + self.target.len() + 512
    }
}

/// Whole seconds of a window, rounded up; 0 where deduplication is off.
pub fn window_seconds(window: DedupeWindow) -> i64 {
    match window {
        DedupeWindow::Off => 0,
        DedupeWindow::For(window) => window.as_secs() as i64 + i64::from(window.subsec_nanos() > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn windows_are_whole_seconds_rounded_up() {
        assert_eq!(window_seconds(DedupeWindow::Off), 0);
        assert_eq!(window_seconds(DedupeWindow::For(Duration::from_secs(300))), 300);
        assert_eq!(window_seconds(DedupeWindow::For(Duration::from_millis(1500))), 2);
    }
}
