//! One delivery in hand: checked, addressed, sent. No transaction is open meanwhile (L7).

use crate::backoff;
use crate::context::Context;
use crate::definition::Definition;
use crate::outcome::{self, Outcome, Verdict};
use crate::outgoing::{self, Label, Outgoing};
use crate::record::{Finished, Report};
use crate::sender::{Answer, SendError};
use crate::slot::Slot;
use crate::span;
use crate::store::{self, Claimed, EventKey, Fetched, Row};
use futures_util::FutureExt;
use hooks_shared::event::Event;
use hooks_shared::push::destination::Unusable;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;

/// A claim confirmed longer ago than this is confirmed again before it is sent.
const FRESH: Duration = Duration::from_millis(500);

/// A claimed delivery with all that is needed to send it.
#[derive(Debug)]
pub struct Job {
    pub claim: Claimed,
    pub definition: Arc<Definition>,
    pub fetched: Fetched,
    /// No earlier does the lease end.
    pub lease_until: Instant,
    /// When the database last said that the claim is ours and the subscription active.
    pub confirmed: Instant,
    pub slot: Slot,
}

/// A delivery that may be sent: its body is there and its destination is checked.
struct Addressed {
    outgoing: Outgoing,
    addresses: Vec<SocketAddr>,
    deadline: tokio::time::Instant,
}

/// What stands between a claim and its request.
enum Halt {
    /// Not to be sent now: the claim goes back.
    GiveBack,
    /// The event is gone.
    Expired,
    /// It cannot be sent as it is.
    Ended(Ended),
}

/// How an attempt ended.
struct Ended {
    outcome: Outcome,
    status: Option<u16>,
    error: Option<String>,
    asked: Option<Duration>,
    response: Vec<u8>,
}

impl Ended {
    fn without_answer(outcome: Outcome, error: impl AsRef<str>) -> Self {
        let error = Some(outcome::storable(error.as_ref()));
        Self { outcome, status: None, error, asked: None, response: Vec::new() }
    }
}

/// Carries a delivery out. Whatever happens, even a panic, is this delivery's own (L9).
pub async fn carry_out(context: &Context, job: Job) -> Report {
    let began = Instant::now();
    let ended = match AssertUnwindSafe(attempt(context, &job)).catch_unwind().await {
        Ok(Ok(ended)) => ended,
        Ok(Err(Halt::Ended(ended))) => ended,
        Ok(Err(Halt::GiveBack)) => return Report::Unsent(job.claim, job.slot),
        Ok(Err(Halt::Expired)) => return Report::Expired(job.claim, job.slot),
        Err(_) => Ended::without_answer(Outcome::Unsendable, "the sender panicked"),
    };
    let made = job.claim.cycle_attempts.max(0) as u32 + 1;
    let verdict = outcome::judge(ended.outcome, &job.definition.schedule, made, ended.asked);
    let now = Instant::now();
    let ended_at = context.seams.clock.now();
    span::attempted(&context.seams.spans, &job, ended.outcome, ended.status, ended_at, now - began);
    let row = Row {
        delivery: job.claim.id.clone(),
        token: job.claim.token,
        age: Duration::ZERO,
        duration: now - began,
        outcome: ended.outcome,
        status: ended.status,
        error: ended.error,
        url: job.definition.shown_url.clone(),
        response: (!ended.response.is_empty()).then_some(ended.response),
        verdict,
    };
    Report::Finished(Finished {
        row,
        ended: now,
        claim: job.claim,
        definition: job.definition,
        slot: job.slot,
    })
}

async fn attempt(context: &Context, job: &Job) -> Result<Ended, Halt> {
    let ready = tokio::select! {
        biased;
        ready = prepare(context, job) => ready?,
        // Nothing has gone out yet.
        () = context.shutdown.wait() => return Err(Halt::GiveBack),
    };
    if context.shutdown.is_stopping() {
        return Err(Halt::GiveBack);
    }
    let sender = &context.seams.sender;
    let sent = sender.send(ready.outgoing, ready.addresses, ready.deadline, &context.cut).await;
    Ok(match sent {
        Ok(answer) => answered(context, job, &answer),
        Err(SendError::Timeout(error)) => Ended::without_answer(Outcome::Timeout, error),
        Err(SendError::Network(error)) => Ended::without_answer(Outcome::NetworkError, error),
        Err(SendError::Unsendable(error)) => Ended::without_answer(Outcome::Unsendable, error),
    })
}

