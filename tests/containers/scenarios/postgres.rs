//! PostgreSQL as people have it: replicated, pooled, encrypted, older, with passwords that change.

use crate::engine::{docker, try_docker};
use crate::ledger;
use crate::link;
use crate::load::{self, send_once};
use crate::report::say;
use crate::stack::{Stack, image};
use hooks_testkit::sse::Stream;
use hooks_testkit::until;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
const SERVICES: [&str; 5] = ["ingest", "subscribe", "push-worker", "inspector", "receiver"];

/// With synchronous replication the promoted standby has every accepted event, and the services follow it.
pub async fn a_promoted_synchronous_standby_has_every_accepted_event() {
    let stack = Stack::new(&["standby"]);
    stack.up(&["postgres", "standby"]).await;
    stack.up(&SERVICES).await;
    ledger::push_to_receiver(&stack, 20).await;
    stack.psql("alter system set synchronous_standby_names = '*'").await;
    stack.psql("select pg_reload_conf()").await;
    stack.until_psql(30 * SECOND, "select sync_state from pg_stat_replication", "sync").await;

    let running = load::Running::start(stack.ingest(), "sync", 8, Duration::from_millis(20));
    running.more(300).await;
    link::kill(&stack.container("postgres").await).await;
    promote(&stack).await;
    let promoted = Instant::now();
    let accepts = async || send_once(stack.ingest(), "sync-probe-0").await / 100 == 2;
    until(60 * SECOND, "ingest to accept at the promoted standby", accepts).await;
    say(format_args!("accepts {:.1} s after the promotion", promoted.elapsed().as_secs_f64()));
    running.more(300).await;
    let outcome = running.finish().await;
    say(&outcome);

    let stack = stack.database_is("standby");
    ledger::holds_every_accepted(&stack, "sync", &outcome).await;
    let total: usize =
        stack.psql("select count(*) from events where source = 'demo'").await.parse().expect("a number");
    ledger::until_delivered(&stack, total, 90 * SECOND).await;
    for service in ["ingest", "subscribe", "push-worker", "inspector"] {
        stack.until_healthy(service, 30 * SECOND).await;
    }
}

/// With asynchronous replication events can be lost with the primary; their numbers are never given again, and a
/// listener that has seen them is told.
pub async fn a_promoted_asynchronous_standby_gives_no_number_twice() {
    let stack = Stack::new(&["standby"]);
    stack.up(&["postgres", "standby"]).await;
    stack.up(&SERVICES).await;
    let (primary, standby) = (stack.container("postgres").await, stack.container("standby").await);
    load::send(stack.ingest(), "kept", 20, 4).await;
    let caught_up =
        "select coalesce(bool_and(replay_lsn = pg_current_wal_lsn()), false) from pg_stat_replication";
    stack.until_psql(30 * SECOND, caught_up, "t").await;
    link::cut(&standby, &stack.address(&primary).await).await;
    load::send(stack.ingest(), "lost", 30, 4).await;
    let seen: i64 = head(&stack).await;
    assert_eq!(seen, 50);
    link::kill(&primary).await;
    link::heal(&standby).await;
    promote(&stack).await;

    let accepts = async || send_once(stack.ingest(), "after-0").await / 100 == 2;
    until(60 * SECOND, "ingest to accept at the promoted standby", accepts).await;
    let stack = stack.database_is("standby");
    let next = head(&stack).await;
    assert!(next > seen, "number {next} was given before: the lost primary had come to {seen}");
    say(format_args!("numbers go on at {next}"));

    // What an operator runs where the server does not tell its timeline; here it only raises once more.
    let said = stack.try_hooksctl(&["doctor", "--after-failover"]).await;
    let said = said.unwrap_or_else(|error| error);
    assert!(said.contains("every source's number was raised by 1,000,000"), "{said}");
    assert!(head(&stack).await >= next + 1_000_000, "doctor raises the heads");
    load::send(stack.ingest(), "later", 5, 1).await;
    assert!(head(&stack).await > next + 1_000_000);
    let token = stack.token().await;
    let mut stream = Stream::open(stack.subscribe(), "/subscribe/demo?since=50", &token).await;
    let first = stream.next_message(30 * SECOND).await;
    assert!(first.sequence() > seen, "a listener's cursor never meets a number for the second time");
}

async fn head(stack: &Stack) -> i64 {
    stack
        .psql("select last_sequence from source_heads where source = 'demo'")
        .await
        .parse()
        .expect("a number")
}

