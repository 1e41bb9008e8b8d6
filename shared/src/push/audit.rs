//! What operators did.

use super::error::OperatorError;
use super::statements::LIST_AUDIT;
use crate::db::Session;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;

/// One action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    pub id: i64,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
    pub actor: String,
    pub action: String,
    pub subject: String,
    /// How many things it changed.
    pub affected: i64,
    pub details: Option<Value>,
}

/// The newest actions, of one subject or all, below an id.
pub async fn list(
    session: &Session,
    subject: Option<&str>,
    below: Option<i64>,
    limit: i64,
) -> Result<Vec<Entry>, OperatorError> {
    let rows = session.rows(LIST_AUDIT, &[&subject, &below, &limit.clamp(1, 1000)]).await?;
    let entries = rows.iter().map(|row| Entry {
        id: row.get("id"),
        at: row.get("at"),
        actor: row.get("actor"),
        action: row.get("action"),
        subject: row.get("subject"),
        affected: row.get("affected"),
        details: row.get("details"),
    });
    Ok(entries.collect())
}
