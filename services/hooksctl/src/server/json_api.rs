//! The routes that speak JSON.

use super::{Endpoint, refusal, unreachable};
use crate::commands::Failed;
use anyhow::Result;
use reqwest::{Method, Response};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// How long an answer in JSON may take: longer than the inspector gives itself for one.
const LIMIT: Duration = Duration::from_secs(40);

impl Endpoint {
    /// Gets a JSON answer. `about` names what is asked for, for messages.
    pub async fn get_json(&self, url: Url, about: &str) -> Result<Value> {
        self.json_of(self.exchange(Method::GET, url, None, about).await?).await
    }

    /// Sends JSON and gets JSON, or null for an empty answer.
    pub async fn post_json(&self, url: Url, body: &Value, about: &str) -> Result<Value> {
        self.json_of(self.exchange(Method::POST, url, Some(body), about).await?).await
    }

    /// Changes what a URL names.
    pub async fn patch_json(&self, url: Url, body: &Value, about: &str) -> Result<Value> {
        self.json_of(self.exchange(Method::PATCH, url, Some(body), about).await?).await
    }

    /// Takes away what a URL names.
    pub async fn delete(&self, url: Url, about: &str) -> Result<()> {
        self.exchange(Method::DELETE, url, None, about).await.map(drop)
    }

    /// Sends JSON; the name at the end of the answer's `Location`.
    pub async fn post_for_location(&self, url: Url, body: &Value, about: &str) -> Result<String> {
        let answer = self.exchange(Method::POST, url, Some(body), about).await?;
        let location = answer.headers().get(reqwest::header::LOCATION).and_then(|value| value.to_str().ok());
        let name = location.and_then(|path| path.rsplit('/').next()).filter(|name| !name.is_empty());
        name.map(str::to_owned).ok_or_else(|| self.not_ours())
    }

    /// Without a token and without an error for refusals: the status and the answer.
    pub async fn post_openly(&self, url: Url, body: &Value) -> Result<(u16, Value)> {
        let request = self.open_request(Method::POST, url).timeout(LIMIT).json(body);
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        Ok((answer.status().as_u16(), self.json_of(answer).await?))
    }

    async fn exchange(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        about: &str,
    ) -> Result<Response> {
        let mut request = self.request(method, url)?.timeout(LIMIT);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        match answer.status().is_success() {
            true => Ok(answer),
            false => Err(refusal(self, about, answer).await),
        }
    }

    async fn json_of(&self, answer: Response) -> Result<Value> {
        let bytes = answer.bytes().await.map_err(|error| unreachable(self, &error))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(|_| self.not_ours())
    }

    /// An answer that our service would not give.
    pub fn not_ours(&self) -> anyhow::Error {
        let what = "answers with something that is not JSON of ours: is it the";
        Failed(format!("{} {what} {} service?", self.base, self.role.name())).into()
    }
}

/// A list that comes in pages.
#[derive(Debug)]
pub struct Pages<'a> {
    endpoint: &'a Endpoint,
    /// None: the last page was read.
    url: Option<Url>,
    /// Under which name the answer has the list.
    key: &'static str,
    about: &'a str,
}

impl<'a> Pages<'a> {
    pub fn new(endpoint: &'a Endpoint, url: Url, key: &'static str, about: &'a str) -> Self {
        Self { endpoint, url: Some(url), key, about }
    }

    /// The next page, which may be empty; None at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>> {
        let Some(url) = self.url.take() else { return Ok(None) };
        let answer = self.endpoint.get_json(url.clone(), self.about).await?;
        let rows = answer.get(self.key).and_then(Value::as_array).cloned();
        let next = answer.get("next").and_then(Value::as_str);
        // Only its query: the path in it knows nothing of a proxy's prefix.
        self.url = next.and_then(|link| link.split_once('?')).map(|(_, query)| {
            let mut url = url;
            url.set_query(Some(query));
            url
        });
        rows.map(Some).ok_or_else(|| self.endpoint.not_ours())
    }

    /// Everything, at most `limit` rows; whether there is more.
    pub async fn take(mut self, limit: usize) -> Result<(Vec<Value>, bool)> {
        let mut rows = Vec::new();
        while let Some(page) = self.next().await? {
            rows.extend(page);
            if rows.len() > limit || (rows.len() == limit && self.url.is_some()) {
                rows.truncate(limit);
                return Ok((rows, true));
            }
        }
        Ok((rows, false))
    }
}
