//! Providers that send and, as providers do, send again what was not accepted; and the account of what they know.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::db::TestDb;
use crate::http::{RawConnection, request};
use crate::sign::{Headers, borrowed};
use crate::until;

/// How long the load may take to get on, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A source and what signs its events, from an id and a body.
pub type Feed = (&'static str, fn(&str, &[u8]) -> Headers);

/// One event as its provider sees it.
#[derive(Debug)]
pub struct Sent {
    source: &'static str,
    id: String,
    /// The number that an accepting answer gave.
    accepted: Option<i64>,
    /// Answers that neither accept nor ask for another try.
    odd: Vec<u16>,
}

/// Clients that send until told to stop.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<Vec<Sent>>>,
}

impl Load {
    /// `clients` connections, each to the next of `addresses` after every failure, each sending to all of `feeds` in
    /// turn.
    pub fn start(addresses: &[SocketAddr], clients: usize, feeds: &[Feed]) -> Self {
        let (stop, accepted, refused) = <(Arc<AtomicBool>, Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let clients = (0..clients).map(|number| {
            let client = Client {
                number,
                addresses: addresses.to_vec(),
                feeds: feeds.to_vec(),
                turn: number,
                connection: None,
                stop: stop.clone(),
                accepted: accepted.clone(),
                refused: refused.clone(),
            };
            tokio::spawn(client.run())
        });
        let clients = clients.collect();
        Self { stop, accepted, refused, clients }
    }

    /// How many events have been accepted.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Waits until `more` further events have been accepted.
    pub async fn goes_on(&self, more: usize) {
        let goal = self.accepted() + more;
        until(PATIENCE, &format!("{more} more events to be accepted"), async || {
            let now = self.accepted();
            if now >= goal { Ok(()) } else { Err(format!("{now} of {goal}")) }
        })
        .await;
    }

    /// Waits until `more` further requests have failed.
    pub async fn fails(&self, more: usize) {
        let goal = self.refused.load(Ordering::SeqCst) + more;
        until(PATIENCE, "requests to fail", async || self.refused.load(Ordering::SeqCst) >= goal).await;
    }

    /// Ends the load and returns everything that was ever sent.
    pub async fn end(self) -> Vec<Sent> {
        self.stop.store(true, Ordering::SeqCst);
        let mut sent = Vec::new();
        for client in self.clients {
            sent.extend(client.await.expect("a client does not panic"));
        }
        sent
    }
}

struct Client {
    number: usize,
    addresses: Vec<SocketAddr>,
    feeds: Vec<Feed>,
    turn: usize,
    connection: Option<RawConnection>,
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
}

impl Client {
    async fn run(mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let id = format!("load-{}-{}", self.number, all.len());
            let feed = self.feeds[all.len() % self.feeds.len()];
            all.push(self.deliver(feed, id).await);
        }
        all
    }

    /// Sends one event until it is accepted or the load ends.
    async fn deliver(&mut self, (source, sign): Feed, id: String) -> Sent {
        let headers = sign(&id, id.as_bytes());
        let bytes = request("POST", &format!("/ingest/{source}"), &borrowed(&headers), id.as_bytes());
        let mut sent = Sent { source, id, accepted: None, odd: Vec::new() };
        while sent.accepted.is_none() && !self.stop.load(Ordering::SeqCst) {
            match self.once(&bytes).await {
                Some((200..=299, number)) => {
                    sent.accepted = Some(number.expect("an accepting answer gives the number"));
                    self.accepted.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                Some((500..=599, _)) | None => {}
                Some((status, _)) => sent.odd.push(status),
            }
            self.refused.fetch_add(1, Ordering::SeqCst);
            self.turn += 1;
            self.connection = None;
        }
        sent
    }

    /// The answer and the number in it; None where there is no answer.
    async fn once(&mut self, bytes: &[u8]) -> Option<(u16, Option<i64>)> {
        if self.connection.is_none() {
            let address = self.addresses[self.turn % self.addresses.len()];
            let stop = self.stop.clone();
            self.connection = until(PATIENCE, "a service to connect to", async || {
                if stop.load(Ordering::SeqCst) {
                    return Ok(None);
                }
                RawConnection::try_connect(address).await.map(Some)
            })
            .await;
        }
        let connection = self.connection.as_mut()?;
        connection.send(bytes).await.ok()?;
        let answer = connection.recv().await.ok()?;
        let number = answer.header("x-hooks-sequence").and_then(|text| text.parse().ok());
        Some((answer.status, number))
    }
}

/// Every accepted event is in the table exactly once and under the number that was told; no event is there
/// twice; nothing was answered but acceptance and 5xx. Returns how many were accepted.
pub async fn assert_accounts_agree(db: &TestDb, sent: &[Sent]) -> usize {
    let rows = db.query("select source, delivery_id, sequence from events", &[]).await;
    let mut stored: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    for row in &rows {
        stored.entry((row.get(0), row.get(1))).or_default().push(row.get(2));
    }
    for event in sent {
        let numbers = stored.remove(&(event.source.to_owned(), event.id.clone())).unwrap_or_default();
        assert!(numbers.len() <= 1, "stored more than once: {event:?} as {numbers:?}");
        assert_eq!(event.odd, Vec::<u16>::new(), "{event:?}");
        if let Some(number) = event.accepted {
            assert_eq!(numbers, [number], "{event:?}");
        }
    }
    assert!(stored.is_empty(), "nobody sent {stored:?}");
    sent.iter().filter(|event| event.accepted.is_some()).count()
}

/// Numbers run from 1 without a gap, in the order of arrival times, up to the head's.
pub async fn assert_gapless(db: &TestDb) {
    let sql = "select h.source, h.last_sequence, count(e.sequence), coalesce(max(e.sequence), 0),
            coalesce(bool_and(e.in_order), true)
        from source_heads h
        left join (
            select source, sequence,
                received_at >= lag(received_at, 1, received_at) over (partition by source order by sequence) as in_order
            from events
        ) e using (source)
        group by h.source, h.last_sequence";
    for row in db.query(sql, &[]).await {
        let (source, head, count, newest): (String, i64, i64, i64) =
            (row.get(0), row.get(1), row.get(2), row.get(3));
        assert_eq!((head, head), (count, newest), "{source}");
        assert!(row.get::<_, bool>(4), "{source}: arrival times go back");
    }
}
