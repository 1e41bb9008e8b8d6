//! Conformance: the ledger under kills, isolation of receivers, bounds, and an interrupted commit.

use crate::rig::*;
use hooks_shared::push::definition::NewSubscription;
use hooks_testkit::config::ConfigFile;
use hooks_testkit::process::{Launch, Service, Signal};
use hooks_testkit::proxy::{At, Cut, Proxy};
use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::until;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn launch(file: &ConfigFile) -> Launch {
    Launch::service("hooks-push-worker").config(file.path()).env("HOOKS_SECRET_KEYS", KEYS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wk12_ten_thousand_deliveries_survive_a_kill_every_two_seconds() {
    const EVENTS: i32 = 1_000;
    const SUBSCRIPTIONS: i32 = 10;
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond_elsewhere(Script::status(200).delay(Duration::from_millis(30)));
    for n in 0..SUBSCRIPTIONS {
        rig.subscribe(&n.to_string(), &receiver.url(&format!("/{n}"))).await;
    }
    rig.many_events(EVENTS).await;
    let push = "lease: 6s, attempt_timeout: 1s, connect_timeout: 1s, margin: 2s, drain: 3s, concurrency: 64";
    let file = ConfigFile::write(&rig.yaml(push));
    let workers: RefCell<Vec<Service>> = RefCell::new((0..4).map(|_| launch(&file).start()).collect());
    let (kills, held_at_kills) = (Cell::new(0), Cell::new(0));
    let (next_kill, victim) = (Cell::new(Instant::now() + Duration::from_secs(2)), Cell::new(0));
    let total = i64::from(EVENTS * SUBSCRIPTIONS);
    until(Duration::from_secs(240), "every delivery delivered", async || {
        if Instant::now() >= next_kill.get() {
            next_kill.set(Instant::now() + Duration::from_secs(2));
            let index = victim.get();
            victim.set((index + 1) % 4);
            let killed = std::mem::replace(&mut workers.borrow_mut()[index], launch(&file).start());
            held_at_kills.set(held_at_kills.get() + kill(&rig, killed).await);
            kills.set(kills.get() + 1);
        }
        let delivered = rig.count("delivered").await;
        if delivered == total { Ok(()) } else { Err((delivered, kills.get())) }
    })
    .await;
    for worker in workers.into_inner() {
        worker.signal(Signal::Term);
        worker.wait_exit(PATIENCE).await;
    }
    let ledger = Ledger::read(&rig, &receiver).await;
    let (kills, held) = (kills.get(), held_at_kills.get());
    println!("ledger: events {EVENTS}, kills {kills}, deliveries in hand at the kills {held}, {ledger:?}");
    assert_eq!((ledger.deliveries, ledger.delivered), (total, total));
    assert_eq!(ledger.gaps, 0, "numbers without a gap");
    assert!(kills >= 1, "at least one worker was killed");
    let allowed = held + ledger.late + ledger.unsuccessful;
    assert!(ledger.duplicates <= allowed, "{} duplicates, {allowed} allowed", ledger.duplicates);
    let unaccounted = ledger.requests - ledger.attempts;
    let possible = -ledger.unsuccessful..=held;
    assert!(
        possible.contains(&unaccounted),
        "{unaccounted} requests without an attempt, {held} in hand at the kills"
    );
}

/// Kills a worker; how many deliveries it had in hand. Their leases hold for seconds yet, so nobody has taken them.
async fn kill(rig: &Rig, worker: Service) -> i64 {
    let name = worker.wait_log("claims are held under this name", PATIENCE).await;
    let name = name
        .split("worker=")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .expect("a name")
        .to_owned();
    worker.signal(Signal::Kill);
    worker.wait_exit(PATIENCE).await;
    let held = "select count(*) from deliveries where state = 'processing' and claimed_by = $1";
    rig.db.query_one(held, &[&name]).await.get(0)
}

#[derive(Debug)]
struct Ledger {
    deliveries: i64,
    delivered: i64,
    requests: i64,
    attempts: i64,
    late: i64,
    /// Attempts that a busy machine let run out of time, for example.
    unsuccessful: i64,
    duplicates: i64,
    gaps: i64,
}

impl Ledger {
    async fn read(rig: &Rig, receiver: &Receiver) -> Self {
        let row = rig
            .db
            .query_one(
                "select count(*) as deliveries, count(*) filter (where state = 'delivered') as delivered,
                     (select count(*) from attempts) as attempts,
                     (select count(*) from attempts where late) as late,
                     (select count(*) from attempts where outcome <> 'succeeded') as unsuccessful,
                     (select count(*) from (
                         select d.id from deliveries d left join attempts a on a.delivery_id = d.id
                         group by d.id, d.attempts
                         having count(a.number) <> d.attempts or max(a.number) <> d.attempts) g) as gaps
                 from deliveries",
                &[],
            )
            .await;
        let mut seen: HashMap<(String, String), i64> = HashMap::new();
        let requests = receiver.requests();
        for request in &requests {
            let event = request.header("X-Hooks-Event-Id").unwrap_or_default().to_owned();
            *seen.entry((request.path().to_owned(), event)).or_default() += 1;
        }
        Self {
            deliveries: row.get("deliveries"),
            delivered: row.get("delivered"),
            requests: requests.len() as i64,
            attempts: row.get("attempts"),
            late: row.get("late"),
            unsuccessful: row.get("unsuccessful"),
            duplicates: seen.values().map(|times| times - 1).sum(),
            gaps: row.get("gaps"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_receivers_do_not_delay_a_good_one() {
    let rig = Rig::new().await;
    let (fast, slow) = (Receiver::start().await, Receiver::start().await);
    slow.respond_elsewhere(Script::hang());
    let refusing = format!("http://127.0.0.1:{}/", hooks_testkit::port::free());
    for n in 0..20 {
        rig.subscribe(&format!("hanging {n}"), &slow.url(&format!("/{n}"))).await;
        rig.subscribe(&format!("refusing {n}"), &refusing).await;
    }
    let good = rig.subscribe("fast", &fast.url("/")).await;
    rig.many_events(1_250).await;
    rig.db
        .execute(
            "update subscription_cursors set cursor = (select last_sequence from source_heads where source = $1)
             where subscription_id = $2",
            &[&SOURCE, &good],
        )
        .await;
    let worker = rig.worker("concurrency: 64, attempt_timeout: 300s, lease: 400s").await;
    // By the time that all refusals have opened their circuits the hanging ones have whatever they can get.
    until(PATIENCE, "the bad receivers to have what they can take", async || {
        let open = "select count(*) from subscription_cursors where probe_at is not null";
        slow.in_flight() >= 20 && rig.db.query_one(open, &[]).await.get::<_, i64>(0) == 20
    })
    .await;
    let mut delays = Vec::new();
    for n in 1..=20 {
        let began = Instant::now();
        rig.events(1).await;
        fast.wait_for(n, PATIENCE).await;
        delays.push(began.elapsed());
    }
    delays.sort();
    println!(
        "50,000 deliveries owed to 40 bad receivers; a good one's event went out after {:?} (median), {:?} (slowest)",
        delays[10], delays[19]
    );
    assert_eq!(slow.hang_ups(), 0, "the hanging attempts are still the first ones");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_and_connections_stay_bounded_with_a_backlog_and_an_endless_receiver() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond_elsewhere(Script::endless(vec![b'x'; 64 << 10], Duration::from_millis(1)));
    let mut new = NewSubscription::new("one", SOURCE, &receiver.url("/"));
    new.max_in_flight = 100;
    rig.subscribe_with(new).await;
    rig.many_events(200_000).await;
    let file = ConfigFile::write(&rig.yaml("concurrency: 100"));
    let worker = launch(&file).start_ready(PATIENCE).await;
    let before = worker.rss_kib();
    let most_connections = Cell::new(0);
    until(PATIENCE * 2, "3,000 delivered", async || {
        let row = rig
            .db
            .query_one("select count(*) from pg_stat_activity where usename = 'hooks_push_worker' and datname = current_database()", &[])
            .await;
        most_connections.set(most_connections.get().max(row.get::<_, i64>(0)));
        let delivered = rig.count("delivered").await;
        if delivered >= 3_000 { Ok(()) } else { Err(delivered) }
    })
    .await;
    let after = worker.rss_kib();
    let rows: i64 =
        rig.db.query_one("select count(*) from deliveries where completed_at is null", &[]).await.get(0);
    println!(
        "memory {before} KiB -> {after} KiB, {} database connections, {rows} open rows",
        most_connections.get()
    );
    assert!(after < before + 128 * 1024, "{before} KiB -> {after} KiB");
    assert!(most_connections.get() <= 8 && rows <= 1_000, "the backlog stays in the log");
    worker.signal(Signal::Term);
    assert!(worker.wait_exit(PATIENCE).await.success());
}

#[tokio::test]
async fn a_commit_whose_outcome_is_unknown_leaves_no_claim_behind() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    rig.subscribe("one", &receiver.url("/")).await;
    rig.many_events(60).await;
    let proxy = Proxy::to_database(&rig.db.url_for("push_worker")).await;
    let mut config = rig.config("concurrency: 4");
    config.database_url = hooks_shared::Secret::new(proxy.url(&rig.db.url_for("push_worker")));
    // Cut at commits of every kind: of claims and of results, before and after the server saw them.
    for (nth, cut) in
        [(5, Cut::Before), (9, Cut::AfterForwarding), (14, Cut::AfterAnswer), (19, Cut::AfterForwarding)]
    {
        proxy.cut_when(At::commit().nth(nth), cut);
    }
    let worker = rig.start(config, |seams| seams).await;
    until(PATIENCE, "all delivered, long before any lease ends", async || {
        let delivered = rig.count("delivered").await;
        if delivered == 60 { Ok(()) } else { Err(delivered) }
    })
    .await;
    worker.stop().await;
    let late: i64 = rig.db.query_one("select count(*) from attempts where late", &[]).await.get(0);
    assert_eq!((late, receiver.requests().len()), (0, 60), "no attempt twice");
}
