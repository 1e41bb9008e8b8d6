//! A provider that sends signed events and sends again what was not accepted, as providers do.

use hooks_testkit::{http, sign, until};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

/// The development default of docker-compose.yml.
const SECRET: &str = "whsec_ZGV2ZWxvcG1lbnQtb25seS1kZW1vLXNlY3JldA==";
/// Longer than ingest pursues a commit.
const ANSWER: Duration = Duration::from_secs(15);
/// What a provider waits before it sends an event again.
const AGAIN: Duration = Duration::from_millis(200);

/// What came of a load.
#[derive(Debug, Default, Clone)]
pub struct Outcome {
    /// Ids that got a 2xx, once each.
    pub accepted: Vec<String>,
    /// Answers by status; 0 is a request without an answer.
    pub answers: BTreeMap<u16, usize>,
    /// The longest time from the first try of an event to its acceptance.
    pub longest: Duration,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { accepted, answers, longest } = self;
        write!(f, "{} accepted, answers {answers:?}, the longest wait {longest:.1?}", accepted.len())
    }
}

impl Outcome {
    /// Takes what came of another load into this one.
    pub fn add(&mut self, other: Self) {
        self.accepted.extend(other.accepted);
        for (status, count) in other.answers {
            *self.answers.entry(status).or_default() += count;
        }
        self.longest = self.longest.max(other.longest);
    }
}

/// One request and its answer's status; 0 without an answer.
pub async fn send_once(ingest: SocketAddr, id: &str) -> u16 {
    send_with(ingest, id, &[]).await
}

/// The same with more headers.
pub async fn send_with(ingest: SocketAddr, id: &str, more: &[(&str, &str)]) -> u16 {
    let body = format!("{{\"type\":\"load\",\"id\":\"{id}\"}}");
    let headers = sign::standard_webhooks(SECRET, id, sign::now(), body.as_bytes());
    let mut headers = sign::borrowed(&headers);
    headers.push(("Connection", "close"));
    headers.extend(more);
    let bytes = http::request("POST", "/ingest/demo", &headers, body.as_bytes());
    let answer = async {
        let mut connection = http::RawConnection::try_connect(ingest).await.ok()?;
        connection.send(&bytes).await.ok()?;
        connection.recv().await.ok().map(|answer| answer.status)
    };
    timeout(ANSWER, answer).await.ok().flatten().unwrap_or_default()
}

/// Sends one event until it is accepted or `stop` says so.
async fn insist(ingest: SocketAddr, id: String, stop: &AtomicBool) -> Outcome {
    let (mut outcome, began) = (Outcome::default(), Instant::now());
    let mut tries = every(AGAIN);
    loop {
        tries.tick().await;
        let status = send_once(ingest, &id).await;
        *outcome.answers.entry(status).or_default() += 1;
        if status / 100 == 2 {
            outcome.accepted.push(id);
            outcome.longest = began.elapsed();
            return outcome;
        }
        if stop.load(Ordering::Relaxed) {
            return outcome;
        }
    }
}

/// A schedule, which begins at once and does not make up for what it missed.
fn every(pause: Duration) -> Interval {
    let mut schedule = interval(pause);
    schedule.set_missed_tick_behavior(MissedTickBehavior::Delay);
    schedule
}

/// Sends `count` events named `<prefix>-<n>` over `connections` at once; returns when all are accepted.
pub async fn send(ingest: SocketAddr, prefix: &str, count: usize, connections: usize) -> Outcome {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (next, prefix) = (next.clone(), prefix.to_owned());
        tasks.spawn(async move {
            let (mut outcome, never) = (Outcome::default(), AtomicBool::new(false));
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return outcome;
                }
                outcome.add(insist(ingest, format!("{prefix}-{number}"), &never).await);
            }
        });
    }
    let mut all = Outcome::default();
    while let Some(outcome) = tasks.join_next().await {
        all.add(outcome.expect("a sender"));
    }
    all
}

/// A load that runs beside a test.
#[derive(Debug)]
pub struct Running {
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicUsize>,
    tasks: JoinSet<Outcome>,
}

impl Running {
    /// Starts `connections` senders, each with one event every `pause`.
    pub fn start(ingest: SocketAddr, prefix: &str, connections: usize, pause: Duration) -> Self {
        let (stop, accepted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for sender in 0..connections {
            let (stop, accepted, prefix) = (stop.clone(), accepted.clone(), prefix.to_owned());
            tasks.spawn(async move {
                let (mut outcome, mut pace) = (Outcome::default(), every(pause));
                for number in 0.. {
                    pace.tick().await;
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let one = insist(ingest, format!("{prefix}-{sender}-{number}"), &stop).await;
                    accepted.fetch_add(one.accepted.len(), Ordering::Relaxed);
                    outcome.add(one);
                }
                outcome
            });
        }
        Self { stop, accepted, tasks }
    }

    /// Returns when `count` more events have been accepted.
    pub async fn more(&self, count: usize) {
        let wanted = self.accepted.load(Ordering::Relaxed) + count;
        until(Duration::from_secs(60), &format!("{count} more events to be accepted"), async || {
            let accepted = self.accepted.load(Ordering::Relaxed);
            if accepted >= wanted { Ok(()) } else { Err(format!("{accepted} of {wanted}")) }
        })
        .await;
    }

    /// Ends it after the requests under way.
    pub async fn finish(mut self) -> Outcome {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Outcome::default();
        while let Some(outcome) = self.tasks.join_next().await {
            all.add(outcome.expect("a sender"));
        }
        all
    }
}
