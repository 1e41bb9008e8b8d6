//! Maintenance of the log: partitions ahead, retention, one at a time.

use crate::rig::{Rig, ask, final_failure, one, record, retryable, success, take};
use hooks_push_worker::app;
use hooks_push_worker::claim::claim;
use hooks_push_worker::seams::Seams;
use hooks_shared::Secret;
use hooks_shared::config::{Config, Retention, Service, parse};
use hooks_shared::db::{Session, SessionOptions, Target, connect};
use hooks_shared::maintenance::{self, Error, Outcome, Report, STATEMENTS, Settings};
use hooks_shared::push::{deliveries, subscriptions};
use hooks_shared::sealed::Keyring;
use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::proxy::{At, Proxy};
use hooks_testkit::until;
use std::path::Path;
use std::time::Duration;

const YAML: &str = "
database_url: postgres://nobody@localhost/none
retention: 30d
sources:
  short: {verifier: github, retention: 7d}
  long: {verifier: github, retention: 60d}
  brief: {verifier: github, retention: 2h}
  kept: {verifier: github, retention: forever}
  render: {verifier: github, retention: 7d}
push: {backlog_limit: 20d, history: 30d}
";

fn config() -> Config {
    parse("hooks.yaml", YAML, Path::new("."), Service::PushWorker, &|_| None).expect("a good file")
}

fn settings() -> Settings {
    Settings::from(&config())
}

fn target(url: &str) -> Target {
    Target::parse(&Secret::new(url)).expect("a URL")
}

async fn open(db: &TestDb) -> Session {
    maintenance::open(&target(&db.url_for("maintenance"))).await.expect("the maintenance role may")
}

async fn run(session: &Session) -> Report {
    match maintenance::run_once(session, &settings()).await.expect("a round of maintenance") {
        Outcome::Done(report) => report,
        Outcome::Busy => panic!("nobody else is there"),
    }
}

/// Stores `count` events of `source` that are `age` old, making the partition they need.
async fn store(db: &TestDb, source: &str, age: &str, count: i32) {
    let client = db.client().await;
    let script = format!(
        "set role hooks_owner;
         select create_events_partition(((now() - interval '{age}') at time zone 'UTC')::date);
         insert into source_heads (source) values ('{source}') on conflict do nothing;
         with head as (select last_sequence from source_heads where source = '{source}')
         insert into events (source, sequence, received_at, event_id, dedupe_key, method, target, headers, exact, body,
             body_sha256)
         select '{source}', head.last_sequence + n, now() - interval '{age}', 'evt_' || gen_random_uuid(), '', 'POST',
             '/', '', true, 'x', sha256('x')
         from head, generate_series(1, {count}) n;
         insert into event_days (source, day, first_sequence, last_sequence)
         select '{source}', ((now() - interval '{age}') at time zone 'UTC')::date, last_sequence + 1, last_sequence + {count}
         from source_heads where source = '{source}' on conflict do nothing;
         update source_heads set last_sequence = last_sequence + {count}, last_received_at = now() - interval '{age}'
         where source = '{source}';"
    );
    client.batch_execute(&script).await.expect("store events");
}

async fn count(db: &TestDb, source: &str) -> i64 {
    db.query_one("select count(*) from events where source = $1", &[&source]).await.get(0)
}

#[tokio::test]
async fn every_statement_prepares_on_the_migrated_database() {
    let db = TestDb::create().await;
    let session = open(&db).await;
    for sql in STATEMENTS {
        session.statement(*sql).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    }
}

#[tokio::test]
async fn each_source_is_kept_as_long_as_it_says_and_forever_means_it() {
    let db = TestDb::create().await;
    for (source, age) in [("short", "9 days"), ("long", "9 days"), ("short", "2 days")] {
        store(&db, source, age, 3).await;
    }
    store(&db, "long", "70 days", 3).await;
    store(&db, "kept", "400 days", 3).await;
    store(&db, "brief", "3 hours", 2).await;
    store(&db, "brief", "1 hour", 1).await;
    // Keeps that day's partition, also where three hours ago was yesterday.
    store(&db, "kept", "3 hours", 1).await;
    store(&db, "gone_from_the_file", "33 days", 3).await;
    let session = open(&db).await;
    let report = run(&session).await;
    assert_eq!(count(&db, "short").await, 3, "the older three went: {report:?}");
    assert_eq!(count(&db, "long").await, 3, "those 70 days old went");
    assert_eq!(count(&db, "kept").await, 4);
    assert_eq!(count(&db, "brief").await, 1, "cut within the day");
    assert_eq!(count(&db, "gone_from_the_file").await, 0, "the default of the top level");
    assert!(report.partitions_dropped.len() >= 2 && report.events >= 5, "{report:?}");
    let again = run(&session).await;
    assert!(again.is_empty(), "nothing is left to do: {again:?}");
}

