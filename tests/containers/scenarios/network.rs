//! Hosts that lose each other: packets vanish, and later they arrive again.

use crate::ledger;
use crate::link;
use crate::load::{self, send_once};
use crate::report::say;
use crate::stack::Stack;
use hooks_testkit::sse::{Item, Next, Stream};
use hooks_testkit::until;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Away from the database ingest answers 503 within its own limit, and accepts again without a restart.
pub async fn ingest_cut_off_answers_503_and_accepts_again() {
    let stack = Stack::new(&[]);
    stack.up(&["ingest"]).await;
    let (ingest, postgres) = (stack.container("ingest").await, stack.container("postgres").await);
    let database = stack.address(&postgres).await;
    let before = load::send(stack.ingest(), "before", 20, 4).await;

    link::cut(&ingest, &database).await;
    for number in 0..3 {
        let asked = Instant::now();
        let status = send_once(stack.ingest(), &format!("during-{number}")).await;
        assert_eq!(status, 503, "what cannot be stored is not accepted");
        assert!(asked.elapsed() < 8 * SECOND, "answered after {:?}, the limit is 4 s", asked.elapsed());
    }
    let complaint = stack.admin("ingest", 9080, "/readyz").await.expect("an answer");
    assert!(complaint.contains("database"), "/readyz says why: {complaint}");

    link::heal(&ingest).await;
    let healed = Instant::now();
    let accepted = async || send_once(stack.ingest(), "during-0").await / 100 == 2;
    until(20 * SECOND, "ingest to accept again", accepted).await;
    say(format_args!("accepts again {:.1} s after the link is back", healed.elapsed().as_secs_f64()));
    let after = load::send(stack.ingest(), "after", 20, 4).await;
    ledger::holds_every_accepted(&stack, "before", &before).await;
    ledger::holds_every_accepted(&stack, "after", &after).await;
    ledger::is_gapless(&stack).await;
    let unchanged = stack.container("ingest").await;
    assert_eq!(unchanged, ingest, "the same container, never restarted");
}

/// A listener of a subscribe that loses its database gets every event once the link is back.
pub async fn subscribe_cut_off_loses_no_event() {
    let stack = Stack::new(&[]);
    stack.up(&["ingest", "subscribe"]).await;
    let (subscribe, postgres) = (stack.container("subscribe").await, stack.container("postgres").await);
    let database = stack.address(&postgres).await;
    let token = stack.token().await;
    let mut stream = Stream::open(stack.subscribe(), "/subscribe/demo", &token).await;
    load::send(stack.ingest(), "before", 5, 1).await;
    stream.collect_until(5, 20 * SECOND).await;

    link::cut(&subscribe, &database).await;
    load::send(stack.ingest(), "during", 200, 8).await;
    let red =
        async || stack.admin("subscribe", 9081, "/readyz").await.is_ok_and(|said| said.contains("database"));
    until(60 * SECOND, "/readyz of subscribe to say that the database is away", red).await;

    link::heal(&subscribe).await;
    let healed = Instant::now();
    let mut last = 5;
    while last < 205 {
        match stream.try_next(30 * SECOND).await {
            Next::Item(Item::Message(message)) => {
                assert_eq!(message.sequence(), last + 1, "in order, without a gap");
                last += 1;
            }
            Next::Item(Item::Comment(_)) => {}
            // Clients reconnect with their cursor.
            Next::End(_) => {
                let path = format!("/subscribe/demo?since={last}");
                stream = Stream::open(stack.subscribe(), &path, &token).await;
            }
            Next::Nothing => panic!("nothing for 30 s after event {last}"),
        }
    }
    say(format_args!("caught up {:.1} s after the link is back", healed.elapsed().as_secs_f64()));
    stack.until_healthy("subscribe", 30 * SECOND).await;
}

/// A worker that holds claims and can reach its receiver, but not the database: another takes over when its leases
/// end, what it comes back with is recorded as late, and it goes on working without a restart.
pub async fn a_push_worker_cut_off_with_claims_is_relieved_and_recovers() {
    let stack = Stack::new(&[]);
    stack.up(&["ingest", "push-worker", "inspector", "receiver"]).await;
    let cut = stack.container("push-worker").await;
    let database = stack.address(&stack.container("postgres").await).await;
    ledger::push_to_receiver(&stack, 20).await;
    ledger::receiver_answers(&stack, Duration::from_millis(1500), 200).await;
    load::send(stack.ingest(), "cut", 120, 8).await;
    let busy = "select claimed_by from deliveries where state = 'processing' group by 1 having count(*) > 4";
    let name = until(30 * SECOND, "the worker to hold claims", async || {
        stack.try_psql(busy).await.ok().filter(|found| !found.is_empty())
    })
    .await;
    link::cut(&cut, &database).await;

    let relieved = Instant::now();
    stack
        .compose(&["up", "-d", "--no-build", "--no-recreate", "--scale", "push-worker=2", "push-worker"])
        .await;
    ledger::until_delivered(&stack, 120, 120 * SECOND).await;
    say(format_args!(
        "the second worker had delivered the rest {:.1} s after the cut",
        relieved.elapsed().as_secs_f64()
    ));
    link::heal(&cut).await;
    let healed = Instant::now();
    let late = format!("select count(*) > 0 from attempts where late and worker = '{name}'");
    stack.until_psql(60 * SECOND, &late, "t").await;
    say(format_args!(
        "its late results were recorded {:.1} s after the link was back",
        healed.elapsed().as_secs_f64()
    ));
    ledger::push_balances(&stack, 120, 20).await;

    // Alone again, it works as before.
    ledger::receiver_answers(&stack, Duration::ZERO, 200).await;
    for other in stack.containers("push-worker").await {
        if other != cut {
            link::kill(&other).await;
        }
    }
    load::send(stack.ingest(), "again", 50, 4).await;
    ledger::until_delivered(&stack, 170, 60 * SECOND).await;
    ledger::push_balances(&stack, 170, 20).await;
    assert_eq!(stack.containers("push-worker").await, [cut], "the same container, never restarted");
}
