//! The fetch and list routes of the subscribe service: stored events whatever their age.

use super::{Endpoint, refusal, unreachable};
use crate::commands::Failed;
use crate::stream::{BodyOf, Message};
use anyhow::{Context, Result};
use bytes::Bytes;
use reqwest::Method;
use serde_json::Value;
use std::time::Duration;

/// Most events in one page.
const PAGE: u64 = 100;
/// How long a body may take.
const BODY_LIMIT: Duration = Duration::from_secs(300);

/// Which events to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Sequences above this.
    pub after: Option<i64>,
    /// Sequences below this.
    pub before: Option<i64>,
    /// Received at or after this (RFC 3339).
    pub from: Option<String>,
    /// Received before this (RFC 3339).
    pub to: Option<String>,
    pub delivery_id: Option<String>,
    pub event_type: Option<String>,
    pub oldest_first: bool,
    /// Events a page.
    pub limit: Option<u64>,
}

/// One page of a list.
#[derive(Debug)]
pub struct Listed {
    /// Each event's JSON.
    pub events: Vec<Value>,
    /// Where the next page is: a path and query of the same service.
    next: Option<String>,
}

impl Listed {
    pub fn sequence(event: &Value) -> Option<i64> {
        event.get("sequence")?.as_i64()
    }

    pub fn has_next(&self) -> bool {
        self.next.is_some()
    }
}

impl Endpoint {
    /// The newest event's sequence; 0 in an empty source.
    pub async fn newest(&self, source: &str) -> Result<Option<i64>> {
        let page = self.list(source, &Query { limit: Some(1), ..Query::default() }).await?;
        Ok(Some(page.events.first().and_then(Listed::sequence).unwrap_or(0)))
    }

    /// The first page.
    pub async fn list(&self, source: &str, query: &Query) -> Result<Listed> {
        let mut url = self.url(&["subscribe", source, "events"]);
        {
            let mut pairs = url.query_pairs_mut();
            let mut add = |name: &str, value: Option<String>| {
                if let Some(value) = value {
                    pairs.append_pair(name, &value);
                }
            };
            add("after", query.after.map(|n| n.to_string()));
            add("before", query.before.map(|n| n.to_string()));
            add("from", query.from.clone());
            add("to", query.to.clone());
            add("delivery_id", query.delivery_id.clone());
            add("type", query.event_type.clone());
            add("order", query.oldest_first.then(|| "asc".to_owned()));
            add("limit", Some(query.limit.unwrap_or(PAGE).to_string()));
        }
        self.page(url, source).await
    }

    /// The page after this one.
    pub async fn next_page(&self, source: &str, page: &Listed) -> Result<Option<Listed>> {
        let Some(next) = &page.next else { return Ok(None) };
        let relative = next.strip_prefix('/').filter(|path| path.starts_with("subscribe/"));
        let relative = relative.with_context(|| format!("the next page is said to be at `{next}`"))?;
        let mut base = self.url(&[""]);
        base.set_query(None);
        let url = base.join(relative).context("the address of the next page")?;
        self.page(url, source).await.map(Some)
    }

    async fn page(&self, url: url::Url, source: &str) -> Result<Listed> {
        let mut json = self.get_json(url, &format!("source `{source}`")).await?;
        let events = match json.get_mut("events").map(Value::take) {
            Some(Value::Array(events)) => events,
            _ => return Err(Failed(format!("{} answers with something that is no list", self.base)).into()),
        };
        Ok(Listed { events, next: json.get("next").and_then(Value::as_str).map(str::to_owned) })
    }

    /// One event.
    pub async fn event(&self, source: &str, sequence: i64) -> Result<Message> {
        let about = format!("event {sequence} in `{source}`");
        let url = self.url(&["subscribe", source, "events", &sequence.to_string()]);
        let json = self.get_json(url, &about).await?;
        Message::parse(source, None, &json.to_string())
            .map_err(|why| Failed(format!("{about} cannot be read: {why}")).into())
    }

    /// The body of an event, checked against its hash.
    pub async fn body(&self, message: &Message) -> Result<Bytes> {
        let body = match &message.body {
            BodyOf::Here(bytes) => bytes.clone(),
            BodyOf::At { path, .. } => self.fetch_body(message, path).await?,
        };
        message.check_body(&body).map_err(Failed)?;
        Ok(body)
    }

    async fn fetch_body(&self, message: &Message, path: &str) -> Result<Bytes> {
        let about = format!("body of event {} in `{}`", message.sequence, message.source);
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let request = self.request(Method::GET, self.url(&segments))?.timeout(BODY_LIMIT);
        let answer = request.send().await.map_err(|error| unreachable(self, &error))?;
        if !answer.status().is_success() {
            return Err(refusal(self, &about, answer).await);
        }
        Ok(answer.bytes().await.map_err(|error| unreachable(self, &error))?)
    }
}
