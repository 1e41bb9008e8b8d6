//! Push-workers, scaled and killed.

use crate::ledger;
use crate::link;
use crate::load;
use crate::report::say;
use crate::stack::Stack;
use hooks_testkit::until;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);
const EVENTS: usize = 5_000;
/// Each after another few seconds' deliveries; all of them in the first half.
const KILLS: usize = 8;
/// `max_in_flight` of the subscription: what one kill can leave unrecorded at most.
const IN_FLIGHT: u32 = 50;

/// Four workers, 5,000 deliveries, and every few seconds one of the workers ends without a word; then one worker,
/// then four again. Everything is delivered, and the books balance.
pub async fn four_push_workers_killed_in_turn_deliver_everything() {
    let stack = Stack::new(&[]);
    stack.up(&["ingest", "push-worker", "inspector", "receiver"]).await;
    scale(&stack, 4).await;
    ledger::push_to_receiver(&stack, IN_FLIGHT).await;
    // Slow enough that workers are killed in mid-request.
    ledger::receiver_answers(&stack, Duration::from_millis(150), 200).await;
    let began = Instant::now();
    let (ingest, sent) = (stack.ingest(), tokio::spawn);
    let sending = sent(async move { load::send(ingest, "many", EVENTS, 16).await });

    let mut kills = 0;
    while kills < KILLS {
        until_some_more_are_delivered(&stack).await;
        let workers = stack.containers("push-worker").await;
        link::kill(&workers[kills % workers.len()]).await;
        kills += 1;
        scale(&stack, 4).await;
    }
    let outcome = sending.await.expect("the provider");
    ledger::until_delivered(&stack, EVENTS, 120 * SECOND).await;
    say(format_args!("{EVENTS} delivered in {:.0} s over {kills} kills", began.elapsed().as_secs_f64()));
    ledger::holds_every_accepted(&stack, "many", &outcome).await;
    ledger::is_gapless(&stack).await;
    ledger::push_balances(&stack, EVENTS, kills * IN_FLIGHT as usize).await;

    // Down to one and up again: what the stopped ones held was given back, so nothing waits for longer than a lease.
    load::send(stack.ingest(), "fewer", 300, 8).await;
    let fewer = Instant::now();
    scale(&stack, 1).await;
    ledger::until_delivered(&stack, EVENTS + 300, 60 * SECOND).await;
    say(format_args!(
        "300 more delivered in {:.0} s while three workers left",
        fewer.elapsed().as_secs_f64()
    ));
    scale(&stack, 4).await;
    load::send(stack.ingest(), "more", 300, 8).await;
    ledger::until_delivered(&stack, EVENTS + 600, 60 * SECOND).await;
    let waited = "select coalesce(max(extract(epoch from a.started_at - d.created_at)), 0) < 6 + 3 from attempts a \
                  join deliveries d on d.id = a.delivery_id join events e using (source, sequence) \
                  where a.number = 1 and e.delivery_id like 'fewer-%'";
    assert_eq!(stack.psql(waited).await, "t", "a delivery waited for longer than a lease");
    ledger::push_balances(&stack, EVENTS + 600, kills * IN_FLIGHT as usize).await;
}

async fn until_some_more_are_delivered(stack: &Stack) {
    let sql = "select count(*) from deliveries where state = 'delivered'";
    let count = async || stack.psql(sql).await.parse::<usize>().expect("a number");
    let before = count().await;
    until(60 * SECOND, "more deliveries", async || count().await >= before + EVENTS / 2 / KILLS).await;
}

async fn scale(stack: &Stack, workers: usize) {
    let scale = format!("push-worker={workers}");
    stack
        .compose(&["up", "-d", "--no-build", "--no-recreate", "--no-deps", "--scale", &scale, "push-worker"])
        .await;
}
