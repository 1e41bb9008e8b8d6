//! The claiming loop: as long as there is room, claim what may start now and start it; else wait for a result, a hint
//! or the next poll.

use crate::APPLICATION;
use crate::attempt::{Job, carry_out};
use crate::claim::{self, Ask, Batch, ClaimError, Unknown};
use crate::context::Context;
use crate::definition::Definition;
use crate::follow_up::FollowUp;
use crate::outcome::LOST_CLAIMS;
use crate::record::Report;
use crate::slot::Slot;
use crate::store::{self, Claimed, Day, EventKey, Fetched};
use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Failure, ListenState, Session, SessionOptions, connect, describe, failure_of};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// Bodies up to this size come with the batch, once for all its subscriptions; larger ones one by one.
const INLINE_BODY: usize = 256 << 10;
/// How often due times are looked at without their lower bound.
const LOOK_AT_ALL: Duration = Duration::from_secs(5);
/// How far below the last retries the lower bound lies.
const BELOW: time::Duration = time::Duration::seconds(60);

/// Claims and starts deliveries until shutdown.
#[derive(Debug)]
pub struct Worker {
    context: Arc<Context>,
    listen: ListenState,
    /// The recorder ends when this and the clones of the attempts are gone.
    reports: mpsc::Sender<Report>,
    follow_ups: mpsc::Sender<FollowUp>,
    tasks: TaskTracker,
    session: Option<Session>,
    pause: Reconnect,
    /// Subscriptions that had nothing to start; forgotten with every wake-up and poll.
    skip: BTreeSet<String>,
    low: OffsetDateTime,
    looked_at_all: Instant,
    /// A commit whose outcome has to be found out before anything else is claimed.
    unknown: Option<Unknown>,
}

