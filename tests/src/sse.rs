//! A reader of event streams that sees frames, comments and chunk boundaries.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::http::{Head, RawConnection, RawResponse, request};

/// How long the head of the answer may take.
const HEAD_PATIENCE: Duration = Duration::from_secs(20);

/// One message of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The `id:` line's value, if there is one.
    pub id: Option<String>,
    /// The `event:` line's value, if there is one.
    pub event: Option<String>,
    /// The `data:` lines' values, joined by line feeds.
    pub data: String,
    /// The frame as sent, including the empty line.
    pub raw: Vec<u8>,
    /// True if this frame and nothing else was one HTTP chunk.
    pub alone_in_chunk: bool,
}

impl Message {
    /// The data as JSON; panics if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error} in: {}", self.data))
    }

    /// The id as a sequence number; panics if it is none.
    pub fn sequence(&self) -> i64 {
        self.id.as_deref().and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no numeric id: {self:?}"))
    }
}

/// What a stream consists of, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A frame with data.
    Message(Message),
    /// A frame of nothing but comment lines; their text without colon and first blank.
    Comment(String),
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With the last chunk: an EventSource reconnects, the original client exits 0.
    Clean,
    /// By the end of the connection in the middle of the body.
    Cut,
}

/// What [`Stream::try_next`] found.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The next item.
    Item(Item),
    /// The end; the same again if asked again.
    End(End),
    /// Nothing within the deadline; a later call goes on.
    Nothing,
}

/// An open event stream. Nothing is read from the socket except while a method waits, so a test that calls none
/// is a stuck reader.
#[derive(Debug)]
pub struct Stream {
    connection: RawConnection,
    head: Head,
    partial: Vec<u8>,
    ready: VecDeque<Item>,
    end: Option<End>,
}

impl Stream {
    /// Gets `path` with `Authorization: Bearer <token>`; panics with the answer if it is not an event stream.
    pub async fn open(address: SocketAddr, path: &str, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let opened = Self::connect(address, path, &[("Authorization", &bearer)]).await;
        opened.unwrap_or_else(|answer| panic!("no stream at {path}: {} {}", answer.status, answer.text()))
    }

    /// Gets `path` with `headers`; the answer if it is not 200.
    pub async fn connect(
        address: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, RawResponse> {
        let get = request("GET", path, headers, b"");
        let mut connection = RawConnection::connect(address).await;
        connection.send(&get).await.unwrap_or_else(|error| panic!("ask for {path}: {error}"));
        let head =
            connection.recv_head(HEAD_PATIENCE).await.unwrap_or_else(|error| panic!("get {path}: {error}"));
        if head.word(1) != "200" {
            return Err(connection.recv_body(head, HEAD_PATIENCE).await);
        }
        assert!(head.is_chunked(), "an event stream comes in chunks, this one does not: {head:?}");
        Ok(Self { connection, head, partial: Vec::new(), ready: VecDeque::new(), end: None })
    }

    /// The head of the answer.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The next item; panics at the deadline or the end.
    pub async fn next(&mut self, deadline: Duration) -> Item {
        match self.try_next(deadline).await {
            Next::Item(item) => item,
            other => {
                panic!("waited {deadline:?} for the stream's next item, got {other:?}; {}", self.position())
            }
        }
    }

    /// The next message, whatever comments come before it; panics at the deadline or the end.
    pub async fn next_message(&mut self, deadline: Duration) -> Message {
        let mut messages = self.collect_until(1, deadline).await;
        messages.pop().expect("one message was waited for")
    }

    /// The next `n` messages, without the comments between them; panics at the deadline or the end.
    pub async fn collect_until(&mut self, n: usize, deadline: Duration) -> Vec<Message> {
        let end = Instant::now() + deadline;
        let mut messages = Vec::new();
        while messages.len() < n {
            match self.try_next(end.saturating_duration_since(Instant::now())).await {
                Next::Item(Item::Message(message)) => messages.push(message),
                Next::Item(Item::Comment(_)) => {}
                other => {
                    let ids: Vec<_> = messages.iter().map(|message| message.id.as_deref()).collect();
                    panic!(
                        "waited {deadline:?} for {n} messages, got {ids:?}, then {other:?}; {}",
                        self.position()
                    )
                }
            }
        }
        messages
    }

    /// Everything up to and including the first comment that contains `text`; panics at the deadline or the end.
    pub async fn collect_until_comment(&mut self, text: &str, deadline: Duration) -> Vec<Item> {
        let end = Instant::now() + deadline;
        let mut items = Vec::new();
        loop {
            match self.try_next(end.saturating_duration_since(Instant::now())).await {
                Next::Item(item) => {
                    let found = matches!(&item, Item::Comment(comment) if comment.contains(text));
                    items.push(item);
                    if found {
                        return items;
                    }
                }
                other => panic!("waited {deadline:?} for a comment {text:?}, got {items:?}, then {other:?}"),
            }
        }
    }

    /// Reads to the end of the stream; what came before it. Panics at the deadline.
    pub async fn to_end(&mut self, deadline: Duration) -> (Vec<Item>, End) {
        let until = Instant::now() + deadline;
        let mut items = Vec::new();
        loop {
            match self.try_next(until.saturating_duration_since(Instant::now())).await {
                Next::Item(item) => items.push(item),
                Next::End(end) => return (items, end),
                Next::Nothing => panic!("waited {deadline:?} for the end of the stream, got {items:?}"),
            }
        }
    }

    /// The next item, the end, or nothing within `deadline`.
    pub async fn try_next(&mut self, deadline: Duration) -> Next {
        let until = tokio::time::Instant::now() + deadline;
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Next::Item(item);
            }
            if let Some(end) = self.end {
                return Next::End(end);
            }
            match timeout_at(until, self.connection.recv_chunk()).await {
                Err(_) => return Next::Nothing,
                Ok(Ok(chunk)) if chunk.is_empty() => self.end = Some(End::Clean),
                Ok(Ok(chunk)) => self.take(&chunk),
                Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => panic!("{error}"),
                Ok(Err(_)) => self.end = Some(End::Cut),
            }
        }
    }

    /// Cuts what has arrived into frames.
    fn take(&mut self, chunk: &[u8]) {
        let fresh = self.partial.is_empty();
        self.partial.extend_from_slice(chunk);
        while let Some(at) = self.partial.windows(2).position(|two| two == b"\n\n") {
            let rest = self.partial.split_off(at + 2);
            let raw = std::mem::replace(&mut self.partial, rest);
            let alone_in_chunk = fresh && raw.len() == chunk.len();
            self.ready.push_back(parse(raw, alone_in_chunk));
        }
    }

    fn position(&self) -> String {
        format!("unfinished frame: {:?}", String::from_utf8_lossy(&self.partial))
    }
}

/// Reads one frame by the rules of the EventSource standard.
fn parse(raw: Vec<u8>, alone_in_chunk: bool) -> Item {
    let text = String::from_utf8_lossy(&raw).into_owned();
    let (mut id, mut event, mut data, mut comments) = (None, None, Vec::new(), Vec::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" => comments.push(value),
            "id" => id = Some(value.to_owned()),
            "event" => event = Some(value.to_owned()),
            "data" => data.push(value),
            _ => {}
        }
    }
    if data.is_empty() && id.is_none() && event.is_none() {
        return Item::Comment(comments.join("\n"));
    }
    Item::Message(Message { id, event, data: data.join("\n"), raw, alone_in_chunk })
}
