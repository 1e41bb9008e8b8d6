//! The events that deliveries are about.

use super::*;
use bytes::Bytes;
use hooks_shared::event::{Event, decode_headers};
use time::OffsetDateTime;

/// Where an event is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventKey {
    pub source: String,
    pub sequence: i64,
    pub received_at: OffsetDateTime,
}

/// An event, and its size where the body was left out.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub event: Event,
    /// Bytes of a body that is still to be fetched.
    pub missing: Option<usize>,
}

/// The events of one day among `keys`; bodies above `inline` bytes are left out.
pub async fn fetch_events(
    session: &Session,
    keys: &[EventKey],
    day: Day,
    inline: usize,
) -> Result<Vec<Fetched>, Error> {
    let sources: Vec<&str> = keys.iter().map(|key| key.source.as_str()).collect();
    let sequences: Vec<i64> = keys.iter().map(|key| key.sequence).collect();
    let times: Vec<OffsetDateTime> = keys.iter().map(|key| key.received_at).collect();
    let rows = session
        .rows(FETCH_EVENTS, &[&sources, &sequences, &times, &day.lower(), &day.upper(), &(inline as i32)])
        .await?;
    rows.iter().map(fetched).collect()
}

fn fetched(row: &tokio_postgres::Row) -> Result<Fetched, Error> {
    let body: Option<Vec<u8>> = row.try_get("body")?;
    let size: i32 = row.try_get("size")?;
    let missing = body.is_none().then_some(size.max(0) as usize);
    let event = Event {
        source: row.try_get("source")?,
        sequence: row.try_get("sequence")?,
        received_at: row.try_get("received_at")?,
        event_id: row.try_get("event_id")?,
        provider_id: row.try_get("delivery_id")?,
        event_type: row.try_get("event_type")?,
        provider_timestamp: row.try_get("provider_timestamp")?,
        method: row.try_get("method")?,
        target: row.try_get("target")?,
        headers: decode_headers(row.try_get("headers")?),
        exact: row.try_get("exact")?,
        remote_addr: row.try_get("remote_addr")?,
        body: Bytes::from(body.unwrap_or_default()),
        body_sha256: row.try_get("body_sha256")?,
    };
    Ok(Fetched { event, missing })
}

/// One large body; None where the event has gone.
pub async fn fetch_body(session: &Session, key: &EventKey) -> Result<Option<Bytes>, Error> {
    let row = session.row(FETCH_BODY, &[&key.source, &key.sequence, &key.received_at]).await?;
    Ok(row.map(|row| Bytes::from(row.get::<_, Vec<u8>>("body"))))
}
