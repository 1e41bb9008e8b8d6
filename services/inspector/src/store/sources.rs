//! Sources as the log knows them, and what else is known of them.

use super::Result;
use super::days::Day;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use std::collections::BTreeSet;
use time::OffsetDateTime;
use tokio_postgres::Row;

const HEADS: Sql = sql!("sources_heads.sql");
const YOUNG: Sql = sql!("sources_young.sql");
const HANDSHAKES: Sql = sql!("sources_handshakes.sql");
const CAPTURED: Sql = sql!("sources_captured.sql");
pub(super) const STATEMENTS: &[Sql] = &[HEADS, YOUNG, HANDSHAKES, CAPTURED];

/// The newest sequence of a source, and when it arrived.
#[derive(Debug, Clone)]
pub struct Head {
    pub source: String,
    pub sequence: i64,
    /// None where nothing ever arrived.
    pub received_at: Option<OffsetDateTime>,
    pub listeners: i64,
    pub subscriptions: i64,
}

pub async fn heads(db: &Session) -> Result<Vec<Head>> {
    let read = |row: &Row| {
        let at: OffsetDateTime = row.try_get("last_received_at")?;
        Ok(Head {
            source: row.try_get("source")?,
            sequence: row.try_get("last_sequence")?,
            received_at: (at > OffsetDateTime::UNIX_EPOCH).then_some(at),
            listeners: row.try_get("listeners")?,
            subscriptions: row.try_get("subscriptions")?,
        })
    };
    db.rows(HEADS, &[]).await?.iter().map(read).collect()
}

/// Those of these sources all of whose events came since.
pub async fn young(db: &Session, sources: &[String], since: OffsetDateTime) -> Result<Vec<String>> {
    let mut young = Vec::new();
    let days = BTreeSet::from([Day::of(since), Day::of(OffsetDateTime::now_utc())]);
    for day in days.iter().filter(|_| !sources.is_empty()) {
        for row in db.rows(YOUNG, &[&sources, &day.start(), &day.end(), &since]).await? {
            young.push(row.try_get("source")?);
        }
    }
    Ok(young)
}

/// An answered challenge.
#[derive(Debug)]
pub struct Handshake {
    pub at: OffsetDateTime,
    pub kind: String,
    pub outcome: String,
}

/// The newest handshakes of a source.
pub async fn handshakes(db: &Session, source: &str) -> Result<Vec<Handshake>> {
    let read = |row: &Row| {
        Ok(Handshake { at: row.try_get("at")?, kind: row.try_get("kind")?, outcome: row.try_get("outcome")? })
    };
    db.rows(HANDSHAKES, &[&source]).await?.iter().map(read).collect()
}

/// A secret that a provider handed over in a handshake; never the secret itself.
#[derive(Debug)]
pub struct Captured {
    pub captured_at: OffsetDateTime,
    /// Until then another may replace it.
    pub renewable_until: Option<OffsetDateTime>,
}

/// What is known of the secret that a source's provider handed over.
pub async fn captured(db: &Session, source: &str) -> Result<Option<Captured>> {
    let row = db.row(CAPTURED, &[&source]).await?;
    let read = |row: Row| {
        Ok(Captured {
            captured_at: row.try_get("captured_at")?,
            renewable_until: row.try_get("renewable_until")?,
        })
    };
    row.map(read).transpose()
}
