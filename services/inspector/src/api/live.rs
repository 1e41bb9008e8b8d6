//! New events as they come, as server-sent events: `received` with each event that the query's filter lets through,
//! `changed` when the pushes of one of them stand differently, `missed` where there are more than are told one by one, or
//! the log lost its end. The `id` of a message is the position behind it: who comes back with it, or opens the stream with
//! that of a page, misses nothing in between.

use super::events::{ask, summary};
use crate::auth;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::ops::events::Ask;
use crate::ops::position::Position;
use crate::search::{self, LONGEST_BODY, Place, Search};
use crate::store::StoreError;
use crate::store::days::Day;
use crate::store::events::{self, EventRow, PushCounts};
use crate::store::sources::Head;
use crate::tasks::live::{News, since};
use bytes::Bytes;
use futures_util::stream;
use std::collections::VecDeque;
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
    (
        "after",
        "Begin behind this position, an `id` of the stream; `Last-Event-ID` does the same. Else with what comes from now on",
    ),
];

const KEEPALIVE: Duration = Duration::from_secs(15);
/// The browser comes back by itself.
const LONGEST: Duration = Duration::from_secs(300);
/// After how long, milliseconds.
const RETRY: u64 = 1_000;
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
    let show = |call: &Call, row: &EventRow, push| {
        serde_json::to_string(&summary(call, row, push)).unwrap_or_default()
    };
    stream_events(call, show).await
}

/// The stream, with each event put into words by `show`.
pub async fn stream_events(call: Call, show: Show) -> Result<Answer, Error> {
    let ask = ask(&call.query, 0)?;
    let after = after(&call)?;
    let (news, heads) = call.state.live.join(&call.state).await?;
    let now = Instant::now();
    let mut reader = Reader {
        news,
        call,
        ask,
        show,
        waiting: VecDeque::new(),
        position: Position::default(),
        followed: VecDeque::new(),
        ends: now + LONGEST,
        ended: false,
        keepalive: now,
        look: now + LOOK_EVERY,
        ask_again: now + ASK_EVERY,
    };
    reader.begin(after, &heads).await?;
    let chunks = stream::unfold(reader, |mut reader| async move {
        let text = reader.next().await?;
        Some((Ok(Bytes::from(text)), reader))
    });
    Ok(Answer::stream("text/event-stream", chunks)
        .with("Cache-Control", "no-store, no-transform")
        .with("X-Accel-Buffering", "no"))
}

/// Where the stream begins: where it broke off, else where the page stands.
fn after(call: &Call) -> Result<Option<Position>, Error> {
    let header = call.incoming.header("last-event-id").map(|text| ("Last-Event-ID", text));
    let given = header.or_else(|| call.query.raw("after").map(|text| ("after", text)));
    let Some((name, text)) = given else { return Ok(None) };
    text.parse().map(Some).map_err(|why| Error::invalid(format!("{name}: {why}")))
}

struct Followed {
    row: EventRow,
    push: PushCounts,
    until: Instant,
}

struct Reader {
    news: broadcast::Receiver<News>,
    /// What came before the stream was opened.
    waiting: VecDeque<News>,
    /// Up to where the caller was told.
    position: Position,
    call: Call,
    ask: Ask,
    show: Show,
    followed: VecDeque<Followed>,
    ends: Instant,
    /// The end was reached, and only remains to be said.
    ended: bool,
    keepalive: Instant,
    look: Instant,
    ask_again: Instant,
}

impl Reader {
    /// Fetches what came between the position and the heads.
    async fn begin(&mut self, after: Option<Position>, heads: &[Head]) -> Result<(), Error> {
        let heads: Vec<&Head> = heads.iter().filter(|head| self.concerns(&head.source)).collect();
        let seen =
            |head: &Head| after.as_ref().and_then(|after| after.get(&head.source)).unwrap_or(head.sequence);
        self.position = Position::of(heads.iter().map(|head| (head.source.as_str(), seen(head))));
        let elsewhere: Vec<&Head> = heads.into_iter().filter(|head| seen(head) != head.sequence).collect();
        if elsewhere.is_empty() {
            return Ok(());
        }
        let db = self.call.state.session().await?;
        for head in elsewhere {
            self.waiting.extend(since(&db, head, seen(head)).await?);
        }
        self.waiting.make_contiguous().sort_by_key(|news| match news {
            News::Event(row) => Some(row.received_at),
            News::Jump { .. } => None,
        });
        Ok(())
    }

    /// The next text for the line; None ends it.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(news) = self.waiting.pop_front() {
                match self.told(news).await {
                    Some(text) => return Some(text),
                    None => continue,
                }
            }
            tokio::select! {
                () = sleep_until(self.ends) => {
                    // Whoever comes back begins behind what was looked at, not behind what was last told.
                    let last = !std::mem::replace(&mut self.ended, true);
                    return last.then(|| self.place());
                }
                () = self.call.state.stopping.wait() => return None,
                () = sleep_until(self.keepalive) => {
                    self.keepalive = Instant::now() + KEEPALIVE;
                    return Some(self.place());
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
                news = self.news.recv() => match news {
                    Ok(news) => self.waiting.push_back(news),
                    Err(RecvError::Lagged(_)) => return Some(self.missed()),
                    Err(RecvError::Closed) => return None,
                },
            }
        }
    }

    /// What is said of a piece of news, if anything.
    async fn told(&mut self, news: News) -> Option<String> {
        let row = match news {
            News::Event(row) => row,
            News::Jump { source, from, last } => {
                let moved = self.concerns(&source)
                    && match last < from {
                        true => self.position.go_back(&source, last),
                        false => self.position.advance(&source, last),
                    };
                return moved.then(|| self.missed());
            }
        };
        if !self.concerns(&row.source) || !self.position.advance(&row.source, row.sequence) {
            return None;
        }
        match self.wanted(&row).await {
            Ok(true) => Some(self.received(&row)),
            Ok(false) => None,
            Err(_) => Some(self.missed()),
        }
    }

    /// Where the stream is; no message.
    fn place(&self) -> String {
        format!(": live\nid: {}\nretry: {RETRY}\n\n", self.position)
    }

    fn missed(&self) -> String {
        format!("event: missed\nid: {}\ndata: {{}}\n\n", self.position)
    }

    fn received(&mut self, row: &EventRow) -> String {
        if self.followed.len() == MOST_FOLLOWED {
            self.followed.pop_front();
        }
        let push = PushCounts::default();
        self.followed.push_back(Followed { row: row.clone(), push, until: Instant::now() + LOOK_FOR });
        format!("event: received\nid: {}\ndata: {}\n\n", self.position, (self.show)(&self.call, row, push))
    }

    /// Whether events of the source are for the caller.
    fn concerns(&self, source: &str) -> bool {
        self.call.who.sight().covers(source)
            && self.ask.source.as_deref().is_none_or(|wanted| wanted == source)
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

    /// Whether the filter lets it through.
    async fn wanted(&self, row: &EventRow) -> Result<bool, StoreError> {
        let ask = &self.ask;
        let plain = ask.from.is_none_or(|from| row.received_at >= from)
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
