//! New events as they come, as server-sent events: `received` with each event that the query's filter lets through,
//! `changed` when the pushes of one of them stand differently, `missed` where the reader was too slow for some of them.

use super::events::{ask, summary};
use crate::auth;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::ops::events::Ask;
use crate::search::{self, LONGEST_BODY, Place, Search};
use crate::store::StoreError;
use crate::store::days::Day;
use crate::store::events::{self, EventRow, PushCounts};
use bytes::Bytes;
use futures_util::stream;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, sleep_until};

pub const QUERY: &[(&str, &str)] = &[
    ("source", "Only of this source"),
    ("q", "Conditions, as for the list"),
    ("type", "Only of this event type"),
    ("delivery_id", "Only with this id of the provider, or this event id"),
    ("from", "Received at or after"),
    ("to", "Received before"),
];

const KEEPALIVE: Duration = Duration::from_secs(15);
/// The browser comes back by itself.
const LONGEST: Duration = Duration::from_secs(300);
/// How often it is seen to whether the caller may still see what they could when they came.
const ASK_EVERY: Duration = Duration::from_secs(3);
/// How often, and for how long after it came, the pushes of an event are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const LOOK_FOR: Duration = Duration::from_secs(60);
/// Events whose pushes are looked at, the newest ones.
const MOST_FOLLOWED: usize = 100;

/// What of an event goes over the line.
pub type Show = fn(&Call, &EventRow, PushCounts) -> String;

pub async fn live(call: Call) -> Result<Answer, Error> {
    stream_events(call, |call, row, push| {
        serde_json::to_string(&summary(call, row, push)).unwrap_or_default()
    })
}

/// The stream, with each event put into words by `show`.
pub fn stream_events(call: Call, show: Show) -> Result<Answer, Error> {
    let ask = ask(&call.query, 0)?;
    let now = Instant::now();
    let reader = Reader {
        events: call.state.live.subscribe(),
        call,
        ask,
        show,
        followed: VecDeque::new(),
        ends: now + LONGEST,
        keepalive: now,
        look: now + LOOK_EVERY,
        ask_again: now + ASK_EVERY,
    };
    let chunks = stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((Ok(Bytes::from(text)), reader))
    });
    Ok(Answer::stream("text/event-stream", chunks)
        .with("Cache-Control", "no-store, no-transform")
        .with("X-Accel-Buffering", "no"))
}

struct Followed {
    row: EventRow,
    push: PushCounts,
    until: Instant,
}

struct Reader {
    events: broadcast::Receiver<Arc<EventRow>>,
    call: Call,
    ask: Ask,
    show: Show,
    followed: VecDeque<Followed>,
    ends: Instant,
    keepalive: Instant,
    look: Instant,
    ask_again: Instant,
}

impl Reader {
    /// The next text for the line; None ends it.
    async fn next(&mut self) -> Option<String> {
        loop {
            tokio::select! {
                () = sleep_until(self.ends) => return None,
                () = self.call.state.stopping.wait() => return None,
                () = sleep_until(self.keepalive) => {
                    self.keepalive = Instant::now() + KEEPALIVE;
                    return Some(": live\n\n".to_owned());
                }
                () = sleep_until(self.ask_again) => {
                    self.ask_again = Instant::now() + ASK_EVERY;
                    if !self.is_still_allowed().await {
                        return None;
                    }
                }
                () = sleep_until(self.look), if !self.followed.is_empty() => {
                    self.look = Instant::now() + LOOK_EVERY;
                    let changed = self.changes().await;
                    if !changed.is_empty() {
                        return Some(changed);
                    }
                }
                received = self.events.recv() => match received {
                    Ok(row) => match self.wanted(&row).await {
                        Ok(true) => return Some(self.received(&row)),
                        Ok(false) => {}
                        Err(_) => return Some("event: missed\ndata: {}\n\n".to_owned()),
                    },
                    Err(RecvError::Lagged(_)) => return Some("event: missed\ndata: {}\n\n".to_owned()),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    fn received(&mut self, row: &EventRow) -> String {
        if self.followed.len() == MOST_FOLLOWED {
            self.followed.pop_front();
        }
        let push = PushCounts::default();
        self.followed.push_back(Followed { row: row.clone(), push, until: Instant::now() + LOOK_FOR });
        format!("event: received\ndata: {}\n\n", (self.show)(&self.call, row, push))
    }

    /// False once the caller is somebody else than they were: who comes back is asked who they are. A database that
    /// does not answer has no events to tell either.
    async fn is_still_allowed(&self) -> bool {
        let who = &self.call.who;
        match auth::again(&self.call.state, who).await {
            Ok(now) => now.is_some_and(|now| now.may_read() && now.sight() == who.sight()),
            Err(_) => true,
        }
    }

    /// Whether the caller may see it and the filter lets it through.
    async fn wanted(&self, row: &EventRow) -> Result<bool, StoreError> {
        let ask = &self.ask;
        let plain = self.call.who.sight().covers(&row.source)
            && ask.source.as_ref().is_none_or(|source| *source == row.source)
            && ask.from.is_none_or(|from| row.received_at >= from)
            && ask.to.is_none_or(|to| row.received_at < to);
        if !plain || ask.search.is_empty() {
            return Ok(plain);
        }
        let known = [Some(row.event_id.as_str()), row.delivery_id.as_deref(), row.event_type.as_deref()];
        let known: Vec<&str> = known.into_iter().flatten().collect();
        let (by_row, by_bytes): (Vec<_>, Vec<_>) =
            ask.search.0.iter().cloned().partition(|condition| condition.place == Place::Known);
        if !search::matches(&Search(by_row), &known, &[], b"") {
            return Ok(false);
        }
        if by_bytes.is_empty() {
            return Ok(true);
        }
        let db = self.call.state.session().await?;
        let day = Day::of(row.received_at);
        let found = events::show_of(&db, &row.source, row.sequence, day, LONGEST_BODY).await?;
        Ok(found.is_some_and(|(event, _)| {
            search::matches(&Search(by_bytes), &known, &event.headers, &event.body)
        }))
    }

    /// The events whose pushes stand differently than was last told. A database that does not answer is asked again.
    async fn changes(&mut self) -> String {
        let rows: Vec<EventRow> = self.followed.iter().map(|one| one.row.clone()).collect();
        let Ok(db) = self.call.state.session().await else { return String::new() };
        let Ok(counts) = events::push_counts(&db, &rows).await else { return String::new() };
        let mut text = String::new();
        for one in &mut self.followed {
            let key = (one.row.source.clone(), one.row.sequence);
            let push = counts.get(&key).copied().unwrap_or_default();
            if push != one.push {
                one.push = push;
                text.push_str(&format!(
                    "event: changed\ndata: {}\n\n",
                    (self.show)(&self.call, &one.row, push)
                ));
            }
        }
        let now = Instant::now();
        self.followed.retain(|one| one.until > now);
        text
    }
}
