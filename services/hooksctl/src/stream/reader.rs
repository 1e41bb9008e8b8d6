//! Reads the stream in the background for as long as it takes, reconnecting, and hands everything over in
//! order. It reads ahead within bounds while a delivery is being retried, so that the link stays alive and
//! an event that waits here is not left out as stale by a later reconnection.

use super::comment::Comment;
use super::link::{Link, Part};
use super::message::Message;
use crate::commands::{Failed, NotFound, Refused, Usage};
use crate::server::Endpoint;
use anyhow::Result;
use rand::Rng;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes of messages that are read ahead.
const AHEAD_BYTES: usize = 32 << 20;
/// Messages and comments that are read ahead.
const AHEAD_ITEMS: usize = 4096;

/// Where reading starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    After(i64),
    Latest,
}

/// What the reader found, in order.
#[derive(Debug)]
pub enum Item {
    Connected(Connected),
    Message(Box<Message>),
    Unreadable {
        sequence: Option<i64>,
        why: String,
    },
    Comment(Comment),
    /// The link is gone and is tried again after `pause`.
    Lost {
        why: String,
        pause: Duration,
    },
    /// The server refuses for good; nothing follows.
    Stopped(anyhow::Error),
}

/// A connection was made.
#[derive(Debug, Clone, Copy)]
pub struct Connected {
    /// The last event seen before; none where reading starts at the newest of an unknown log.
    pub cursor: Option<i64>,
    /// The newest event, where the server tells.
    pub newest: Option<i64>,
    /// False for the first connection.
    pub again: bool,
}

/// The reader's end of the conveyor.
#[derive(Debug)]
pub struct Queue {
    items: mpsc::Receiver<(Item, Option<OwnedSemaphorePermit>)>,
    task: tokio::task::JoinHandle<()>,
}

impl Queue {
    /// The next item; none after [`Item::Stopped`].
    pub async fn next(&mut self) -> Option<Item> {
        Some(self.items.recv().await?.0)
    }

    /// How many items wait.
    pub fn waiting(&self) -> usize {
        self.items.len()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts reading `source`.
pub fn read(endpoint: Endpoint, source: String, start: Start) -> Queue {
    let (sender, items) = mpsc::channel(AHEAD_ITEMS);
    let reader = Reader {
        endpoint,
        source,
        position: start,
        again: false,
        sender,
        room: Arc::new(Semaphore::new(AHEAD_BYTES)),
    };
    let task = tokio::spawn(async move {
        // None: the other end has gone, and nobody wants to know.
        let _ = reader.run().await;
    });
    Queue { items, task }
}

struct Reader {
    endpoint: Endpoint,
    source: String,
    position: Start,
    again: bool,
    sender: mpsc::Sender<(Item, Option<OwnedSemaphorePermit>)>,
    room: Arc<Semaphore>,
}

impl Reader {
    async fn run(mut self) -> Option<()> {
        loop {
            let why = match self.connect().await {
                Ok(link) => self.follow(link).await?,
                Err(error) if self.is_final(&error) => return self.send(Item::Stopped(error)).await,
                Err(error) => format!("{error:#}"),
            };
            let pause = pause();
            self.send(Item::Lost { why, pause }).await?;
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks for the newest event first: it tells how far behind this reader is, and fixes what `latest` means
    /// before anything can be missed between two connections.
    async fn connect(&mut self) -> Result<(Link, Connected)> {
        let newest = match self.endpoint.newest(&self.source).await {
            Ok(newest) => newest,
            // A server without the list; it may still stream.
            Err(error) if error.is::<NotFound>() => None,
            Err(error) => return Err(error),
        };
        if let (Start::Latest, Some(newest)) = (self.position, newest) {
            self.position = Start::After(newest);
        }
        let (since, cursor) = match self.position {
            Start::After(sequence) => (sequence.to_string(), Some(sequence)),
            Start::Latest => ("latest".to_owned(), None),
        };
        let link = Link::open(&self.endpoint, &self.source, &since).await?;
        Ok((link, Connected { cursor, newest, again: self.again }))
    }

    /// Hands everything over until the link ends; why it did.
    async fn follow(&mut self, (mut link, connected): (Link, Connected)) -> Option<String> {
        self.again = true;
        self.send(Item::Connected(connected)).await?;
        loop {
            match link.next().await {
                Ok(part) => self.hand_over(part).await?,
                Err(end) => return Some(end.to_string()),
            }
        }
    }

    async fn hand_over(&mut self, part: Part) -> Option<()> {
        match part {
            Part::Message(message) => {
                if message.moves_cursor {
                    self.move_to(message.sequence);
                }
                let bytes = message.raw.len().clamp(1, AHEAD_BYTES / 2) as u32;
                let room = self.room.clone().acquire_many_owned(bytes).await.ok()?;
                self.sender.send((Item::Message(message), Some(room))).await.ok()
            }
            Part::Unreadable { sequence, why } => {
                if let Some(sequence) = sequence {
                    self.move_to(sequence);
                }
                self.send(Item::Unreadable { sequence, why }).await
            }
            Part::Comment(Comment::Keepalive) => Some(()),
            Part::Comment(comment) => {
                if let Comment::Skipped { last, .. } = comment {
                    self.move_to(last);
                }
                self.send(Item::Comment(comment)).await
            }
        }
    }

    /// Forwards only: what was skipped is told behind newer messages.
    fn move_to(&mut self, sequence: i64) {
        self.position = match self.position {
            Start::After(now) => Start::After(now.max(sequence)),
            Start::Latest => Start::After(sequence),
        };
    }

    /// Refusals that asking again cannot change: a bad token, the wrong kind of token, an unknown source, a
    /// bad cursor. Anything odd is final only at first, as a wrong address; later it may be a hotel's network.
    fn is_final(&self, error: &anyhow::Error) -> bool {
        let refused = error.is::<Refused>() || error.is::<NotFound>() || error.is::<Usage>();
        refused || (error.is::<Failed>() && !self.again)
    }

    async fn send(&self, item: Item) -> Option<()> {
        self.sender.send((item, None)).await.ok()
    }
}

/// Between half a second and two and a half, so that many clients do not come back at one instant.
fn pause() -> Duration {
    Duration::from_millis(rand::rng().random_range(500..2500))
}
