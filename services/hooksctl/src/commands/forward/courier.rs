//! Carrying one event to the target: its bytes as they came, one attempt at a time.

use crate::commands::Failed;
use crate::resign::{Resign, Subject};
use crate::server::Endpoint;
use crate::stream::Message;
use crate::target::{Answer, Client, Fault, Target};
use anyhow::Result;
use bytes::Bytes;
use hooks_shared::hop::passed_on;
use hooks_shared::http1::Request;
use std::time::{Duration, Instant};
use time::OffsetDateTime;

/// How one attempt ended.
#[derive(Debug)]
pub enum Outcome {
    Delivered(u16),
    /// The target answered, but not with 2xx.
    Refused(Answer),
    NoAnswer(Fault),
}

/// One attempt.
#[derive(Debug)]
pub struct Try {
    /// Counted from 1.
    pub number: u32,
    pub outcome: Outcome,
    pub took: Duration,
}

impl Try {
    pub fn is_delivered(&self) -> bool {
        matches!(self.outcome, Outcome::Delivered(_))
    }

    pub fn status(&self) -> Option<u16> {
        match &self.outcome {
            Outcome::Delivered(status) => Some(*status),
            Outcome::Refused(answer) => Some(answer.head.status),
            Outcome::NoAnswer(_) => None,
        }
    }

    /// Why it was no success, for people.
    pub fn why(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Delivered(_) => None,
            Outcome::Refused(answer) => Some(explain(answer)),
            Outcome::NoAnswer(fault) => Some(fault.to_string()),
        }
    }
}

fn explain(answer: &Answer) -> String {
    if (300..400).contains(&answer.head.status) {
        let to = answer.head.header("location").map_or("nowhere".to_owned(), crate::output::printable);
        return format!("redirects to {to}, which is not followed: give the final URL with --to");
    }
    let text = String::from_utf8_lossy(&answer.beginning);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    crate::output::printable(&line.chars().take(120).collect::<String>())
}

/// Sends events to one target.
#[derive(Debug)]
pub struct Courier {
    endpoint: Endpoint,
    client: Client,
    resign: Option<Resign>,
}

impl Courier {
    pub fn new(endpoint: Endpoint, client: Client, resign: Option<Resign>) -> Self {
        Self { endpoint, client, resign }
    }

    pub fn target(&self) -> &Target {
        self.client.target()
    }

    /// The body's bytes, fetched where the message only refers to them.
    pub async fn body(&self, message: &Message) -> Result<Bytes> {
        self.endpoint.body(message).await
    }

    /// One attempt. The error is about the event: it can never be sent.
    pub async fn attempt(
        &mut self,
        message: &Message,
        body: &Bytes,
        replay: bool,
        number: u32,
    ) -> Result<Try> {
        let request = self.request(message, body.clone(), replay)?;
        let started = Instant::now();
        let outcome = match self.client.send(&request).await {
            Ok(answer) if answer.is_success() => Outcome::Delivered(answer.head.status),
            Ok(answer) => Outcome::Refused(answer),
            Err(fault) => Outcome::NoAnswer(fault),
        };
        Ok(Try { number, outcome, took: started.elapsed() })
    }

    fn request(&self, message: &Message, body: Bytes, replay: bool) -> Result<Request> {
        let mut request = Request {
            method: message.method.clone(),
            target: self.client.target().path(),
            // The developer who listens has the provider's whole request already, credentials included.
            headers: passed_on(&message.headers).cloned().collect(),
            body,
        };
        if let Some(resign) = &self.resign {
            let subject = Subject { id: &message.delivery_id, event_type: message.event_type.as_deref() };
            let now = OffsetDateTime::now_utc();
            resign.apply(&mut request, self.client.target(), subject, now).map_err(Failed)?;
        }
        request.add("X-Hooks-Source", &message.source);
        request.add("X-Hooks-Sequence", &message.sequence.to_string());
        request.add("X-Hooks-Delivery-Id", &message.delivery_id);
        if let Some(event_id) = &message.event_id {
            request.add("X-Hooks-Event-Id", event_id);
        }
        if replay {
            request.add("X-Hooks-Replay", "1");
        }
        request.check().map_err(Failed)?;
        Ok(request)
    }
}
