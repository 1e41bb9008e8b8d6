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
/// One for each part of the events, when half of the part is delivered.
const KILLS: usize = 8;
const PART: usize = EVENTS / KILLS;
/// `max_in_flight` of the subscription: what one kill can leave unrecorded at most.
const IN_FLIGHT: u32 = 50;

/// Four workers, 5,000 deliveries, and every few seconds one of the workers ends without a word; then one worker,
/// then four again. Everything is delivered, and the books balance.
pub async fn four_push_workers_killed_in_turn_deliver_everything() {
    let stack = Stack::new(&[]);
    stack.up(&["ingest", "push-worker", "inspector", "receiver"]).await;
    scale(&stack, 4).await;
    ledger::push_to_receiver(&stack, IN_FLIGHT).await;
    // Slow enough that workers are killed in mid-request, and each part takes a few seconds.
    ledger::receiver_answers(&stack, Duration::from_millis(300), 200).await;
    let (began, mut outcome) = (Instant::now(), load::Outcome::default());
    for part in 0..KILLS {
        let prefix = format!("many-{part}");
        let ingest = stack.ingest();
        let sending = tokio::spawn(async move { load::send(ingest, &prefix, PART, 16).await });
        until_delivered_at_least(&stack, part * PART + PART / 2).await;
        let workers = stack.containers("push-worker").await;
        link::kill(&workers[part % workers.len()]).await;
        scale(&stack, 4).await;
        outcome.add(sending.await.expect("the provider"));
    }
    ledger::until_delivered(&stack, EVENTS, 120 * SECOND).await;
    say(format_args!("{EVENTS} delivered in {:.0} s over {KILLS} kills", began.elapsed().as_secs_f64()));
    ledger::holds_every_accepted(&stack, "many", &outcome).await;
    ledger::is_gapless(&stack).await;
    ledger::push_balances(&stack, EVENTS, KILLS * IN_FLIGHT as usize).await;

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
    ledger::push_balances(&stack, EVENTS + 600, KILLS * IN_FLIGHT as usize).await;
}

async fn until_delivered_at_least(stack: &Stack, count: usize) {
    let sql = "select count(*) from deliveries where state = 'delivered'";
    until(60 * SECOND, &format!("{count} deliveries"), async || {
        let delivered: usize = stack.psql(sql).await.parse().expect("a number");
        if delivered >= count { Ok(()) } else { Err(format!("{delivered}")) }
    })
    .await;
}

async fn scale(stack: &Stack, workers: usize) {
    let scale = format!("push-worker={workers}");
    stack
        .compose(&["up", "-d", "--no-build", "--no-recreate", "--no-deps", "--scale", &scale, "push-worker"])
        .await;
}
