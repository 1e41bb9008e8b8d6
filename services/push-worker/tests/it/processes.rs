//! Conformance: workers that die, stop, stall and meet each other (services/push-worker/README.md, "Conformance").

use crate::rig::*;
use hooks_push_worker::seams::Seams;
use hooks_shared::Clock;
use hooks_shared::push::definition::NewSubscription;
use hooks_shared::push::subscriptions;
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::gate::Gate;
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::process::{Launch, Service, Signal};
use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::until;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use time::OffsetDateTime;

/// How to start a worker as a process.
fn launch(file: &ConfigFile, binary: &str, fault: &str) -> Launch {
    Launch::service(binary).config(file.path()).env("HOOKS_SECRET_KEYS", KEYS).env("FAULT", fault)
}

fn real(file: &ConfigFile) -> Launch {
    launch(file, "hooks-push-worker", "")
}

fn faulty(file: &ConfigFile, fault: &str) -> Launch {
    launch(file, "faulty-push-worker", fault)
}

#[tokio::test]
async fn wk8_a_kill_between_send_and_record_sends_the_same_event_again() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let gate = Gate::closed();
    receiver.respond_in_turn("/", [Script::status(200).after(gate.clone()), Script::status(200)]);
    let subscription = rig.subscribe("one", &receiver.url("/")).await;
    rig.events(1).await;
    let file = ConfigFile::write(&rig.yaml(""));
    let first = real(&file).start_ready(PATIENCE).await;
    until(PATIENCE, "the request to be under way", async || gate.waiting() == 1).await;
    first.signal(Signal::Kill);
    first.wait_exit(PATIENCE).await;
    let id = rig.delivery_of(&subscription).await.expect("a delivery");
    assert_eq!(rig.delivery(&id).await.counts(), ("processing", 0, 0));
    rig.pass(61.0).await;
    let second = real(&file).start_ready(PATIENCE).await;
    let (_, row) = rig.settled(&subscription, "delivered", 1).await;
    assert_eq!((row.counts(), rig.numbers(&id).await), (("delivered", 1, 1), vec![1]));
    let ids: Vec<_> =
        receiver.requests().iter().map(|r| r.header("X-Hooks-Event-Id").map(str::to_owned)).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids[0].is_some() && ids[0] == ids[1], "{ids:?}");
    second.signal(Signal::Term);
    assert!(second.wait_exit(PATIENCE).await.success());
}

#[tokio::test]
async fn wk9_at_sigterm_what_is_under_way_ends_and_what_is_not_sent_goes_back() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let gate = Gate::closed();
    receiver.respond("/", Script::status(200).after(gate.clone()));
    for n in 0..5 {
        rig.subscribe(&format!("fast {n}"), &receiver.url("/")).await;
    }
    for n in 0..20 {
        rig.subscribe(&format!("slow {n}"), &format!("http://{n}.slow/")).await;
    }
    rig.events(1).await;
    let file = ConfigFile::write(&rig.yaml("concurrency: 100"));
    let worker = faulty(&file, "unsent").start_ready(PATIENCE).await;
    until(PATIENCE, "5 under way and 20 claimed", async || {
        gate.waiting() == 5 && rig.count("processing").await == 25
    })
    .await;
    worker.signal(Signal::Term);
    until(PATIENCE, "20 given back at once", async || rig.count("pending").await == 20).await;
    assert_eq!(rig.count("processing").await, 5);
    gate.open();
    assert!(worker.wait_exit(Duration::from_secs(30)).await.success());
    assert_eq!((rig.count("delivered").await, rig.count("pending").await), (5, 20));
    let attempts: i64 = rig.db.query_one("select count(*) from attempts", &[]).await.get(0);
    assert_eq!((attempts, receiver.requests().len()), (5, 5));
}

