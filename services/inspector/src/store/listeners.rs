//! Who listens now, and which processes are alive.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

const LISTENERS: Sql = sql!("listeners.sql");
const INSTANCES: Sql = sql!("instances.sql");
pub(super) const STATEMENTS: &[Sql] = &[LISTENERS, INSTANCES];

#[derive(Debug)]
pub struct Listener {
    pub id: Uuid,
    pub source: String,
    pub since: OffsetDateTime,
    pub cursor: i64,
    pub behind: i64,
    pub seen_at: OffsetDateTime,
    pub token_id: Uuid,
    pub token_name: Option<String>,
    pub owner_email: Option<String>,
}

/// Those connected now, of a source or all.
pub async fn listeners(db: &Session, source: Option<&str>) -> Result<Vec<Listener>> {
    let read = |row: &Row| {
        Ok(Listener {
            id: row.try_get("id")?,
            source: row.try_get("source")?,
            since: row.try_get("since")?,
            cursor: row.try_get("cursor")?,
            behind: row.try_get("behind")?,
            seen_at: row.try_get("seen_at")?,
            token_id: row.try_get("token_id")?,
            token_name: row.try_get("token_name")?,
            owner_email: row.try_get("owner_email")?,
        })
    };
    db.rows(LISTENERS, &[&source]).await?.iter().map(read).collect()
}

/// A process that says it is alive.
#[derive(Debug)]
pub struct Instance {
    pub id: Uuid,
    pub service: String,
    pub version: String,
    pub config_hash: String,
    pub started_at: OffsetDateTime,
    pub seen_at: OffsetDateTime,
    /// It has spoken within its usual time.
    pub alive: bool,
}

pub async fn instances(db: &Session) -> Result<Vec<Instance>> {
    let read = |row: &Row| {
        Ok(Instance {
            id: row.try_get("id")?,
            service: row.try_get("service")?,
            version: row.try_get("version")?,
            config_hash: row.try_get("config_hash")?,
            started_at: row.try_get("started_at")?,
            seen_at: row.try_get("seen_at")?,
            alive: row.try_get("alive")?,
        })
    };
    db.rows(INSTANCES, &[]).await?.iter().map(read).collect()
}