fn answered(context: &Context, job: &Job, answer: &Answer) -> Ended {
    let outcome = Outcome::of_status(answer.status);
    let asks = matches!(answer.status, 429 | 503).then_some(answer.retry_after.as_deref()).flatten();
    let kept = answer.body.len().min(job.definition.record_response);
    Ended {
        outcome,
        status: Some(answer.status),
        error: (outcome != Outcome::Succeeded).then(|| format!("the receiver answered {}", answer.status)),
        asked: asks.and_then(|value| backoff::retry_after(value, context.seams.clock.now())),
        response: answer.body[..kept].to_vec(),
    }
}

/// Everything before the request: body, lease, subscription, request, destination.
async fn prepare(context: &Context, job: &Job) -> Result<Addressed, Halt> {
    let event = whole_event(context, job).await?;
    still_ours(context, job).await?;
    let unsendable = |error: String| Halt::Ended(Ended::without_answer(Outcome::Unsendable, error));
    let shape = job.definition.shape.as_ref().map_err(|error| unsendable(error.clone()))?;
    let deadline = tokio::time::Instant::now() + context.settings.attempt_timeout;
    let url =
        context.policy.check_url(&job.definition.url).map_err(|error| refused(Unusable::Refused(error)))?;
    let label = Label {
        delivery: &job.claim.id,
        attempt: job.claim.attempts.saturating_add(1),
        replay: job.claim.replayed,
    };
    let outgoing =
        outgoing::build(&url, shape, &event, label, context.seams.clock.now()).map_err(unsendable)?;
    let resolved = timeout_at(deadline, context.policy.resolve(&url, &context.seams.resolver)).await;
    let addresses = match resolved {
        Ok(resolved) => resolved.map_err(refused)?,
        Err(_) => {
            return Err(Halt::Ended(Ended::without_answer(
                Outcome::Timeout,
                "the name did not resolve in time",
            )));
        }
    };
    Ok(Addressed { outgoing, addresses, deadline })
}

fn refused(error: Unusable) -> Halt {
    use hooks_shared::push::destination::Refused;
    let outcome = match &error {
        Unusable::Refused(Refused::Unreadable(_)) => Outcome::Unsendable,
        Unusable::Refused(_) => Outcome::Blocked,
        Unusable::Unresolved { .. } => Outcome::NetworkError,
    };
    Halt::Ended(Ended::without_answer(outcome, error.to_string()))
}

/// A large body is fetched by the delivery that sends it, when there is room in memory.
async fn whole_event(context: &Context, job: &Job) -> Result<Event, Halt> {
    let mut event = job.fetched.event.clone();
    let Some(size) = job.fetched.missing else { return Ok(event) };
    let kib = (size / 1024 + 1).min(crate::context::LARGE_BODIES_KIB) as u32;
    // Held until the attempt is over: the permit lives in the body's owner below.
    let room = context.large_bodies.clone().acquire_many_owned(kib).await.map_err(|_| Halt::GiveBack)?;
    let key =
        EventKey { source: event.source.clone(), sequence: event.sequence, received_at: event.received_at };
    let session = context.pool.get().await.map_err(|_| Halt::GiveBack)?;
    let body = store::fetch_body(&session, &key).await.map_err(|_| Halt::GiveBack)?.ok_or(Halt::Expired)?;
    event.body = bytes::Bytes::from_owner(Held { body, _room: room });
    Ok(event)
}

/// A body and the room it takes.
struct Held {
    body: bytes::Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// L8b: the lease covers a whole attempt and its recording, and the claim stands.
async fn still_ours(context: &Context, job: &Job) -> Result<(), Halt> {
    let needed = context.settings.attempt_timeout + context.settings.margin;
    if Instant::now() + needed > job.lease_until {
        return Err(Halt::GiveBack);
    }
    if job.confirmed.elapsed() < FRESH {
        return Ok(());
    }
    let session = context.pool.get().await.map_err(|_| Halt::GiveBack)?;
    let (ids, tokens) = ([job.claim.id.clone()], [job.claim.token]);
    match store::confirm(&session, &ids, &tokens).await {
        Ok(held) if !held.is_empty() => Ok(()),
        _ => Err(Halt::GiveBack),
    }
}

/// Whether a verdict ends a delivery badly.
pub fn is_failure(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Failed(_))
}