#[tokio::test]
async fn a_dropped_day_takes_its_bounds_along_and_sequences_go_on() {
    let db = TestDb::create().await;
    store(&db, "short", "20 days", 5).await;
    store(&db, "short", "19 days", 5).await;
    let session = open(&db).await;
    run(&session).await;
    assert_eq!(count(&db, "short").await, 0);
    let days: i64 = db.query_one("select count(*) from event_days where source = 'short'", &[]).await.get(0);
    assert_eq!(days, 0);
    let head: i64 =
        db.query_one("select last_sequence from source_heads where source = 'short'", &[]).await.get(0);
    assert_eq!(head, 10, "the next number is 11");
    store(&db, "short", "0 days", 1).await;
    let next: i64 = db.query_one("select max(sequence) from events where source = 'short'", &[]).await.get(0);
    assert_eq!(next, 11);
}

#[tokio::test]
async fn partitions_follow_a_head_that_lies_a_day_ahead_of_the_clock() {
    let db = TestDb::create().await;
    db.execute("update source_heads set last_received_at = now() + interval '1 day 1 minute'", &[]).await;
    let report = run(&open(&db).await).await;
    assert_eq!(report.partitions_made.len(), 1, "{report:?}");
    db.execute("update source_heads set last_received_at = now() + interval '3000 days'", &[]).await;
    let report = run(&open(&db).await).await;
    assert_eq!(report.partitions_made.len(), 9, "the days around it, not the years between: {report:?}");
}

#[tokio::test]
async fn two_maintainers_at_once_are_one_at_a_time() {
    let db = TestDb::create().await;
    let (one, two) = (open(&db).await, open(&db).await);
    store(&db, "short", "20 days", 1).await;
    let settings = settings();
    let (a, b) = tokio::join!(maintenance::run_once(&one, &settings), maintenance::run_once(&two, &settings));
    let dropped = [a, b].map(|outcome| match outcome.expect("no error") {
        Outcome::Done(report) => report.partitions_dropped.len(),
        Outcome::Busy => 0,
    });
    assert_eq!(dropped.iter().sum::<usize>(), 1);
    let holder = db.client().await;
    holder.execute("select pg_advisory_lock($1)", &[&0x686f_6f6b_735f_6d74_i64]).await.expect("lock");
    assert!(matches!(maintenance::run_once(&one, &settings).await, Ok(Outcome::Busy)));
}

#[tokio::test]
async fn a_reader_is_not_disturbed_and_the_drop_comes_when_it_has_left() {
    let db = TestDb::create().await;
    store(&db, "short", "20 days", 2).await;
    let reader = db.client().await;
    reader.batch_execute("begin; select count(*) from events").await.expect("a reader");
    let session = open(&db).await;
    let report = run(&session).await;
    assert_eq!(report.partitions_postponed.len(), 1, "{report:?}");
    reader.batch_execute("select count(*) from events; commit").await.expect("the reader goes on");
    let pending: i64 =
        db.query_one("select count(*) from pg_inherits where inhdetachpending", &[]).await.get(0);
    assert_eq!(pending, 1, "the detach was interrupted half-way");
    let report = run(&session).await;
    assert_eq!(report.partitions_dropped.len(), 1, "{report:?}");
}

#[tokio::test]
async fn a_partition_left_detached_is_dropped_by_the_next_round() {
    let db = TestDb::create().await;
    store(&db, "short", "20 days", 2).await;
    let name: String = db
        .query_one(
            "select 'events_' || to_char((now() - interval '20 days') at time zone 'UTC', 'YYYYMMDD')",
            &[],
        )
        .await
        .get(0);
    db.execute(&format!("alter table events detach partition {name}"), &[]).await;
    let report = run(&open(&db).await).await;
    assert_eq!(report.partitions_dropped.len(), 1);
}