async fn promote(stack: &Stack) {
    let standby = stack.container("standby").await;
    docker(&[
        "exec",
        "-u",
        "postgres",
        &standby,
        "psql",
        "-U",
        "hooks",
        "-d",
        "hooks",
        "-Atc",
        "select pg_promote()",
    ])
    .await;
}

/// Through a pooler in transaction mode everything works, LISTEN on its own connection included.
pub async fn through_pgbouncer_everything_works() {
    let stack = Stack::new(&["pgbouncer"]).set("HOOKS_CONFIG_FILE", "./tests/containers/hooks-pooled.yaml");
    stack.up(&["pgbouncer"]).await;
    stack.up(&SERVICES).await;
    everything_works(&stack, 400).await;
    // The pooler really stood between them.
    let pooler = stack.address(&stack.container("pgbouncer").await).await;
    let direct = format!(
        "select string_agg(distinct application_name, ',' order by application_name) from pg_stat_activity \
         where usename in ('hooks_ingest', 'hooks_subscribe', 'hooks_push_worker', 'hooks_inspector') and client_addr <> '{pooler}'"
    );
    let direct = stack.psql(&direct).await;
    say(format_args!("straight to the database: {direct}"));
    assert!(
        direct.split(',').all(|name| name.contains("listen")),
        "only LISTEN goes around the pooler: {direct}"
    );
    // doctor tells who listens through the pooler, and is content with whoever goes around it.
    let doctor = async |more: &[&str]| {
        let mut args = vec!["run", "--rm", "-T", "--no-deps"];
        let pooled = "HOOKS_DATABASE_URL=postgres://hooks:development-only-postgres@pgbouncer:6432/hooks";
        args.extend([&["-e", pooled], more, &["hooksctl", "doctor"]].concat());
        stack.try_compose(&args).await.unwrap_or_else(|error| error)
    };
    let said = doctor(&[]).await;
    assert!(said.contains("a transaction pooler in between?"), "{said}");
    let around = "HOOKS_LISTEN_DATABASE_URL=postgres://hooks:development-only-postgres@postgres:5432/hooks";
    let said = doctor(&["-e", around]).await;
    assert!(said.contains("a notification comes back in"), "{said}");
    // What was pooled for one must not have leaked its settings into an open transaction of another.
    let stuck = "select count(*) from pg_stat_activity where state like 'idle in transaction%' and state_change < now() - interval '5 seconds'";
    assert_eq!(stack.psql(stuck).await, "0");
}

/// Only TLS, with an authority of its own: every mode that should connect does, every other says why not.
pub async fn tls_is_verified_as_far_as_sslmode_says() {
    let stack = Stack::new(&["tls"]);
    stack.up(&SERVICES).await;
    everything_works(&stack, 50).await;
    let plain = "select count(*) from pg_stat_ssl s join pg_stat_activity a using (pid) where not s.ssl and a.client_addr is not null";
    assert_eq!(stack.psql(plain).await, "0", "a connection without TLS");
    let url = |host: &str, options: &str| {
        format!("HOOKS_DATABASE_URL=postgres://hooks:development-only-postgres@{host}:5432/hooks?{options}")
    };
    let ca = "sslrootcert=/certificates/ca.crt";
    let attempts = [
        (url("postgres", &format!("sslmode=verify-full&{ca}")), true),
        (url("elsewhere", &format!("sslmode=verify-ca&{ca}")), true),
        (url("elsewhere", "sslmode=require"), true),
        (url("elsewhere", "sslmode=prefer"), true),
        (url("elsewhere", &format!("sslmode=verify-full&{ca}")), false),
        (url("postgres", "sslmode=verify-full"), false),
        (url("postgres", "sslmode=disable"), false),
    ];
    for (url, connects) in attempts {
        let args = ["run", "--rm", "-T", "--no-deps", "-e", &url, "hooksctl", "migrate", "--check"];
        let said = stack.try_compose(&args).await;
        let mode = url.split_once('@').map_or("", |(_, rest)| rest);
        assert_eq!(said.is_ok(), connects, "{mode}: {said:?}");
        if let Err(error) = said {
            say(format_args!("{mode}: {}", error.lines().last().unwrap_or_default()));
        }
    }
}

/// The oldest server that is supported.
pub async fn postgresql_15_works() {
    let stack = Stack::new(&[]).set("POSTGRES_IMAGE", &image("postgres15"));
    stack.up(&SERVICES).await;
    assert!(stack.psql("show server_version").await.starts_with("15."));
    everything_works(&stack, 200).await;
}

