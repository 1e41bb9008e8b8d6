//! Tokens in the database.

use super::Wanted;
use crate::commands::{NotFound, database};
use crate::output::rfc3339;
use crate::store;
use anyhow::Result;
use hooks_shared::db::{Session, SessionOptions, notify_once};
use hooks_shared::token;
use serde_json::{Value, json};
use time::OffsetDateTime;
use uuid::Uuid;

async fn open() -> Result<Session> {
    let session = database::connect(SessionOptions::service("hooksctl token")).await?;
    database::expect_schema(&session).await?;
    Ok(session)
}

pub async fn create(wanted: &Wanted) -> Result<Value> {
    let session = open().await?;
    let (id, secret) = (Uuid::new_v4(), token::mint());
    let expires_in = wanted.expires_in.map(|time| time.as_secs_f64());
    let row = session
        .row(
            store::CREATE_TOKEN,
            &[
                &id,
                &wanted.name,
                &wanted.kind.as_str(),
                &wanted.scopes,
                &token::hash(secret.expose()),
                &expires_in,
            ],
        )
        .await
        .map_err(database::failed)?;
    let time = |name: &str| row.as_ref().and_then(|row| row.get::<_, Option<OffsetDateTime>>(name));
    Ok(json!({
        "id": id,
        "name": wanted.name,
        "kind": wanted.kind.as_str(),
        "scopes": wanted.scopes,
        "plaintext": secret.expose(),
        "created_at": time("created_at").map(rfc3339),
        "expires_at": time("expires_at").map(rfc3339),
    }))
}

pub async fn list(all: bool) -> Result<Vec<Value>> {
    let session = open().await?;
    let rows = session.rows(store::LIST_TOKENS, &[&all]).await.map_err(database::failed)?;
    let token = |row: &tokio_postgres::Row| {
        let time = |name: &str| row.get::<_, Option<OffsetDateTime>>(name).map(rfc3339);
        json!({
            "id": row.get::<_, Uuid>("id"),
            "name": row.get::<_, String>("name"),
            "kind": row.get::<_, String>("kind"),
            "scopes": row.get::<_, Vec<String>>("scopes"),
            "created_at": time("created_at"),
            "expires_at": time("expires_at"),
            "revoked_at": time("revoked_at"),
            "last_used_at": time("last_used_at"),
        })
    };
    Ok(rows.iter().map(token).collect())
}

pub async fn revoke(id: Uuid) -> Result<Option<String>> {
    let session = open().await?;
    let row = session.row(store::REVOKE_TOKEN, &[&id]).await.map_err(database::failed)?;
    let row = row.ok_or_else(|| NotFound(format!("there is no token with the id {id}")))?;
    notify_once(&session, "!tokens").await;
    Ok(Some(row.get("name")))
}