#[tokio::test]
async fn wk9b_at_the_drain_deadline_what_hangs_is_cut_and_recorded() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond("/", Script::hang());
    let subscription = rig.subscribe("one", &receiver.url("/")).await;
    rig.events(1).await;
    let worker = rig.worker("drain: 1s").await;
    receiver.wait_for(1, PATIENCE).await;
    worker.stop().await;
    let (id, row) = rig.settled(&subscription, "pending", 1).await;
    assert_eq!((row.counts(), rig.history(&id).await.len()), (("pending", 1, 1), 1));
}

#[tokio::test]
async fn wk10_a_workers_clock_decides_nothing_about_leases() {
    for minutes in [5, -5] {
        let rig = Rig::new().await;
        let receiver = Receiver::start().await;
        let held = rig.one_claimed(&rig.session().await).await;
        let (wrong, _) = Clock::fixed(OffsetDateTime::now_utc() + time::Duration::minutes(minutes));
        let worker = rig.worker_with("", |seams| Seams { clock: wrong, ..seams }).await;
        let other = rig.subscribe("other", &receiver.url("/")).await;
        for n in 1..=3 {
            rig.events(1).await;
            receiver.wait_for(n, PATIENCE).await;
        }
        let row = rig.delivery(&held.id).await;
        assert_eq!((row.counts(), row.token), (("processing", 0, 0), Some(held.token)), "not early");
        rig.pass(61.0).await;
        until(PATIENCE, "the ended lease to be taken over", async || {
            let row = rig.delivery(&held.id).await;
            if row.token != Some(held.token) { Ok(()) } else { Err(row) }
        })
        .await;
        worker.stop().await;
        assert!(rig.delivery_of(&other).await.is_some());
    }
}

#[tokio::test]
async fn wk11_a_restart_of_the_database_in_mid_batch_loses_nothing() {
    let cluster = Cluster::start(Options::default()).await;
    let rig = Rig::with(TestDb::on(&cluster).await).await;
    let receiver = Receiver::start().await;
    receiver.respond("/", Script::status(200).delay(Duration::from_millis(20)));
    rig.subscribe("one", &receiver.url("/")).await;
    rig.many_events(400).await;
    let mut config = rig.config("lease: 4s, attempt_timeout: 1s, connect_timeout: 1s, margin: 1s, drain: 2s");
    config.listen = hooks_shared::config::Listen::Off;
    let one = rig.start(config.clone(), |seams| seams).await;
    let two = rig.start(config, |seams| seams).await;
    for (requests, mode) in [(50, StopMode::Fast), (150, StopMode::Immediate)] {
        receiver.wait_for(requests, PATIENCE).await;
        cluster.stop(mode).await;
        cluster.start_again().await;
    }
    until(PATIENCE, "all delivered", async || {
        let delivered = rig.count("delivered").await;
        if delivered == 400 { Ok(()) } else { Err(delivered) }
    })
    .await;
    let odd = rig
        .db
        .query(
            "select d.id from deliveries d left join attempts a on a.delivery_id = d.id
             group by d.id, d.attempts
             having count(a.number) <> d.attempts or max(a.number) is distinct from d.attempts",
            &[],
        )
        .await;
    assert!(odd.is_empty(), "histories without a gap");
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn wk13_a_cap_on_requests_in_flight_holds_across_workers() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond("/", Script::status(200).delay(Duration::from_millis(2500)));
    rig.subscribe("one", &receiver.url("/")).await;
    rig.many_events(100).await;
    let push = "lease: 6s, attempt_timeout: 3s, connect_timeout: 1s, margin: 1s, drain: 3s";
    let (one, two) = (rig.worker(push).await, rig.worker(push).await);
    until(PATIENCE, "all delivered", async || rig.count("delivered").await == 100).await;
    assert!(receiver.most_in_flight() <= 10, "{}", receiver.most_in_flight());
    assert_eq!(receiver.requests().len(), 100, "no duplicate");
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn wk14_an_event_that_kills_its_worker_fails_alone() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let mut new = NewSubscription::new("one", SOURCE, &receiver.url("/"));
    new.max_in_flight = 1000;
    rig.subscribe_with(new).await;
    for n in 0..100 {
        let body = if n == 40 { "poison".to_owned() } else { format!("{n}") };
        rig.event(body.as_bytes(), &[]).await;
    }
    let file = ConfigFile::write(&rig.yaml(""));
    let launch = faulty(&file, "abort");
    let worker: RefCell<Service> = RefCell::new(launch.start());
    let deaths = Cell::new(0);
    until(PATIENCE * 3, "99 delivered and one failed", async || {
        if worker.borrow().try_status().is_some() {
            deaths.set(deaths.get() + 1);
            // As if the lease had run out meanwhile.
            rig.pass(61.0).await;
            worker.replace(launch.start());
        }
        let seen = (rig.count("delivered").await, rig.count("failed").await);
        if seen == (99, 1) { Ok(()) } else { Err((seen, deaths.get())) }
    })
    .await;
    let row =
        rig.db.query_one("select id, failure, lost_claims from deliveries where state = 'failed'", &[]).await;
    assert_eq!(
        (row.get::<_, String>("failure").as_str(), row.get::<_, i32>("lost_claims")),
        ("lost_claims", 10)
    );
    let deaths = deaths.get();
    assert!((11..=13).contains(&deaths), "once with its batch and ten times alone: {deaths}");
    let id: String = row.get("id");
    assert_eq!(rig.history(&id).await, [], "no request of it ever ended");
}