/// Passwords change in their files and in the database; nothing is restarted, and nothing but new connections notices.
pub async fn passwords_rotate_by_file_without_a_restart() {
    let stack = Stack::new(&["password-files"]);
    stack.up(&SERVICES).await;
    everything_works(&stack, 50).await;
    let services = stack.compose(&["ps", "-q", "ingest", "subscribe", "push-worker", "inspector"]).await;
    let running = load::Running::start(stack.ingest(), "rotated", 4, Duration::from_millis(20));

    let change = "for role in ingest subscribe push_worker inspector maintenance; do echo second-$role > /run/passwords/$role; done";
    docker(&["exec", &stack.container("passwords").await, "sh", "-c", change]).await;
    stack.hooksctl(&["migrate"]).await;
    // Every connection that was made with the old password ends here.
    stack
        .psql("select count(pg_terminate_backend(pid)) from pg_stat_activity where usename like 'hooks\\_%'")
        .await;
    running.more(200).await;
    let outcome = running.finish().await;
    say(&outcome);
    assert!(outcome.answers.keys().all(|status| [200, 202, 503].contains(status)), "{:?}", outcome.answers);
    ledger::holds_every_accepted(&stack, "rotated", &outcome).await;
    let total: usize =
        stack.psql("select count(*) from events where source = 'demo'").await.parse().expect("a number");
    ledger::until_delivered(&stack, total, 60 * SECOND).await;
    for service in ["ingest", "subscribe", "push-worker", "inspector"] {
        stack.until_healthy(service, 30 * SECOND).await;
    }
    assert_eq!(
        stack.compose(&["ps", "-q", "ingest", "subscribe", "push-worker", "inspector"]).await,
        services
    );
    // By name: over loopback the image's own rules ask for no password.
    let refused = "postgres://hooks_ingest:first-ingest@postgres:5432/hooks";
    let postgres = stack.container("postgres").await;
    assert!(
        try_docker(&["exec", &postgres, "psql", refused, "-c", "select 1"], &[]).await.is_err(),
        "the old password"
    );
}

/// Events come in, go out over a stream that was open before, and are pushed.
async fn everything_works(stack: &Stack, count: usize) {
    say(format_args!("PostgreSQL {}", stack.psql("show server_version").await));
    ledger::push_to_receiver(stack, 20).await;
    let token = stack.token().await;
    let mut stream = Stream::open(stack.subscribe(), "/subscribe/demo?since=latest", &token).await;
    let outcome = load::send(stack.ingest(), "works", count, 8).await;
    assert_eq!(
        outcome.accepted.len(),
        outcome.answers.values().sum::<usize>(),
        "accepted at once: {:?}",
        outcome.answers
    );
    let messages = stream.collect_until(count, 60 * SECOND).await;
    let numbers: Vec<i64> = messages.iter().map(hooks_testkit::sse::Message::sequence).collect();
    assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1), "in order, without a gap");
    ledger::until_delivered(stack, count, 60 * SECOND).await;
    ledger::holds_every_accepted(stack, "works", &outcome).await;
    ledger::push_balances(stack, count, 0).await;
    stack.hooksctl(&["verify"]).await;
    traces_go_on(stack, count).await;
}

/// The trace that a provider began goes on to the receiver with every attempt, unaltered; and what is no trace is a
/// header like others.
async fn traces_go_on(stack: &Stack, before: usize) {
    let traces = [
        (
            "traced",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "vendor=t61rcWkgMzE,other=00f067aa",
        ),
        ("untraced", "00-not-a-trace", ""),
    ];
    ledger::receiver_answers(stack, Duration::ZERO, 503).await;
    for (id, parent, state) in traces {
        let headers = [("traceparent", parent), ("tracestate", state)];
        assert_eq!(load::send_with(stack.ingest(), id, &headers).await, 202, "{id}");
    }
    let attempts = async |parent: &str| {
        let all = ledger::received(stack).await.into_iter();
        all.filter(|one| one.traceparent == parent).collect::<Vec<_>>()
    };
    for (id, parent, _) in traces {
        let tried = async || attempts(parent).await.len() >= 2;
        until(60 * SECOND, &format!("two attempts of {id}"), tried).await;
    }
    ledger::receiver_answers(stack, Duration::ZERO, 200).await;
    ledger::until_delivered(stack, before + traces.len(), 60 * SECOND).await;
    for (id, parent, state) in traces {
        for attempt in attempts(parent).await {
            assert_eq!(attempt.tracestate, state, "{id}");
        }
    }
}
