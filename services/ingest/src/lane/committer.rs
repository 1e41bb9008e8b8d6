//! The task of one lane: keeps its connection, forms batches, and pursues each until its fate is certain.

use super::batch::{MOST_BYTES, MOST_ROWS};
use super::burst::{Stored, burst};
use super::{Job, LaneMetrics, LaneSettings, Outcome};
use crate::store;
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Failure, Notifier, Session, SessionOptions, connect, describe, failure_of};
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// A burst that takes longer is given up and sent again.
const BURST_LIMIT: Duration = Duration::from_secs(6);
/// The same for asking why append wrote nothing, and mending it.
const MEND_LIMIT: Duration = Duration::from_secs(3);
/// Time that a batch gets however late its oldest event is.
const LEAST_EFFORT: Duration = Duration::from_millis(200);
/// How often the reasons for an empty answer may be mended before a batch is given up.
const MOST_MENDINGS: usize = 4;

pub struct Committer {
    number: usize,
    settings: LaneSettings,
    queue: mpsc::UnboundedReceiver<Job>,
    waiting: VecDeque<Job>,
    notifier: Notifier,
    metrics: LaneMetrics,
    session: Option<Session>,
    pause: Reconnect,
}

/// How one try at a batch ended.
enum Tried {
    Done(Vec<Option<Stored>>),
    /// Undecided or hopeful: the same batch again.
    Again(String),
    /// The database will not take a value of this batch.
    BadValue(String),
}

impl Committer {
    pub fn new(
        number: usize,
        settings: LaneSettings,
        queue: mpsc::UnboundedReceiver<Job>,
        notifier: Notifier,
        metrics: LaneMetrics,
    ) -> Self {
        Self {
            number,
            settings,
            queue,
            waiting: VecDeque::new(),
            notifier,
            metrics,
            session: None,
            pause: Reconnect::default(),
        }
    }

    pub async fn run(mut self) {
        // Connected before the first event, so that the first event does not wait for it.
        self.reach_database(Instant::now() + Duration::from_secs(1)).await;
        while let Some(first) = self.next().await {
            let batch = self.batch(first);
            self.store(batch).await;
        }
        log::debug!(lane = self.number; "lane ended");
    }

    /// The next job that somebody still waits for.
    async fn next(&mut self) -> Option<Job> {
        loop {
            let job = match self.waiting.pop_front() {
                Some(job) => job,
                None => self.queue.recv().await?,
            };
            match self.expired(job) {
                Some(job) => return Some(job),
                None => continue,
            }
        }
    }

    /// Answers a job whose time is over before anything was sent for it.
    fn expired(&self, job: Job) -> Option<Job> {
        if job.since.elapsed() < self.settings.deadline {
            return Some(job);
        }
        job.finish(Outcome::Unavailable { reason: "waited too long for the database".to_owned() });
        None
    }

    /// Everything that waits, up to the limits of a batch.
    fn batch(&mut self, first: Job) -> Vec<Job> {
        let mut bytes = first.event.size();
        let mut batch = vec![first];
        while batch.len() < MOST_ROWS {
            let job = match self.waiting.pop_front() {
                Some(job) => job,
                None => match self.queue.try_recv() {
                    Ok(job) => job,
                    Err(_) => break,
                },
            };
            bytes += job.event.size();
            if bytes > MOST_BYTES {
                self.waiting.push_front(job);
                break;
            }
            batch.push(job);
        }
        batch
    }

    /// Pursues a batch to its end and answers it. A batch with a value that the database refuses is taken apart,
    /// so that only the guilty row gets an error.
    async fn store(&mut self, batch: Vec<Job>) {
        let oldest = batch.iter().map(|job| job.since).min().unwrap_or_else(Instant::now);
        let deadline = (oldest + self.settings.deadline).max(Instant::now() + LEAST_EFFORT);
        match self.pursue(&batch, deadline).await {
            Ok(stored) => self.answer(batch, &stored),
            Err(Tried::BadValue(reason)) if batch.len() == 1 => {
                log::error!(source = batch[0].event.source.as_ref(), event_id = batch[0].event.event_id.as_str();
                    "the database refuses an event: {reason}");
                answer_all(batch, &Outcome::Refused { reason });
            }
            Err(Tried::BadValue(reason)) => {
                log::warn!(lane = self.number, rows = batch.len(); "a batch is stored row by row: {reason}");
                for job in batch {
                    Box::pin(self.store(vec![job])).await;
                }
            }
            Err(Tried::Again(reason)) => self.give_up(batch, &reason),
            Err(Tried::Done(_)) => {}
        }
    }