#[tokio::test]
async fn wk15_an_ordered_subscription_is_served_in_order_by_four_workers() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond_with("/", |request| {
        let sequence: u64 = request.header("X-Hooks-Sequence").and_then(|s| s.parse().ok()).unwrap_or(0);
        let attempt: u64 = request.header("X-Hooks-Attempt").and_then(|a| a.parse().ok()).unwrap_or(0);
        // Every third event fails once, one fails for good.
        let fails = (sequence.is_multiple_of(3) && attempt == 1) || sequence == 20;
        Script::status(if fails { 500 } else { 200 })
    });
    let mut new = NewSubscription::new("one", SOURCE, &receiver.url("/"));
    new.ordered = true;
    new.retry = Some(serde_json::json!({"schedule": ["10ms", "10ms"]}));
    rig.subscribe_with(new).await;
    rig.many_events(40).await;
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(rig.worker("").await);
    }
    until(PATIENCE, "39 delivered and one parked", async || {
        let seen = (rig.count("delivered").await, rig.count("failed").await);
        if seen == (39, 1) { Ok(()) } else { Err(seen) }
    })
    .await;
    for worker in workers {
        worker.stop().await;
    }
    assert_eq!(receiver.most_in_flight(), 1);
    let sequences: Vec<u64> = receiver
        .requests()
        .iter()
        .map(|r| r.header("X-Hooks-Sequence").and_then(|s| s.parse().ok()).expect("a sequence"))
        .collect();
    assert!(sequences.is_sorted(), "{sequences:?}");
    assert_eq!(sequences.iter().collect::<BTreeSet<_>>().len(), 40);
    assert_eq!(sequences.iter().filter(|s| **s == 20).count(), 3, "its whole allowance, then the next");
}

