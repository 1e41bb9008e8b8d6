//! Refused requests, kept for a day with what the doctor finds: behind the answer, never in its way, and bounded in
//! number, size and rate, since anyone can send them.

use crate::head::Captured;
use crate::sources::{Current, ReadySource};
use crate::store;
use hooks_shared::clock::Clock;
use hooks_shared::db::{Pool, describe};
use hooks_shared::event::encode_headers;
use hooks_shared::shutdown::Shutdown;
use hooks_shared::verify::doctor::{self, Case, Diagnosis};
use hooks_shared::verify::{Parts, Refusal, mask};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use time::OffsetDateTime;
use tokio::sync::mpsc;

/// What waits to be looked at; more is dropped.
const WAITING: usize = 16;
/// A body over this is kept and looked at in part only.
pub const LOOKED_AT: usize = 1024 * 1024;
/// What is kept of a body.
const KEPT: usize = 64 * 1024;
/// At most one of a source in this time.
const SPACING: time::Duration = time::Duration::SECOND;
/// How often old ones are removed.
const TIDY: Duration = Duration::from_secs(600);

/// A refused request on its way to the record.
#[derive(Debug)]
pub struct Rejected {
    pub source: Arc<ReadySource>,
    /// As it was verified.
    pub request: Parts,
    /// As it was sent.
    pub head: Captured,
    pub refusal: Refusal,
    pub status: u16,
    /// How long the body was, which may be more than there is of it.
    pub body_bytes: usize,
    pub at: OffsetDateTime,
}

/// Takes refused requests. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Rejected>,
    last: Arc<Mutex<HashMap<Arc<str>, OffsetDateTime>>>,
}

impl Recorder {
    /// Starts the task that looks at them and writes them down.
    pub fn start(pool: Pool, sources: Current, clock: Clock, shutdown: Shutdown) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        tokio::spawn(work(pool, sources, clock, waiting, shutdown));
        Self { queue, last: Arc::default() }
    }

    /// True if one of this source may be kept now. Asked before the request is copied.
    pub fn wants(&self, source: &ReadySource, now: OffsetDateTime) -> bool {
        if !source.record_rejected || self.queue.capacity() == 0 {
            return false;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.get(&source.name).is_none_or(|at| now - *at >= SPACING || now < *at);
        if due {
            last.insert(source.name.clone(), now);
        }
        due
    }

    /// Never waits: with a full queue it is dropped.
    pub fn offer(&self, rejected: Rejected) {
        let _ = self.queue.try_send(rejected);
    }
}

async fn work(
    pool: Pool,
    sources: Current,
    clock: Clock,
    mut waiting: mpsc::Receiver<Rejected>,
    shutdown: Shutdown,
) {
    let mut tidy = tokio::time::interval(TIDY);
    loop {
        tokio::select! {
            () = shutdown.wait() => return,
            _ = tidy.tick() => forget(&pool).await,
            rejected = waiting.recv() => match rejected {
                Some(rejected) => look_at(&pool, &sources, &clock, rejected).await,
                None => return,
            },
        }
    }
}

async fn look_at(pool: &Pool, sources: &Current, clock: &Clock, rejected: Rejected) {
    let source = rejected.source.clone();
    let known = sources.all();
    let others = known.secrets_beside(&source.name);
    let secrets = known.all_secrets();
    let now = rejected.at.min(clock.now());
    let examined = tokio::task::spawn_blocking(move || {
        let mut rejected = rejected;
        let diagnosis = if rejected.body_bytes > rejected.request.body.len() {
            of_long(&rejected.refusal)
        } else {
            let (settings, request) = (&rejected.source.settings, &rejected.request);
            doctor::examine(&Case { settings, request, now, others: &others })
        };
        rejected.request.headers = std::mem::take(&mut rejected.head.headers);
        rejected.request.target = String::from_utf8_lossy(&rejected.head.target).into_owned();
        mask::credentials(&mut rejected.request, &rejected.source.settings, &secrets, KEPT);
        (rejected, diagnosis)
    });
    match examined.await {
        Ok((rejected, diagnosis)) => {
            if let Err(reason) = keep(pool, &rejected, &diagnosis).await {
                log::debug!(source = source.name.as_ref(); "a refused request is not kept: {reason}");
            }
        }
        Err(error) => log::error!(source = source.name.as_ref(); "the doctor failed: {error}"),
    }
}

/// A signature over more than is looked at cannot be tried, and a part of the body would get a verdict of its own.
fn of_long(refusal: &Refusal) -> Diagnosis {
    let beyond =
        format!("The body is longer than the {LOOKED_AT} bytes that are looked at: I do not know more.");
    Diagnosis {
        verdict: refusal.reason.word(),
        reasons: vec![format!("It was refused: {}.", refusal.detail), beyond],
        certain: false,
        answer: None,
    }
}

async fn keep(pool: &Pool, rejected: &Rejected, diagnosis: &Diagnosis) -> Result<(), String> {
    let session = pool.get().await.map_err(|_| "no database connection".to_owned())?;
    let request = &rejected.request;
    let length = i64::try_from(rejected.body_bytes).unwrap_or(i64::MAX);
    let body = &request.body[..request.body.len().min(KEPT)];
    session
        .run(
            store::KEEP_REJECTED,
            &[
                &rejected.source.name.as_ref(),
                &diagnosis.verdict,
                &i32::from(rejected.status),
                &diagnosis.certain,
                &diagnosis.reasons,
                &request.method,
                &request.target.as_bytes(),
                &encode_headers(&request.headers),
                &request.remote_addr,
                &body,
                &length,
            ],
        )
        .await
        .map(|_| ())
        .map_err(|error| describe(&error))
}

async fn forget(pool: &Pool) {
    let Ok(session) = pool.get().await else { return };
    if let Err(error) = session.run(store::FORGET_REJECTED, &[]).await {
        log::debug!("old refused requests are not removed: {}", describe(&error));
    }
}