#[tokio::test]
async fn what_has_had_its_time_is_tidied() {
    let db = TestDb::create().await;
    let client = db.client().await;
    client
        .batch_execute(
            "insert into tokens (id, name, kind, scopes, secret_hash, ephemeral, expires_at)
             select gen_random_uuid(), 'n', 'listener', '{}', sha256(n::text::bytea), n = 1, now() - interval '2 days'
             from generate_series(1, 2) n;
             insert into replay_requests (number, source, sequence, received_at, requested_by, requested_at)
             values (1, 'a', 1, now(), 'me', now() - interval '2 hours'), (2, 'a', 1, now(), 'me', now());
             insert into service_instances values (gen_random_uuid(), 'x', '1', '', now(), now() - interval '1 hour');
             insert into listeners
             values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'a', now(), 0, now() - interval '1 hour');
             insert into handshakes (source, kind, outcome) select 'a', 'k', 'o' from generate_series(1, 25)",
        )
        .await
        .expect("rows");
    let report = run(&open(&db).await).await;
    let seen = (report.tokens, report.replay_requests, report.stale_instances, report.handshakes);
    assert_eq!(seen, (1, 1, 2, 5));
}

#[tokio::test]
async fn sign_ins_and_the_audit_are_kept_as_long_as_is_said_and_no_longer() {
    let db = TestDb::create().await;
    let client = db.client().await;
    client
        .batch_execute(
            "insert into people (id, email, name, role, password_hash)
             values ('00000000-0000-0000-0000-000000000001', 'a@example.com', 'A', 'admin', 'x');
             insert into sessions (id, person_id, secret_hash, expires_at)
             select gen_random_uuid(), '00000000-0000-0000-0000-000000000001', sha256('x'), now() + age
             from unnest(array['-1 second', '1 hour']::interval[]) age;
             insert into invites (id, code_hash, role, expires_at)
             select gen_random_uuid(), sha256(age::text::bytea), 'member', now() - age
             from unnest(array['31 days', '29 days']::interval[]) age;
             insert into pairings (id, device_hash, user_code, requested_scopes, expires_at)
             select gen_random_uuid(), sha256(age::text::bytea), age::text, '{}', now() - age
             from unnest(array['25 hours', '23 hours']::interval[]) age;
             insert into idempotency_keys (key_hash, request_hash, created_at)
             select sha256(age::text::bytea), sha256('x'), now() - age
             from unnest(array['25 hours', '23 hours']::interval[]) age;
             insert into samples (series, subject, at, value)
             select 'sequence', 'a', now() - age, 1 from unnest(array['9 days', '7 days']::interval[]) age;
             insert into audit (at, actor, action, subject)
             select now() - age, 'a', 'b', 'c' from unnest(array['91 days', '89 days']::interval[]) age",
        )
        .await
        .expect("rows");
    let kept = Settings { audit_retention: Retention::For(Duration::from_secs(90 * 86_400)), ..settings() };
    let Outcome::Done(report) = maintenance::run_once(&open(&db).await, &kept).await.expect("a round") else {
        panic!("nobody else is there")
    };
    assert_eq!((report.sign_ins, report.audit), (3, 1));
    for table in ["sessions", "invites", "pairings", "idempotency_keys", "samples", "audit"] {
        let left: i64 = db.query_one(&format!("select count(*) from {table}"), &[]).await.get(0);
        assert_eq!(left, 1, "{table}");
    }
    let forever = Settings { audit_retention: Retention::Forever, ..settings() };
    maintenance::run_once(&open(&db).await, &forever).await.expect("a round");
    assert_eq!(db.query_one("select count(*) from audit", &[]).await.get::<_, i64>(0), 1);
}

