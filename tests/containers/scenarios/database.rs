//! What happens to PostgreSQL happens to everybody; nobody needs a restart for it.

use crate::engine::docker;
use crate::ledger;
use crate::link;
use crate::load::{self, send_once};
use crate::report::say;
use crate::stack::Stack;
use hooks_testkit::until;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
/// For so long PostgreSQL is away at a stretch: longer than every limit that a service has for one request.
const OUTAGE: Duration = Duration::from_secs(30);

/// Under load: killed and started, stopped for half a minute, restarted. Accepted means stored, once.
pub async fn postgres_killed_stopped_and_restarted_loses_nothing() {
    let stack = Stack::new(&[]);
    stack.up(&["ingest", "subscribe", "push-worker", "inspector", "receiver"]).await;
    ledger::push_to_receiver(&stack, 20).await;
    let services = service_containers(&stack).await;
    let postgres = stack.container("postgres").await;
    let running = load::Running::start(stack.ingest(), "storm", 8, Duration::from_millis(20));

    running.more(200).await;
    link::kill(&postgres).await;
    docker(&["start", &postgres]).await;
    running.more(200).await;
    docker(&["stop", &postgres]).await;
    let stopped = Instant::now();
    until(2 * OUTAGE, "the end of the outage", async || stopped.elapsed() >= OUTAGE).await;
    docker(&["start", &postgres]).await;
    running.more(200).await;
    docker(&["restart", &postgres]).await;
    running.more(200).await;
    let outcome = running.finish().await;
    say(&outcome);
    let odd: Vec<_> = outcome.answers.keys().filter(|status| ![0, 200, 202, 503].contains(*status)).collect();
    assert!(odd.is_empty(), "nothing but 2xx and 503 is answered: {odd:?}");
    ledger::holds_every_accepted(&stack, "storm", &outcome).await;
    ledger::is_gapless(&stack).await;
    let total: usize =
        stack.psql("select count(*) from events where source = 'demo'").await.parse().expect("a number");
    ledger::until_delivered(&stack, total, 90 * SECOND).await;
    // What was under way at a stop of the database may have been received and not recorded, three times at most.
    ledger::push_balances(&stack, total, 3 * 20).await;
    for service in ["ingest", "subscribe", "push-worker"] {
        stack.until_healthy(service, 30 * SECOND).await;
    }
    assert_eq!(service_containers(&stack).await, services, "no service was restarted");
}

/// Ids and start times: a restart would change them.
async fn service_containers(stack: &Stack) -> Vec<String> {
    let mut all = Vec::new();
    for service in ["ingest", "subscribe", "push-worker"] {
        let container = stack.container(service).await;
        all.push(docker(&["inspect", "-f", "{{.Id}} {{.State.StartedAt}}", &container]).await);
    }
    all
}

/// No room for PostgreSQL: 503 and no half event; accepted again when there is room.
pub async fn a_full_disk_is_answered_503_until_there_is_room() {
    let stack = Stack::new(&["small-disk"]);
    stack.up(&["ingest", "small-disk"]).await;
    let ballast = stack.container("small-disk").await;
    let before = load::send(stack.ingest(), "before", 50, 4).await;
    let fill = "dd if=/dev/zero of=/data/ballast bs=64k status=none; dd if=/dev/zero of=/data/ballast2 bs=1k status=none; true";
    docker(&["exec", &ballast, "sh", "-c", fill]).await;

    // There is still room in the WAL segment and in the pages that exist already, so the first ones may get through.
    let running = load::Running::start(stack.ingest(), "full", 8, Duration::from_millis(5));
    until(120 * SECOND, "ingest to answer 503", async || send_once(stack.ingest(), "probe").await == 503)
        .await;
    let full = Instant::now();
    for number in 0..5 {
        assert_eq!(send_once(stack.ingest(), &format!("none-{number}")).await, 503, "there is no room");
    }
    docker(&["exec", &ballast, "rm", "/data/ballast", "/data/ballast2"]).await;
    let accepts = async || send_once(stack.ingest(), "probe").await / 100 == 2;
    until(120 * SECOND, "ingest to accept again", accepts).await;
    say(format_args!("refused for {:.1} s", full.elapsed().as_secs_f64()));
    let outcome = running.finish().await;
    let after = load::send(stack.ingest(), "after", 50, 4).await;
    say(&outcome);
    for (prefix, outcome) in [("before", &before), ("full", &outcome), ("after", &after)] {
        ledger::holds_every_accepted(&stack, prefix, outcome).await;
    }
    ledger::is_gapless(&stack).await;
    let torn = "select count(*) from events where sha256(body) <> body_sha256";
    assert_eq!(stack.psql(torn).await, "0", "half an event");
}
