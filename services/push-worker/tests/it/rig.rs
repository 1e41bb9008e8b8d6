//! What the tests of the worker have in common: events, subscriptions, sessions, a worker in this process.

use hooks_push_worker::app::{self, Running};
use hooks_push_worker::backoff::Because;
use hooks_push_worker::claim::{Ask, Batch, Unproven, claim};
use hooks_push_worker::outcome::{Outcome, Verdict};
use hooks_push_worker::seams::Seams;
use hooks_push_worker::store::{self, Claimed, Recorded, Row};
use hooks_shared::Secret;
use hooks_shared::config::{Config, Service, parse};
use hooks_shared::db::{PROTOCOL_VERSION, Session, SessionOptions, Target, connect};
use hooks_shared::event::encode_headers;
use hooks_shared::push::definition::{NewSubscription, Start};
use hooks_shared::push::destination::{Policy, SystemResolver};
use hooks_shared::push::subscriptions::{self, Desk};
use hooks_shared::sealed::Keyring;
use hooks_shared::shutdown::{self, ShutdownTrigger};
use hooks_testkit::db::TestDb;
use hooks_testkit::until;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const SOURCE: &str = "render";
/// One key for all tests: processes get it by `HOOKS_SECRET_KEYS`.
pub const KEYS: &str = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
/// The lease of the conformance table.
pub const LEASE: Duration = Duration::from_secs(60);
/// The first wait of the default schedule.
pub const FIRST_WAIT: f64 = 5.0;

pub fn keyring() -> Keyring {
    Keyring::parse(&Secret::new(KEYS)).expect("a key")
}

pub fn desk() -> Desk {
    let policy = Policy::parse(&["loopback".to_owned()]).expect("a policy");
    Desk { actor: "tester".into(), keyring: keyring(), policy, resolver: Arc::new(SystemResolver) }
}

/// A migrated database with one source.
pub struct Rig {
    pub db: TestDb,
}

impl Rig {
    pub async fn new() -> Self {
        Self::with(TestDb::create().await).await
    }

    pub async fn with(db: TestDb) -> Self {
        db.execute("insert into source_heads (source) values ($1) on conflict do nothing", &[&SOURCE]).await;
        Self { db }
    }

    /// A connection of its own, as the worker's role.
    pub async fn session(&self) -> Session {
        self.session_as("push_worker").await
    }

    /// A connection of its own, as operators have it.
    pub async fn operator(&self) -> Session {
        self.session_as("inspector").await
    }

    async fn session_as(&self, role: &str) -> Session {
        let target = Target::parse(&Secret::new(self.db.url_for(role))).expect("a URL");
        connect(&target, &SessionOptions::service("test")).await.expect("a connection")
    }

    /// A subscription from the beginning of the log.
    pub async fn subscribe(&self, name: &str, url: &str) -> String {
        self.subscribe_with(NewSubscription::new(name, SOURCE, url)).await
    }

    pub async fn subscribe_with(&self, new: NewSubscription) -> String {
        let new = NewSubscription { start: Start::After(0), ..new };
        let created = subscriptions::create(&self.operator().await, &desk(), &new).await;
        created.unwrap_or_else(|error| panic!("{}: {error}", new.name)).subscription.id
    }

    /// Stores `count` events with a small body.
    pub async fn events(&self, count: i32) {
        for body in 0..count {
            self.event(format!("{{\"n\":{body}}}").as_bytes(), &[("Content-Type", "application/json")]).await;
        }
    }

