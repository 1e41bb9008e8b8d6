//! The recorder: one task that writes down whatever is waiting, in one transaction, and begins again. There is no
//! timer: the running commit is the timer, as in ingest. An attempt is recorded when it ends (L10).

use crate::APPLICATION;
use crate::attempt::is_failure;
use crate::context::Context;
use crate::definition::Definition;
use crate::follow_up::FollowUp;
use crate::outcome::EXPIRED;
use crate::slot::Slot;
use crate::store::{self, Claimed, Recorded, Row};
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Failure, Session, SessionOptions, connect, describe, failure_of};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;
use uuid::Uuid;

/// Results of one transaction.
const BATCH: usize = 500;

/// What became of a delivery in hand. The slot is free once it is written down.
#[derive(Debug)]
pub enum Report {
    Finished(Finished),
    /// Nothing was sent: the claim goes back.
    Unsent(Claimed, Slot),
    /// Its event is gone: it can never be sent.
    Expired(Claimed, Slot),
}

/// An attempt that ended.
#[derive(Debug)]
pub struct Finished {
    pub row: Row,
    pub ended: Instant,
    pub claim: Claimed,
    pub definition: Arc<Definition>,
    pub slot: Slot,
}

/// Runs until all who report are gone.
pub async fn run(
    context: Arc<Context>,
    mut reports: mpsc::Receiver<Report>,
    follow_ups: mpsc::Sender<FollowUp>,
) {
    let mut recorder = Recorder { context, follow_ups, session: None, pause: Reconnect::default() };
    let mut waiting = Vec::new();
    while reports.recv_many(&mut waiting, BATCH).await > 0 {
        recorder.write(std::mem::take(&mut waiting)).await;
    }
}

struct Recorder {
    context: Arc<Context>,
    follow_ups: mpsc::Sender<FollowUp>,
    session: Option<Session>,
    pause: Reconnect,
}

impl Recorder {
    async fn write(&mut self, reports: Vec<Report>) {
        let (mut finished, mut unsent, mut expired) = (Vec::new(), Vec::new(), Vec::new());
        let mut slots = Vec::with_capacity(reports.len());
        for report in reports {
            match report {
                Report::Finished(one) => finished.push(one),
                Report::Unsent(claim, slot) => {
                    unsent.push(claim);
                    slots.push(slot);
                }
                Report::Expired(claim, slot) => {
                    expired.push(claim);
                    slots.push(slot);
                }
            }
        }
        if !finished.is_empty() {
            self.write_finished(&mut finished).await;
        }
        if !unsent.is_empty() {
            self.give_back(&unsent).await;
        }
        if !expired.is_empty() {
            self.fail(&expired).await;
        }
        self.follow(finished).await;
        drop(slots);
        self.context.wake.notify_one();
    }

    async fn write_finished(&mut self, finished: &mut [Finished]) {
        let rows: Vec<Row> = finished.iter().map(|one| one.row.clone()).collect();
        let ends: Vec<Instant> = finished.iter().map(|one| one.ended).collect();
        let began = Instant::now();
        let recorded = self.record(rows, &ends).await;
        self.context.metrics.record_seconds.observe(began.elapsed().as_secs_f64());
        let mut by_token: HashMap<Uuid, Recorded> = recorded.into_iter().map(|r| (r.token, r)).collect();
        for one in finished {
            self.note(one, by_token.remove(&one.claim.token));
        }
    }

    /// Records until it is done. A batch with a value that cannot be stored is recorded row by row, so that only the
    /// guilty one suffers; that one loses its texts.
    async fn record(&mut self, mut rows: Vec<Row>, ends: &[Instant]) -> Vec<Recorded> {
        match self.record_or_refuse(&mut rows, ends).await {
            Some(recorded) => recorded,
            None if rows.len() == 1 => {
                log::error!(delivery = rows[0].delivery.as_str(); "a result could not be stored, its texts are left out");
                rows[0].error = Some("the error text could not be stored".to_owned());
                rows[0].response = None;
                rows[0].url = String::new();
                self.record_or_refuse(&mut rows, ends).await.unwrap_or_default()
            }
            None => {
                let mut all = Vec::new();
                for (row, end) in rows.into_iter().zip(ends) {
                    all.extend(Box::pin(self.record(vec![row], std::slice::from_ref(end))).await);
                }
                all
            }
        }
    }

