//! Tokens through the inspector's `/api/tokens`.

use super::Wanted;
use crate::commands::Failed;
use crate::options::Global;
use anyhow::Result;
use serde_json::{Value, json};
use uuid::Uuid;

const ABOUT: &str = "tokens API";

pub async fn create(global: &Global, wanted: &Wanted) -> Result<Value> {
    let inspector = global.inspector()?;
    let body = json!({
        "name": wanted.name,
        "kind": wanted.kind.as_str(),
        "scopes": wanted.scopes,
        "expires_in_seconds": wanted.expires_in.map(|time| time.as_secs()),
    });
    let made = inspector.post_json(inspector.url(&["api", "tokens"]), &body, ABOUT).await?;
    if made.get("plaintext").and_then(Value::as_str).is_none() {
        return Err(Failed(format!("the inspector at {} answers without the token", inspector.base)).into());
    }
    Ok(made)
}

pub async fn list(global: &Global, all: bool) -> Result<Vec<Value>> {
    let inspector = global.inspector()?;
    let mut url = inspector.url(&["api", "tokens"]);
    if all {
        url.query_pairs_mut().append_pair("include_revoked", "true");
    }
    let answer = inspector.get_json(url, ABOUT).await?;
    let list = answer.get("tokens").unwrap_or(&answer).as_array().cloned();
    list.ok_or_else(|| Failed(format!("the inspector at {} answers with no list", inspector.base)).into())
}

/// The API does not tell the token's name.
pub async fn revoke(global: &Global, id: Uuid) -> Result<Option<String>> {
    let inspector = global.inspector()?;
    let url = inspector.url(&["api", "tokens", &id.to_string(), "revoke"]);
    inspector.post_json(url, &json!({}), &format!("token {id}")).await?;
    Ok(None)
}