    /// Answers those whose time is over. The others go back to the front of the queue under the same keys, so
    /// that whatever was sent for them is found, not repeated.
    fn give_up(&mut self, batch: Vec<Job>, reason: &str) {
        let (over, hopeful): (Vec<_>, Vec<_>) =
            batch.into_iter().partition(|job| job.since.elapsed() >= self.settings.deadline);
        log::error!(lane = self.number, rows = over.len(); "not known to be stored: {reason}");
        answer_all(over, &Outcome::Unavailable { reason: reason.to_owned() });
        for job in hopeful.into_iter().rev() {
            self.waiting.push_front(job);
        }
    }

    /// Sends the same batch, with the same keys, until there is a definite result. Looking whether the rows are
    /// there would give the wrong answer while the lost connection's commit is still being flushed; sending again
    /// waits for it on the heads' locks and then finds the rows.
    async fn pursue(&mut self, batch: &[Job], deadline: Instant) -> Result<Vec<Option<Stored>>, Tried> {
        let mut mendings = 0;
        let mut last = String::from("the database cannot be reached");
        loop {
            if Instant::now() >= deadline || !self.reach_database(deadline).await {
                return Err(Tried::Again(last));
            }
            match self.try_once(batch, deadline).await {
                Tried::Done(stored) if stored.iter().all(Option::is_some) => return Ok(stored),
                Tried::Done(stored) => {
                    mendings += 1;
                    match timeout(MEND_LIMIT, self.mend(batch)).await {
                        Ok(Ok(())) if mendings <= MOST_MENDINGS => {
                            last = "the log did not take the batch".to_owned()
                        }
                        Ok(Ok(())) => return Ok(stored),
                        Ok(Err(reason)) => {
                            last = reason;
                            self.rest(deadline).await;
                        }
                        Err(_) => {
                            last = "the database did not answer in time".to_owned();
                            self.session = None;
                        }
                    }
                }
                Tried::BadValue(reason) => return Err(Tried::BadValue(reason)),
                Tried::Again(reason) => {
                    self.metrics.retried_batches.inc();
                    last = reason;
                }
            }
        }
    }

    async fn try_once(&mut self, batch: &[Job], deadline: Instant) -> Tried {
        let Some(session) = &self.session else { return Tried::Again("not connected".to_owned()) };
        let started = Instant::now();
        let limit =
            BURST_LIMIT.min(deadline.saturating_duration_since(started)).max(Duration::from_millis(100));
        let result = timeout(limit, burst(session, batch)).await;
        let error = match result {
            Ok(Ok(stored)) => {
                self.metrics.commit_seconds.observe(started.elapsed().as_secs_f64());
                self.pause.reset();
                return Tried::Done(stored);
            }
            Ok(Err(error)) => error,
            Err(_) => {
                self.session = None;
                return Tried::Again("the database did not answer in time".to_owned());
            }
        };
        let reason = describe(&error);
        match failure_of(&error) {
            Failure::BadValue => Tried::BadValue(reason),
            Failure::Contended => Tried::Again(reason),
            Failure::Lost => {
                self.session = None;
                Tried::Again(reason)
            }
            // A demoted server lets everybody in and refuses every write: it must not be asked in a circle.
            Failure::ReadOnly => {
                self.session = None;
                self.rest(deadline).await;
                Tried::Again(reason)
            }
            Failure::Cancelled | Failure::Exhausted | Failure::Other => {
                self.rest(deadline).await;
                Tried::Again(reason)
            }
        }
    }

