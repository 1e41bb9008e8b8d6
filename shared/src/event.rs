//! A stored event as every reader sees it, and how its headers are kept: one `name:value` line each, in the
//! order and spelling in which they came, as bytes.

use bytes::Bytes;
use std::net::IpAddr;
use time::OffsetDateTime;
use tokio_postgres::Row;

/// A header as received: name and value bytes.
pub type Header = (Vec<u8>, Vec<u8>);

/// One stored webhook.
#[derive(Debug, Clone)]
pub struct Event {
    pub source: String,
    /// Position in the source: 1, 2, 3 …, in commit order.
    pub sequence: i64,
    pub received_at: OffsetDateTime,
    pub event_id: String,
    /// The provider's id, where its scheme names one.
    pub provider_id: Option<String>,
    pub event_type: Option<String>,
    pub provider_timestamp: Option<OffsetDateTime>,
    pub method: String,
    /// Path and query as sent.
    pub target: Vec<u8>,
    pub headers: Vec<Header>,
    /// False where the raw head could not be told and the headers are as the HTTP library read them.
    pub exact: bool,
    pub remote_addr: Option<IpAddr>,
    pub body: Bytes,
    pub body_sha256: Vec<u8>,
}

impl Event {
    /// The columns that [`Event::from_row`] reads, for `select` lists.
    pub const COLUMNS: &'static str = "source, sequence, received_at, event_id, delivery_id, event_type, \
        provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256";

    /// Reads a row that has the [`Event::COLUMNS`].
    pub fn from_row(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
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
            body: Bytes::from(row.try_get::<_, Vec<u8>>("body")?),
            body_sha256: row.try_get("body_sha256")?,
        })
    }

    /// What clients call the delivery id: the provider's, else the relay's own.
    pub fn delivery_id(&self) -> &str {
        self.provider_id.as_deref().unwrap_or(&self.event_id)
    }
}

/// Packs headers for storage. Names hold no colon and neither part holds a line feed (HTTP forbids both).
pub fn encode_headers<N: AsRef<[u8]>, V: AsRef<[u8]>>(headers: &[(N, V)]) -> Vec<u8> {
    let length = headers.iter().map(|(name, value)| name.as_ref().len() + value.as_ref().len() + 2).sum();
    let mut out = Vec::with_capacity(length);
    for (name, value) in headers {
        out.extend_from_slice(name.as_ref());
        out.push(b':');
        out.extend_from_slice(value.as_ref());
        out.push(b'\n');
    }
    out
}

/// Unpacks stored headers.
pub fn decode_headers(stored: &[u8]) -> Vec<Header> {
    stored
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((line[..colon].to_vec(), line[colon + 1..].to_vec()))
        })
        .collect()
}

/// The value of the first header called `name`, whatever its case.
pub fn header<'a>(headers: &'a [Header], name: &str) -> Option<&'a [u8]> {
    let found = headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name.as_bytes()))?;
    Some(&found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        let headers: Vec<Header> = vec![
            (b"X-One".to_vec(), b"a:b".to_vec()),
            (b"x-one".to_vec(), b"".to_vec()),
            (b"X-Bytes".to_vec(), vec![0x80, 0xff, b'\t']),
        ];
        assert_eq!(decode_headers(&encode_headers(&headers)), headers);
        assert_eq!(decode_headers(b""), Vec::new());
        assert_eq!(header(&headers, "X-ONE"), Some(&b"a:b"[..]));
    }
}
