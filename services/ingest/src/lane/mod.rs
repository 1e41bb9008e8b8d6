//! Group commit. A lane is one task with one connection; a source always belongs to the same lane of a process.
//! It takes whatever waits, sends it as one transaction in one burst, and answers when the commit is flushed.
//! No timer: the commit that is under way is what the next batch waits for.

mod batch;
mod burst;
mod committer;
mod metrics;

pub use metrics::LaneMetrics;

use crate::budget::Hold;
use crate::event::NewEvent;
use hooks_shared::db::{Notifier, Target};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Committed under this sequence.
    Stored { sequence: i64 },
    /// The same event was committed before, under this sequence.
    Duplicate { sequence: i64 },
    /// The database will never take this event; the others of its batch are not affected.
    Refused { reason: String },
    /// Not known to be stored; the sender should send again.
    Unavailable { reason: String },
}

/// One event on its way, with the memory it holds and who waits for it.
#[derive(Debug)]
pub(crate) struct Job {
    pub event: NewEvent,
    /// Given back to the budget when the job is dropped.
    pub hold: Hold,
    pub answer: oneshot::Sender<Outcome>,
    pub since: Instant,
}

impl Job {
    /// Gives the memory back, then answers: whoever has an answer finds the room that it took.
    fn finish(self, outcome: Outcome) {
        let Self { event, hold, answer, .. } = self;
        drop(event);
        drop(hold);
        let _ = answer.send(outcome);
    }
}

/// The lanes of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Lanes {
    queues: Vec<mpsc::UnboundedSender<Job>>,
    deadline: Duration,
}

/// What a lane is made of.
#[derive(Debug, Clone)]
pub struct LaneSettings {
    pub target: Target,
    pub lanes: usize,
    pub deadline: Duration,
}

impl Lanes {
    /// Starts the lanes. They end when every clone of the result is gone and their queues are empty; the
    /// handles tell when.
    pub fn start(
        settings: &LaneSettings,
        notifier: &Notifier,
        metrics: &LaneMetrics,
    ) -> (Self, Vec<tokio::task::JoinHandle<()>>) {
        let mut queues = Vec::new();
        let mut tasks = Vec::new();
        for number in 0..settings.lanes {
            // Not bounded by count: every job holds its bytes of the budget, which is the bound.
            let (sender, receiver) = mpsc::unbounded_channel();
            let lane = committer::Committer::new(
                number,
                settings.clone(),
                receiver,
                notifier.clone(),
                metrics.clone(),
            );
            queues.push(sender);
            tasks.push(tokio::spawn(lane.run()));
        }
        (Self { queues, deadline: settings.deadline }, tasks)
    }

    /// Hands an event over and waits for its fate. Dropping the future does not take the event back.
    pub async fn store(&self, event: NewEvent, hold: Hold) -> Outcome {
        let (answer, fate) = oneshot::channel();
        let lane = lane_of(&event.source, self.queues.len());
        let job = Job { event, hold, answer, since: Instant::now() };
        let gone = || Outcome::Unavailable { reason: "the service is stopping".to_owned() };
        if self.queues[lane].send(job).is_err() {
            return gone();
        }
        // The lane answers by its own deadline; this one only catches a lane that does not answer at all.
        match tokio::time::timeout(self.deadline + Duration::from_secs(5), fate).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => gone(),
            Err(_) => Outcome::Unavailable { reason: "no answer from the lane".to_owned() },
        }
    }
}

fn lane_of(source: &str, lanes: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    (hasher.finish() % lanes as u64) as usize
}