    /// None when a value was refused. Everything else is tried again: a commit whose outcome is not known is found
    /// done by its tokens.
    async fn record_or_refuse(&mut self, rows: &mut [Row], ends: &[Instant]) -> Option<Vec<Recorded>> {
        let (protocol, worker) = (self.context.seams.protocol, self.context.worker.clone());
        loop {
            for (row, end) in rows.iter_mut().zip(ends) {
                row.age = end.elapsed();
            }
            let session = self.session().await;
            match store::record(session, protocol, &worker, rows).await {
                Ok(recorded) => {
                    self.pause.reset();
                    return Some(recorded);
                }
                Err(error) if failure_of(&error) == Failure::BadValue => return None,
                Err(error) => self.failed("results could not be recorded", error).await,
            }
        }
    }

    async fn give_back(&mut self, claims: &[Claimed]) {
        let (ids, tokens) = keys(claims);
        loop {
            let session = self.session().await;
            match store::give_back(session, &ids, &tokens).await {
                Ok(given) => {
                    self.context.metrics.given_back.inc_by(given as u64);
                    return;
                }
                Err(error) => self.failed("claims could not be given back", error).await,
            }
        }
    }

    async fn fail(&mut self, claims: &[Claimed]) {
        let (ids, tokens) = keys(claims);
        let held = loop {
            let session = self.session().await;
            match store::fail_unsent(session, &ids, &tokens, EXPIRED).await {
                Ok(held) => break held,
                Err(error) => self.failed("deliveries could not be failed", error).await,
            }
        };
        for claim in claims.iter().filter(|claim| held.contains(&claim.id)) {
            let _ = self.follow_ups.send(FollowUp::unsent_failure(claim, EXPIRED)).await;
        }
    }

    /// Says what became of a result.
    fn note(&self, one: &mut Finished, recorded: Option<Recorded>) {
        let metrics = &self.context.metrics;
        metrics.attempt(one.row.outcome);
        metrics.attempt_seconds.observe(one.row.duration.as_secs_f64());
        let delivery = one.claim.id.as_str();
        match recorded {
            None => {
                metrics.dropped.inc();
                log::warn!(delivery; "a result was dropped: its delivery is gone, or this worker's protocol is too old");
                one.row.verdict = crate::outcome::Verdict::Delivered;
            }
            Some(recorded) if !recorded.owner => {
                metrics.superseded.inc();
                log::warn!(delivery, attempt = recorded.number, outcome = one.row.outcome.as_str();
                    "superseded: another worker had taken over when this attempt ended; is the lease too short?");
                // A late attempt decides nothing.
                one.row.verdict = crate::outcome::Verdict::Delivered;
            }
            Some(recorded) => {
                if recorded.number == 1 {
                    let age = time::OffsetDateTime::now_utc() - one.claim.received_at;
                    metrics.first_attempt_seconds.observe(age.as_seconds_f64().max(0.0));
                }
                let failed = is_failure(&one.row.verdict);
                log::debug!(delivery, attempt = recorded.number, outcome = one.row.outcome.as_str(), failed; "recorded");
            }
        }
    }

    async fn follow(&self, finished: Vec<Finished>) {
        for one in finished {
            if let Some(follow_up) = FollowUp::of(&one) {
                let _ = self.follow_ups.send(follow_up).await;
            }
            drop(one.slot);
        }
    }

    async fn session(&mut self) -> &Session {
        loop {
            match self.session.take() {
                Some(open) if !open.is_broken() => return self.session.insert(open),
                _ => {}
            }
            match connect(&self.context.target, &SessionOptions::service(APPLICATION)).await {
                Ok(open) => return self.session.insert(open),
                Err(error) => self.failed("no connection to record results over", error).await,
            }
        }
    }

    /// Logs, drops a connection that is of no more use, and waits a moment.
    async fn failed(&mut self, what: &str, error: tokio_postgres::Error) {
        log::warn!("{what}, trying again: {}", describe(&error));
        if matches!(failure_of(&error), Failure::Lost | Failure::ReadOnly | Failure::Other) {
            self.session = None;
        }
        self.pause.wait().await;
    }
}

fn keys(claims: &[Claimed]) -> (Vec<String>, Vec<Uuid>) {
    claims.iter().map(|claim| (claim.id.clone(), claim.token)).unzip()
}