    /// The pause before the next try, which grows until a batch has been committed.
    async fn rest(&mut self, deadline: Instant) {
        let left = deadline.saturating_duration_since(Instant::now());
        tokio::time::sleep(self.pause.next_pause().min(left)).await;
    }

    /// Removes what made append write nothing: another timeline, a missing head.
    async fn mend(&mut self, batch: &[Job]) -> Result<(), String> {
        let Some(session) = &self.session else { return Err("not connected".to_owned()) };
        let sources: BTreeSet<&str> = batch.iter().map(|job| job.event.source.as_ref()).collect();
        let sources: Vec<&str> = sources.into_iter().collect();
        let failed = |error: tokio_postgres::Error| describe(&error);
        let row = session
            .row(store::DIAGNOSE, &[&sources])
            .await
            .map_err(failed)?
            .ok_or_else(|| "log_state is empty; run `hooksctl migrate`".to_owned())?;
        if row.get("timeline_changed") {
            let raised: bool = session
                .row(store::RAISE_HEADS, &[])
                .await
                .map_err(failed)?
                .is_some_and(|row| row.get("raised"));
            if raised {
                self.metrics.raised_heads.inc();
                log::warn!(
                    "the database was promoted or restored: every source's numbers go on a million higher"
                );
            }
        }
        if row.get::<_, i64>("heads") < sources.len() as i64 {
            session.run(store::ENSURE_HEADS, &[&sources]).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Connects if need be, again and again until the deadline. Jobs whose own time is over are answered
    /// meanwhile, so that an outage neither keeps senders waiting nor fills the memory.
    async fn reach_database(&mut self, deadline: Instant) -> bool {
        loop {
            if self.session.as_ref().is_some_and(|session| !session.is_broken()) {
                return true;
            }
            self.session = None;
            let options =
                SessionOptions { generic_plans: true, ..SessionOptions::service("hooks-ingest lane") };
            let limit = Duration::from_secs(3).min(deadline.saturating_duration_since(Instant::now()));
            let opened = timeout(limit.max(Duration::from_millis(50)), self.open(&options)).await;
            match opened {
                Ok(Ok(())) => continue,
                Ok(Err(reason)) => log::debug!(lane = self.number; "cannot connect: {reason}"),
                Err(_) => log::debug!(lane = self.number; "cannot connect in time"),
            }
            self.drop_expired();
            if Instant::now() >= deadline {
                return false;
            }
            self.rest(deadline).await;
        }
    }

    async fn open(&mut self, options: &SessionOptions) -> Result<(), String> {
        let session = connect(&self.settings.target, options).await.map_err(|error| describe(&error))?;
        // Prepared now, so that a burst is one round trip.
        for statement in [store::LOCK_HEADS, store::APPEND] {
            session.statement(statement).await.map_err(|error| describe(&error))?;
        }
        self.session = Some(session);
        Ok(())
    }

    fn drop_expired(&mut self) {
        while let Ok(job) = self.queue.try_recv() {
            self.waiting.push_back(job);
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting = waiting.into_iter().filter_map(|job| self.expired(job)).collect();
    }

    fn answer(&mut self, batch: Vec<Job>, stored: &[Option<Stored>]) {
        self.metrics.batches.inc();
        self.metrics.rows_per_batch.observe(batch.len() as f64);
        let mut fresh: BTreeSet<std::sync::Arc<str>> = BTreeSet::new();
        for (job, entry) in batch.into_iter().zip(stored) {
            let outcome = match entry {
                Some(Stored { sequence, is_new: true }) => {
                    fresh.insert(job.event.source.clone());
                    Outcome::Stored { sequence: *sequence }
                }
                Some(Stored { sequence, .. }) => Outcome::Duplicate { sequence: *sequence },
                None => Outcome::Unavailable { reason: "the log did not take the event".to_owned() },
            };
            job.finish(outcome);
        }
        if !fresh.is_empty() {
            self.notifier.sources(fresh.iter().map(AsRef::as_ref));
        }
    }
}

fn answer_all(batch: Vec<Job>, outcome: &Outcome) {
    for job in batch {
        job.finish(outcome.clone());
    }
}