    /// Stores `count` events in one statement.
    pub async fn many_events(&self, count: i32) {
        let made = "with head as (
                 update source_heads set last_sequence = last_sequence + $2, last_received_at = now()
                 where source = $1 returning last_sequence - $2 as before),
             day as (
                 insert into event_days (source, day, first_sequence)
                 select $1, (now() at time zone 'UTC')::date, before + 1 from head on conflict do nothing)
             insert into events (source, sequence, received_at, event_id, dedupe_key, method, target, headers, exact,
                 body, body_sha256)
             select $1, before + n, now(), 'evt_' || lpad((before + n)::text, 26, '0'), '', 'POST', '/', '', true,
                 convert_to('{\"n\":' || n || '}', 'UTF8'), ''
             from head, generate_series(1, $2) n";
        self.db.execute(made, &[&SOURCE, &i64::from(count)]).await;
    }

    /// Stores one event; its sequence.
    pub async fn event(&self, body: &[u8], headers: &[(&str, &str)]) -> i64 {
        let headers = encode_headers(headers);
        let row = self
            .db
            .query_one(
                "with head as (
                     update source_heads set last_sequence = last_sequence + 1, last_received_at = clock_timestamp()
                     where source = $1 returning last_sequence as sequence, last_received_at as at),
                 day as (
                     insert into event_days (source, day, first_sequence)
                     select $1, (at at time zone 'UTC')::date, sequence from head on conflict do nothing)
                 insert into events (source, sequence, received_at, event_id, dedupe_key, method, target, headers,
                     exact, body, body_sha256)
                 select $1, sequence, at, 'evt_' || lpad(sequence::text, 26, '0'), '', 'POST', '/ingest/render', $2,
                     true, $3, sha256($3)
                 from head returning sequence",
                &[&SOURCE, &headers, &body],
            )
            .await;
        row.get(0)
    }

    /// `count` subscriptions, each with one delivery that is due: claimed and given back.
    pub async fn due(&self, count: usize) -> Vec<Claimed> {
        for n in 0..count {
            self.subscribe(&format!("due {n}"), "http://127.0.0.1:9/").await;
        }
        self.events(1).await;
        let session = self.session().await;
        let claims = claim(&session, &ask(count)).await.expect("a claim").claims;
        assert_eq!(claims.len(), count);
        give_back(&session, &claims).await;
        claims
    }

    /// One subscription with one delivery, claimed by `session`.
    pub async fn one_claimed(&self, session: &Session) -> Claimed {
        self.subscribe("one", "http://127.0.0.1:9/").await;
        self.events(1).await;
        one(claim(session, &ask(1)).await.expect("a claim"))
    }

    /// Moves leases and due times into the past, as if so many seconds had gone by.
    pub async fn pass(&self, seconds: f64) {
        self.db
            .execute(
                "update deliveries set claim_expires_at = claim_expires_at - $1::float8 * interval '1 second',
                     next_attempt_at = next_attempt_at - $1::float8 * interval '1 second'
                 where state in ('pending', 'processing')",
                &[&seconds],
            )
            .await;
    }

    pub async fn delivery(&self, id: &str) -> Delivery {
        let row = self
            .db
            .query_one(
                "select state, attempts, cycle_attempts, claim_token, lost_claims, failure, due_because,
                     extract(epoch from claim_expires_at - clock_timestamp())::float8 as lease_left,
                     extract(epoch from next_attempt_at - clock_timestamp())::float8 as due_in,
                     next_attempt_at, completed_at
                 from deliveries where id = $1",
                &[&id],
            )
            .await;
        Delivery {
            state: row.get("state"),
            attempts: row.get("attempts"),
            cycle: row.get("cycle_attempts"),
            token: row.get("claim_token"),
            lost_claims: row.get("lost_claims"),
            failure: row.get("failure"),
            due_because: row.get("due_because"),
            lease_left: row.get("lease_left"),
            due_in: row.get("due_in"),
            due_at: row.get("next_attempt_at"),
            completed_at: row.get("completed_at"),
        }
    }

    /// Number, outcome and lateness of each attempt.
    pub async fn history(&self, id: &str) -> Vec<(i32, String, bool)> {
        let rows = self
            .db
            .query(
                "select number, outcome, late from attempts where delivery_id = $1 order by number",
                &[&id],
            )
            .await;
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    }

    /// The numbers of the attempts.
    pub async fn numbers(&self, id: &str) -> Vec<i32> {
        self.history(id).await.into_iter().map(|(number, ..)| number).collect()
    }

    /// The one delivery of a subscription.
    pub async fn delivery_of(&self, subscription: &str) -> Option<String> {
        let rows =
            self.db.query("select id from deliveries where subscription_id = $1", &[&subscription]).await;
        rows.first().map(|row| row.get(0))
    }

    /// Waits until the one delivery of a subscription is in `state`.
    pub async fn settled(&self, subscription: &str, state: &str, attempts: i32) -> (String, Delivery) {
        until(PATIENCE, &format!("{subscription} to be {state}"), async || {
            let id = self.delivery_of(subscription).await.ok_or("no delivery yet".to_owned())?;
            let delivery = self.delivery(&id).await;
            let there = delivery.state == state && delivery.attempts >= attempts;
            if there { Ok((id, delivery)) } else { Err(format!("{delivery:?}")) }
        })
        .await
    }

    pub async fn count(&self, state: &str) -> i64 {
        self.db.query_one("select count(*) from deliveries where state = $1", &[&state]).await.get(0)
    }

    pub fn yaml(&self, push: &str) -> String {
        format!(
            "database_url: {}\nsources:\n  {SOURCE}: {{verifier: github}}\npush: {{allow_destinations: [loopback], {push}}}\n",
            self.db.url_for("push_worker")
        )
    }

    pub fn config(&self, push: &str) -> Config {
        let read = parse("hooks.yaml", &self.yaml(push), Path::new("."), Service::PushWorker, &|_| None);
        read.unwrap_or_else(|error| panic!("{error}"))
    }

    /// A worker in this process.
    pub async fn worker(&self, push: &str) -> Worker {
        self.worker_with(push, |seams| seams).await
    }

    pub async fn worker_with(&self, push: &str, change: impl FnOnce(Seams) -> Seams) -> Worker {
        self.start(self.config(push), change).await
    }

    pub async fn start(&self, config: Config, change: impl FnOnce(Seams) -> Seams) -> Worker {
        let seams = change(Seams::real(&config.push).expect("an HTTP client"));
        let (trigger, shutdown) = shutdown::manual();
        let running = app::build(config, keyring(), "127.0.0.1:0", "127.0.0.1:0", seams, shutdown).await;
        Worker { running: running.expect("the worker starts"), trigger }
    }
}

