//! The audit. It is only ever added to.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use serde_json::Value;
use std::net::IpAddr;
use time::OffsetDateTime;
use tokio_postgres::Row;
use uuid::Uuid;

const ADD: Sql = sql!("audit_add.sql");
const LIST: Sql = sql!("audit_list.sql");
pub(super) const STATEMENTS: &[Sql] = &[ADD, LIST];

#[derive(Debug)]
pub struct NewRow<'a> {
    pub actor: &'a str,
    pub person_id: Option<Uuid>,
    pub token_id: Option<Uuid>,
    pub session_id: Option<Uuid>,
    pub address: Option<IpAddr>,
    pub request_id: &'a str,
    pub action: &'a str,
    pub subject: &'a str,
    pub outcome: &'a str,
    pub affected: i64,
    pub details: Option<&'a Value>,
}

#[derive(Debug, Clone)]
pub struct AuditRow {
    pub id: i64,
    pub at: OffsetDateTime,
    pub actor: String,
    pub person_id: Option<Uuid>,
    pub token_id: Option<Uuid>,
    pub session_id: Option<Uuid>,
    pub address: Option<IpAddr>,
    pub request_id: Option<String>,
    pub action: String,
    pub subject: String,
    pub outcome: String,
    pub affected: i64,
    pub details: Option<Value>,
}

pub async fn add(db: &Session, row: &NewRow<'_>) -> Result<()> {
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 11] = [
        &row.actor,
        &row.person_id,
        &row.token_id,
        &row.session_id,
        &row.address,
        &row.request_id,
        &row.action,
        &row.subject,
        &row.outcome,
        &row.affected,
        &row.details,
    ];
    db.run(ADD, &params).await?;
    Ok(())
}

/// Which rows, newest first.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// An address, a name of a token, or the id of a person, token or session.
    pub actor: Option<String>,
    pub actor_id: Option<Uuid>,
    pub action: Option<String>,
    pub subject: Option<String>,
    pub outcome: Option<String>,
    pub since: Option<OffsetDateTime>,
    pub until: Option<OffsetDateTime>,
    /// Ids below this.
    pub before: Option<i64>,
    pub limit: i64,
}

pub async fn list(db: &Session, ask: &Ask) -> Result<Vec<AuditRow>> {
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 9] = [
        &ask.actor,
        &ask.actor_id,
        &ask.action,
        &ask.subject,
        &ask.outcome,
        &ask.since,
        &ask.until,
        &ask.before,
        &ask.limit,
    ];
    db.rows(LIST, &params).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<AuditRow> {
    Ok(AuditRow {
        id: row.try_get("id")?,
        at: row.try_get("at")?,
        actor: row.try_get("actor")?,
        person_id: row.try_get("person_id")?,
        token_id: row.try_get("token_id")?,
        session_id: row.try_get("session_id")?,
        address: row.try_get("address")?,
        request_id: row.try_get("request_id")?,
        action: row.try_get("action")?,
        subject: row.try_get("subject")?,
        outcome: row.try_get("outcome")?,
        affected: row.try_get("affected")?,
        details: row.try_get("details")?,
    })
}
