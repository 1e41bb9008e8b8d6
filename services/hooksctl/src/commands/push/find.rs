//! Subscriptions by what people call them.

use crate::commands::{NotFound, Usage};
use crate::output::printable;
use crate::server::Endpoint;
use anyhow::Result;
use serde_json::Value;
use url::Url;

const ABOUT: &str = "push subscriptions";

/// The URL of a subscription, or of something below it.
pub fn url(inspector: &Endpoint, id: &str, below: &[&str]) -> Url {
    inspector.url(&[&["api", "push-subscriptions", id], below].concat())
}

/// All of them, by name; of one source where it is named.
pub async fn all(inspector: &Endpoint, source: Option<&str>) -> Result<Vec<Value>> {
    let mut url = inspector.url(&["api", "push-subscriptions"]);
    if let Some(source) = source {
        url.query_pairs_mut().append_pair("source", source);
    }
    let answer = inspector.get_json(url, ABOUT).await?;
    let list = answer.get("subscriptions").and_then(Value::as_array).cloned();
    list.ok_or_else(|| inspector.not_ours())
}

/// The id of a subscription that is called by its id or its name.
pub async fn id_of(inspector: &Endpoint, called: &str) -> Result<String> {
    if called.starts_with("sub_") {
        return Ok(called.to_owned());
    }
    if called.is_empty() {
        return Err(Usage("name a subscription: by its id (sub_…) or its name".to_owned()).into());
    }
    let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(called);
    let all = all(inspector, None).await?;
    let found = all.iter().find(named).and_then(|one| one.get("id")).and_then(Value::as_str);
    found.map(str::to_owned).ok_or_else(|| {
        let called = printable(called);
        NotFound(format!("there is no push subscription `{called}`; `hooksctl push list` shows them")).into()
    })
}