#[tokio::test]
async fn wk16_nothing_is_sent_after_a_delete_or_pause_that_met_an_open_fan_out() {
    use hooks_push_worker::store::{self, Limits, Pick};
    for deletes in [true, false] {
        let rig = Rig::new().await;
        let subscription = rig.subscribe("one", "http://127.0.0.1:9/").await;
        rig.events(3).await;
        let (session, operator) = (rig.session().await, rig.operator().await);
        let low = OffsetDateTime::UNIX_EPOCH;
        store::begin(&session).await.expect("begin");
        let pick = Pick { protocol: 1, paused_sources: &[], skip: &[], limit: 1, only_proven: false, low };
        let picked = store::pick(&session, &pick).await.expect("picked");
        let day = picked[0].day.expect("a day");
        let most = [(subscription.clone(), 3)].into();
        let limits = Limits { protocol: 1, worker: "test", lease: LEASE, budget: 3, most: &most, low };
        let ids: Vec<String> = (0..3).map(|n| format!("dlv_{n}")).collect();
        let tokens: Vec<_> = ids.iter().map(|_| uuid::Uuid::new_v4()).collect();
        let subscriptions = [subscription.clone()];
        let born = store::fan_out(&session, &limits, &subscriptions, day, &ids, &tokens).await.expect("born");
        assert_eq!(born.len(), 3);
        let act = async {
            match deletes {
                true => subscriptions::delete(&operator, "tester", &subscription).await.map(|_| ()),
                false => subscriptions::pause(&operator, "tester", &subscription, None).await,
            }
        };
        let commit = async {
            // The operator waits for us; only then does the fan-out commit.
            until(PATIENCE, "the operator to wait", async || {
                let waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
                !rig.db.query(waiting, &[]).await.is_empty()
            })
            .await;
            store::commit(&session).await.expect("commit");
        };
        let (acted, ()) = tokio::join!(act, commit);
        acted.expect("the operator's action");
        let sendable = store::confirm(&session, &ids, &tokens).await.expect("asked");
        assert!(sendable.is_empty(), "none may be sent");
        let expected = if deletes { "cancelled" } else { "processing" };
        assert_eq!(rig.count(expected).await, 3);
        assert_eq!(take(&session, 10).await, []);
        rig.pass(61.0).await;
        assert_eq!(take(&session, 10).await, [], "not even after the lease");
    }
}

#[tokio::test]
async fn an_older_build_beside_a_newer_one_claims_nothing() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let file = ConfigFile::write(&rig.yaml(""));
    let old = faulty(&file, "old").start();
    old.wait_log("claim protocol", PATIENCE).await;
    let admin = old.admin().await;
    let ready = hooks_testkit::http::request("GET", "/readyz", &[("Connection", "close")], b"");
    let answer = hooks_testkit::http::exchange(admin, &ready).await;
    assert!(answer.status == 503 && answer.text().contains("protocol"), "{}", answer.text());
    rig.subscribe("one", &receiver.url("/")).await;
    rig.events(20).await;
    let new = rig.worker("").await;
    until(PATIENCE, "all delivered", async || rig.count("delivered").await == 20).await;
    new.stop().await;
    rig.events(1).await;
    let workers: BTreeMap<String, i64> = rig
        .db
        .query("select worker, count(*) from attempts group by worker", &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    assert_eq!(workers.len(), 1, "{workers:?}");
    assert_eq!(
        rig.count("pending").await + rig.count("processing").await,
        0,
        "the old one takes nothing alone"
    );
}

#[tokio::test]
async fn start_up_refuses_what_cannot_work_and_names_both_keys() {
    let rig = Rig::new().await;
    let cases = [
        ("lease: 40s", "push.attempt_timeout"),
        ("drain: 61s", "push.lease"),
        ("concurrency: 0", "push.concurrency"),
        ("subscriptions: {x: {source: render, url: 'https://example.com', signing: morse}}", "morse"),
    ];
    for (push, named) in cases {
        let file = ConfigFile::write(&rig.yaml(push));
        let worker = real(&file).start();
        assert!(!worker.wait_exit(PATIENCE).await.success());
        assert!(worker.logs().contains(named), "{push}: {}", worker.logs());
    }
    let file = ConfigFile::write(&rig.yaml(""));
    let worker = Launch::service("hooks-push-worker").config(file.path()).start();
    assert!(!worker.wait_exit(PATIENCE).await.success());
    let logs = worker.logs();
    assert!(logs.contains("HOOKS_SECRET_KEYS") && logs.contains("HOOKS_SECRET_KEYS_FILE"), "{logs}");
}