#[tokio::test]
async fn a_role_that_does_not_own_the_tables_is_told_so() {
    let db = TestDb::create().await;
    let refused = maintenance::open(&target(&db.url_for("push_worker"))).await;
    let Err(error @ Error::NotOwner { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("HOOKS_MAINTENANCE_DATABASE_URL"), "{error}");
}

#[tokio::test]
async fn the_worker_maintains_at_start_and_says_when_it_may_not() {
    for (role, note) in
        [("maintenance", ""), ("push_worker", "maintenance: off: hooks_push_worker does not own")]
    {
        let db = TestDb::create().await;
        store(&db, "short", "20 days", 1).await;
        let config = Config { database_url: Secret::new(db.url_for("push_worker")), ..config() };
        let config = Config { maintenance_url: Some(Secret::new(db.url_for(role))), ..config };
        let (trigger, shutdown) = hooks_shared::shutdown::manual();
        let seams = Seams::real(&config.push).expect("an HTTP client");
        let keyring = Keyring::parse(&Keyring::mint("k1")).expect("a key");
        let running =
            app::build(config, keyring, "127.0.0.1:0", "127.0.0.1:0", seams, shutdown).await.expect("starts");
        until(Duration::from_secs(20), "the first round", async || {
            let gone = count(&db, "short").await == 0;
            let notes = running.readiness.notes().join("; ");
            let done = if note.is_empty() { gone } else { !gone && notes.contains(note) };
            if done && running.readiness.is_ready() { Ok(()) } else { Err(notes) }
        })
        .await;
        trigger.stop();
        running.finished().await;
    }
}

#[tokio::test]
async fn a_paused_subscription_keeps_its_backlog_up_to_the_limit_and_then_loses_it_aloud() {
    let rig = Rig::new().await;
    store(&rig.db, "render", "25 days", 2).await;
    store(&rig.db, "render", "9 days", 3).await;
    let id = rig.subscribe("one", "http://127.0.0.1:9/").await;
    let operator = rig.operator().await;
    subscriptions::pause(&operator, "tester", &id, None).await.expect("paused");
    let report = run(&open(&rig.db).await).await;
    assert_eq!(
        count(&rig.db, "render").await,
        3,
        "9 days old is past retention, not past the limit: {report:?}"
    );
    assert_eq!(report.expired_backlog, 2);
    assert_eq!(subscriptions::show(&operator, &id).await.expect("there").cursor, 2);
    let told = rig.db.query_one("select event_type from events where source = 'hooks.system'", &[]).await;
    assert_eq!(told.get::<_, String>(0), "backlog.expired");
    subscriptions::resume(&operator, "tester", &id).await.expect("resumed");
    assert_eq!(take(&rig.session().await, 10).await.len(), 3, "the rest is delivered");
    let kept = run(&open(&rig.db).await).await;
    assert_eq!((kept.events, count(&rig.db, "render").await), (0, 3), "open deliveries keep their events");
}

#[tokio::test]
async fn an_open_delivery_past_the_limit_fails_as_expired() {
    let rig = Rig::new().await;
    store(&rig.db, "render", "25 days", 1).await;
    let session = rig.session().await;
    rig.subscribe("one", "http://127.0.0.1:9/").await;
    let claimed = one(claim(&session, &ask(1)).await.expect("a claim"));
    record(&session, retryable(&claimed)).await;
    run(&open(&rig.db).await).await;
    let rows = rig.db.query("select failure from deliveries", &[]).await;
    assert!(rows.is_empty() || rows[0].get::<_, Option<String>>(0).as_deref() == Some("expired"));
    assert_eq!((count(&rig.db, "render").await, take(&session, 1).await.len()), (0, 0));
}

#[tokio::test]
async fn a_drop_that_races_a_replay_leaves_the_replay_its_event() {
    let rig = Rig::new().await;
    store(&rig.db, "render", "9 days", 1).await;
    let session = rig.session().await;
    rig.subscribe("one", "http://127.0.0.1:9/").await;
    let claimed = one(claim(&session, &ask(1)).await.expect("a claim"));
    record(&session, final_failure(&claimed)).await;
    let url = rig.db.url_for("inspector");
    let proxy = Proxy::to_database(&url).await;
    let gate = Gate::closed();
    proxy.hold_when(At::commit(), gate.clone());
    let operator =
        connect(&target(&proxy.url(&url)), &SessionOptions::service("test")).await.expect("a session");
    let maintenance = async {
        until(Duration::from_secs(20), "the replay to be about to commit", async || gate.waiting() == 1)
            .await;
        let report = run(&open(&rig.db).await).await;
        assert_eq!(
            (report.partitions_dropped.len(), report.partitions_postponed.len()),
            (0, 1),
            "{report:?}"
        );
        gate.open();
    };
    let (replayed, ()) = tokio::join!(deliveries::replay(&operator, "tester", &claimed.id), maintenance);
    replayed.expect("the replay was first");
    let report = run(&open(&rig.db).await).await;
    assert_eq!(report.partitions_dropped, [], "{report:?}");
    assert_eq!(count(&rig.db, "render").await, 1, "the event is back in the log");
    let again = one(claim(&session, &ask(1)).await.expect("a claim"));
    record(&session, success(&again)).await;
    let report = run(&open(&rig.db).await).await;
    assert_eq!((report.partitions_dropped.len(), count(&rig.db, "render").await), (1, 0), "now it may go");
}

#[tokio::test]
async fn ended_deliveries_go_with_their_attempts_when_their_time_has_come() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let claimed = rig.one_claimed(&session).await;
    record(&session, success(&claimed)).await;
    assert_eq!(run(&open(&rig.db).await).await.deliveries, 0);
    rig.db
        .execute(
            "update deliveries set created_at = created_at - interval '31 days',
                 completed_at = completed_at - interval '31 days'",
            &[],
        )
        .await;
    assert_eq!(run(&open(&rig.db).await).await.deliveries, 1);
    let left: i64 = rig.db.query_one("select count(*) from attempts", &[]).await.get(0);
    assert_eq!(left, 0);
}
