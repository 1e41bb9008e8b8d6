//! One connection to the stream. A link that says nothing for two and a half keepalives is dead.

use super::comment::Comment;
use super::message::Message;
use super::parser::{Frame, Parser};
use crate::server::{Endpoint, refusal, unreachable};
use anyhow::Result;
use bytes::Bytes;
use std::time::{Duration, Instant, SystemTime};

/// What a server that announces nothing is taken to send a keepalive after.
const ASSUMED_KEEPALIVE: Duration = Duration::from_secs(30);
/// How long the head of the answer may take; the server sends it at once.
const HEAD_LIMIT: Duration = Duration::from_secs(30);

/// A piece of the stream.
#[derive(Debug)]
pub enum Part {
    Message(Box<Message>),
    /// A message that cannot be read, and why.
    Unreadable {
        sequence: Option<i64>,
        why: String,
    },
    Comment(Comment),
}

/// How a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkEnd {
    #[error("the server closed the stream")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("nothing came for {:.1} s, not even a keepalive: the connection is dead", .0.as_secs_f64())]
    Silent(Duration),
    #[error("{0}")]
    Nonsense(#[from] super::parser::LineTooLong),
}

#[derive(Debug)]
pub struct Link {
    source: String,
    answer: reqwest::Response,
    parser: Parser,
    silence: Duration,
}

impl Link {
    /// Connects after the event `since` (or at the newest, for `latest`).
    pub async fn open(endpoint: &Endpoint, source: &str, since: &str) -> Result<Self> {
        let mut url = endpoint.url(&["subscribe", source]);
        url.query_pairs_mut().append_pair("since", since);
        let request = endpoint
            .request(reqwest::Method::GET, url)?
            .header(reqwest::header::ACCEPT, "text/event-stream")
            .header(reqwest::header::CACHE_CONTROL, "no-cache");
        let answer = match tokio::time::timeout(HEAD_LIMIT, request.send()).await {
            Ok(answer) => answer.map_err(|error| unreachable(endpoint, &error))?,
            Err(_) => {
                return Err(crate::commands::Unreachable(format!(
                    "the subscribe service at {} does not answer within {} s",
                    endpoint.base,
                    HEAD_LIMIT.as_secs()
                ))
                .into());
            }
        };
        if answer.status() != reqwest::StatusCode::OK {
            return Err(refusal(endpoint, &format!("source `{source}`"), answer).await);
        }
        check_kind(endpoint, &answer)?;
        let silence = keepalive(&answer).mul_f64(2.5);
        Ok(Self { source: source.to_owned(), answer, parser: Parser::default(), silence })
    }

    /// How long nothing may come before the link counts as dead.
    pub fn silence(&self) -> Duration {
        self.silence
    }

    /// The next message or comment.
    pub async fn next(&mut self) -> Result<Part, LinkEnd> {
        loop {
            if let Some(frame) = self.parser.next_frame() {
                return Ok(part(&self.source, frame));
            }
            let bytes = self.read().await?;
            self.parser.feed(&bytes)?;
        }
    }

    /// The next bytes. Both clocks are asked: the monotonic one stands still while a laptop sleeps, and
    /// what was silent overnight should be given up at once, not 2.5 keepalives after waking.
    pub async fn read(&mut self) -> Result<Bytes, LinkEnd> {
        let (started, wall) = (Instant::now(), SystemTime::now());
        let mut chunk = std::pin::pin!(self.answer.chunk());
        let look = (self.silence / 5).min(Duration::from_secs(1));
        loop {
            match tokio::time::timeout(look, &mut chunk).await {
                Ok(Ok(Some(bytes))) => return Ok(bytes),
                Ok(Ok(None)) => return Err(LinkEnd::Closed),
                Ok(Err(error)) => return Err(LinkEnd::Broken(crate::server::cause(&error))),
                Err(_) => {
                    let silent = started.elapsed().max(wall.elapsed().unwrap_or_default());
                    if silent >= self.silence {
                        return Err(LinkEnd::Silent(silent));
                    }
                }
            }
        }
    }
}

/// A page that answers 200 to everything is not the service.
fn check_kind(endpoint: &Endpoint, answer: &reqwest::Response) -> Result<()> {
    let kind = answer.headers().get(reqwest::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return Ok(());
    }
    Err(crate::commands::Failed(format!(
        "{} answers with {}, not with an event stream: is it the subscribe service? \
         Name it with --server or HOOKS_SERVER",
        endpoint.base,
        kind.map_or("no content type".to_owned(), crate::output::printable)
    ))
    .into())
}

fn keepalive(answer: &reqwest::Response) -> Duration {
    let announced = answer.headers().get("x-hooks-keepalive").and_then(|value| value.to_str().ok());
    let seconds = announced.and_then(|text| text.trim().parse::<f64>().ok());
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds <= 3600.0 => Duration::from_secs_f64(seconds),
        _ => ASSUMED_KEEPALIVE,
    }
}

fn part(source: &str, frame: Frame) -> Part {
    match frame {
        Frame::Comment(text) => Part::Comment(Comment::parse(&text)),
        Frame::Message { id, event, data } => {
            // `hooks.system` and the like carry the name of the source they belong to.
            let source = if event.is_empty() { source } else { &event };
            match Message::parse(source, id, &data) {
                Ok(message) => Part::Message(Box::new(message)),
                Err(why) => Part::Unreadable { sequence: id, why },
            }
        }
    }
}