/// A worker in this process; stopped when dropped.
pub struct Worker {
    pub running: Running,
    pub trigger: ShutdownTrigger,
}

impl Worker {
    pub async fn stop(self) {
        self.trigger.stop();
        self.running.finished().await;
    }
}

/// A delivery row as the tests look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub state: String,
    pub attempts: i32,
    pub cycle: i32,
    pub token: Option<uuid::Uuid>,
    pub lost_claims: i32,
    pub failure: Option<String>,
    pub due_because: String,
    pub lease_left: Option<f64>,
    pub due_in: f64,
    pub due_at: OffsetDateTime,
    pub completed_at: Option<OffsetDateTime>,
}

impl Delivery {
    /// State, attempts, attempts of the cycle.
    pub fn counts(&self) -> (&str, i32, i32) {
        (&self.state, self.attempts, self.cycle)
    }

    /// Due after the first wait of the schedule, give or take jitter and the time the test took.
    pub fn is_due_by_the_first_wait(&self) -> bool {
        self.due_in > FIRST_WAIT * 0.9 - 4.0 && self.due_in <= FIRST_WAIT * 1.1
    }
}

/// A claim of up to `budget`, as a worker with nothing in hand asks for it.
pub fn ask(budget: usize) -> Ask {
    Ask {
        protocol: PROTOCOL_VERSION,
        worker: "test".into(),
        lease: LEASE,
        budget,
        only_proven: false,
        unproven: Unproven { holding: HashSet::new(), more: usize::MAX },
        may_reclaim: true,
        max_lost_claims: 10,
        paused_sources: Vec::new(),
        skip: Vec::new(),
        low: OffsetDateTime::UNIX_EPOCH,
    }
}

pub async fn take(session: &Session, budget: usize) -> Vec<Claimed> {
    claim(session, &ask(budget)).await.expect("a claim").claims
}

pub fn one(batch: Batch) -> Claimed {
    let [claimed] = <[Claimed; 1]>::try_from(batch.claims).unwrap_or_else(|all| panic!("not one: {all:?}"));
    claimed
}

pub async fn give_back(session: &Session, claims: &[Claimed]) {
    let (ids, tokens): (Vec<_>, Vec<_>) = claims.iter().map(|c| (c.id.clone(), c.token)).unzip();
    assert_eq!(store::give_back(session, &ids, &tokens).await.expect("give back"), claims.len());
}

pub fn result(claim: &Claimed, outcome: Outcome, verdict: Verdict) -> Row {
    Row {
        delivery: claim.id.clone(),
        token: claim.token,
        age: Duration::ZERO,
        duration: Duration::from_millis(12),
        outcome,
        status: None,
        error: None,
        url: "http://127.0.0.1:9/".into(),
        response: None,
        verdict,
    }
}

pub fn success(claim: &Claimed) -> Row {
    result(claim, Outcome::Succeeded, Verdict::Delivered)
}

/// A failure after which the delivery is due again by the first wait.
pub fn retryable(claim: &Claimed) -> Row {
    let wait = Duration::from_secs_f64(FIRST_WAIT);
    result(claim, Outcome::HttpError, Verdict::Retry(wait, Because::Schedule))
}

pub fn final_failure(claim: &Claimed) -> Row {
    result(claim, Outcome::HttpError, Verdict::Failed("exhausted"))
}

/// Records one result the way the recorder does.
pub async fn record(session: &Session, row: Row) -> Recorded {
    let mut recorded = store::record(session, PROTOCOL_VERSION, "test", &[row]).await.expect("recorded");
    recorded.pop().expect("one result")
}
