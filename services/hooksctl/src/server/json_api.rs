//! The routes that speak JSON.

use super::{Endpoint, refusal, unreachable};
use crate::commands::Failed;
use anyhow::Result;
use reqwest::Method;
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// How long an answer in JSON may take.
const LIMIT: Duration = Duration::from_secs(30);

impl Endpoint {
    /// Gets a JSON answer. `about` names what is asked for, for messages.
    pub async fn get_json(&self, url: Url, about: &str) -> Result<Value> {
        self.exchange(Method::GET, url, None, about).await
    }

    /// Sends JSON and gets JSON, or null for an empty answer.
    pub async fn post_json(&self, url: Url, body: &Value, about: &str) -> Result<Value> {
        self.exchange(Method::POST, url, Some(body), about).await
    }

    async fn exchange(&self, method: Method, url: Url, body: Option<&Value>, about: &str) -> Result<Value> {
        let mut request = self.request(method, url)?.timeout(LIMIT);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        if !answer.status().is_success() {
            return Err(refusal(self, about, answer).await);
        }
        let bytes = answer.bytes().await.map_err(|error| unreachable(self, &error))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|_| {
            Failed(format!(
                "{} answers with something that is not JSON: is it the {} service?",
                self.base,
                self.role.name()
            ))
            .into()
        })
    }
}