impl Worker {
    pub fn new(
        context: Arc<Context>,
        listen: ListenState,
        reports: mpsc::Sender<Report>,
        follow_ups: mpsc::Sender<FollowUp>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            context,
            listen,
            reports,
            follow_ups,
            tasks,
            session: None,
            pause: Reconnect::default(),
            skip: BTreeSet::new(),
            low: OffsetDateTime::UNIX_EPOCH,
            looked_at_all: Instant::now(),
            unknown: None,
        }
    }

    /// Runs until shutdown. No claim is open then, except one whose outcome is not known.
    pub async fn run(mut self) {
        let shutdown = self.context.shutdown.clone();
        while !shutdown.is_stopping() {
            match self.turn().await {
                Ok(true) => {}
                Ok(false) => self.rest().await,
                Err(error) => self.failed("claiming failed", &error).await,
            }
        }
        // A last try to leave nothing behind; the lease does the rest.
        if self.unknown.is_some() {
            let _ = tokio::time::timeout(Duration::from_secs(2), self.resolve_unknown()).await;
        }
    }

    /// Until something may have changed: a result, a hint, the poll, shutdown.
    async fn rest(&mut self) {
        let context = self.context.clone();
        tokio::select! {
            () = context.wake.notified() => {}
            () = tokio::time::sleep(self.listen.poll_interval()) => {}
            () = context.shutdown.wait() => {}
        }
        self.skip.clear();
    }

    /// Claims once. False when there was nothing to claim, or no room.
    async fn turn(&mut self) -> Result<bool, tokio_postgres::Error> {
        if self.unknown.is_some() {
            self.resolve_unknown().await?;
        }
        let slots = &self.context.slots;
        let (free, unproven) = (slots.free(), slots.free_for_unproven());
        if unproven > 0 && self.claim(unproven, false).await? {
            return Ok(true);
        }
        if free > unproven && self.claim(free, true).await? {
            return Ok(true);
        }
        Ok(false)
    }

    /// False when nothing was picked.
    async fn claim(&mut self, budget: usize, only_proven: bool) -> Result<bool, tokio_postgres::Error> {
        let ask = self.ask(budget, only_proven);
        let session = self.session().await?;
        match claim::claim(session, &ask).await {
            Ok(batch) => {
                self.pause.reset();
                let picked = !batch.subscriptions.is_empty() || !batch.idle.is_empty();
                self.skip.extend(batch.idle.iter().cloned());
                self.remember_low(&batch);
                self.start(batch).await;
                Ok(picked)
            }
            Err(ClaimError { error, unknown }) => {
                self.unknown = unknown;
                Err(error)
            }
        }
    }

    fn ask(&mut self, budget: usize, only_proven: bool) -> Ask {
        if self.looked_at_all.elapsed() >= LOOK_AT_ALL {
            self.looked_at_all = Instant::now();
            self.low = OffsetDateTime::UNIX_EPOCH;
        }
        let settings = &self.context.settings;
        Ask {
            protocol: self.context.seams.protocol,
            worker: self.context.worker.clone(),
            lease: settings.lease,
            budget,
            only_proven,
            unproven: self.context.slots.unproven(),
            may_reclaim: self.context.slots.may_reclaim(),
            max_lost_claims: settings.max_lost_claims,
            paused_sources: self.context.paused_sources.clone(),
            skip: self.skip.iter().cloned().collect(),
            low: self.low,
        }
    }

    /// After a claim without a lower bound: nothing that is due lies much below what it found first.
    fn remember_low(&mut self, batch: &Batch) {
        if let Some(earliest) = batch.earliest_due {
            self.low = earliest - BELOW;
        }
    }

    /// Confirms, fetches and starts. What cannot be started goes back.
    async fn start(&mut self, batch: Batch) {
        for gone in &batch.given_up {
            self.context.metrics.lost_to_ceiling.inc();
            let follow_up = FollowUp::without_request(
                &gone.delivery,
                &gone.subscription,
                &gone.source,
                gone.sequence,
                LOST_CLAIMS,
            );
            let _ = self.follow_ups.send(follow_up).await;
        }
        if batch.claims.is_empty() {
            return;
        }
        let reclaimed = batch.claims.iter().filter(|claim| claim.alone).count();
        self.context.metrics.claims.inc_by(batch.claims.len() as u64);
        self.context.metrics.reclaims.inc_by(reclaimed as u64);
        let slotted = self.slotted(&batch);
        let definitions = self.definitions(&batch);
        match self.load(&batch.claims).await {
            Ok(loaded) => self.spawn(slotted, &definitions, &loaded, batch.started),
            Err(error) => {
                self.failed("claimed deliveries could not be read", &error).await;
                for (claim, slot) in slotted {
                    let _ = self.reports.send(Report::Unsent(claim, slot)).await;
                }
            }
        }
    }

    fn slotted(&self, batch: &Batch) -> Vec<(Claimed, Slot)> {
        let proven =
            |claim: &Claimed| batch.subscriptions.get(&claim.subscription).is_some_and(|one| one.proven);
        let slots = &self.context.slots;
        let with_slot = batch.claims.iter().filter_map(|claim| {
            // The budget was what is free, and only this loop takes.
            Some((claim.clone(), slots.take(&claim.subscription, proven(claim), claim.alone)?))
        });
        with_slot.collect()
    }

    fn definitions(&self, batch: &Batch) -> HashMap<String, Arc<Definition>> {
        let context = &self.context;
        let none = Vec::new();
        let read = batch.subscriptions.values().map(|one| {
            let credentials = context.credential_headers.get(&one.source).unwrap_or(&none);
            let definition = Definition::read(one, &context.keyring, &context.settings.retry, credentials);
            (one.id.clone(), Arc::new(definition))
        });
        read.collect()
    }

    async fn load(&mut self, claims: &[Claimed]) -> Result<Loaded, tokio_postgres::Error> {
        let ids: Vec<String> = claims.iter().map(|claim| claim.id.clone()).collect();
        let tokens: Vec<Uuid> = claims.iter().map(|claim| claim.token).collect();
        let mut days: BTreeMap<Day, BTreeSet<(String, i64)>> = BTreeMap::new();
        let mut keys: HashMap<(String, i64), EventKey> = HashMap::new();
        for claim in claims {
            let name = (claim.source.clone(), claim.sequence);
            days.entry(Day::of(claim.received_at)).or_default().insert(name.clone());
            keys.insert(name, key_of(claim));
        }
        let session = self.session().await?;
        let mut events = HashMap::new();
        for (day, names) in days {
            let keys: Vec<EventKey> = names.iter().filter_map(|name| keys.get(name).cloned()).collect();
            for fetched in store::fetch_events(session, &keys, day, INLINE_BODY).await? {
                events.insert((fetched.event.source.clone(), fetched.event.sequence), fetched);
            }
        }
        // Last, so that it is as fresh as can be when the requests go out.
        let confirmed = Instant::now();
        let held = store::confirm(session, &ids, &tokens).await?.into_iter().collect();
        Ok(Loaded { events, held, confirmed })
    }

    fn spawn(
        &self,
        slotted: Vec<(Claimed, Slot)>,
        definitions: &HashMap<String, Arc<Definition>>,
        loaded: &Loaded,
        started: Instant,
    ) {
        let lease_until = started + self.context.settings.lease;
        for (claim, slot) in slotted {
            let (context, reports) = (self.context.clone(), self.reports.clone());
            let name = (claim.source.clone(), claim.sequence);
            let definition = definitions.get(&claim.subscription).cloned();
            let report = match (loaded.held.contains(&claim.token), loaded.events.get(&name), definition) {
                (true, Some(fetched), Some(definition)) => {
                    let (fetched, confirmed) = (fetched.clone(), loaded.confirmed);
                    let job = Job { claim, definition, fetched, lease_until, confirmed, slot };
                    self.tasks.spawn(async move {
                        let report = carry_out(&context, job).await;
                        let _ = reports.send(report).await;
                    });
                    continue;
                }
                (true, None, _) => Report::Expired(claim, slot),
                _ => Report::Unsent(claim, slot),
            };
            self.tasks.spawn(async move {
                let _ = reports.send(report).await;
            });
        }
    }

    /// Finds out what an undecided commit claimed, and gives it back.
    async fn resolve_unknown(&mut self) -> Result<(), tokio_postgres::Error> {
        let Some(unknown) = self.unknown.clone() else { return Ok(()) };
        let session = self.session().await?;
        let given = store::give_back_unknown(session, &unknown.subscriptions, &unknown.tokens).await?;
        log::info!(claims = given; "found and gave back what an interrupted claim had taken");
        self.context.metrics.given_back.inc_by(given as u64);
        self.unknown = None;
        Ok(())
    }

    async fn session(&mut self) -> Result<&Session, tokio_postgres::Error> {
        let open = match self.session.take() {
            Some(open) if !open.is_broken() => open,
            _ => connect(&self.context.target, &SessionOptions::service(APPLICATION)).await?,
        };
        Ok(self.session.insert(open))
    }

    async fn failed(&mut self, what: &str, error: &tokio_postgres::Error) {
        log::warn!("{what}, trying again: {}", describe(error));
        if failure_of(error) != Failure::Contended {
            self.session = None;
        }
        let shutdown = self.context.shutdown.clone();
        tokio::select! {
            () = self.pause.wait() => {}
            () = shutdown.wait() => {}
        }
    }
}

/// What the database says about a batch right before it is sent.
struct Loaded {
    events: HashMap<(String, i64), Fetched>,
    held: BTreeSet<Uuid>,
    confirmed: Instant,
}

fn key_of(claim: &Claimed) -> EventKey {
    EventKey { source: claim.source.clone(), sequence: claim.sequence, received_at: claim.received_at }
}
