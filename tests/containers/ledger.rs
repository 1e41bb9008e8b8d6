//! What must be true of the log and of the deliveries, whatever was broken meanwhile.

use crate::load::Outcome;
use crate::stack::Stack;
use hooks_testkit::http;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Every accepted event is in the log exactly once.
pub async fn holds_every_accepted(stack: &Stack, prefix: &str, outcome: &Outcome) {
    let sql =
        format!("select delivery_id from events where source = 'demo' and delivery_id like '{prefix}-%'");
    let rows = stack.psql(&sql).await;
    let mut stored: BTreeMap<&str, usize> = BTreeMap::new();
    for id in rows.lines() {
        *stored.entry(id).or_default() += 1;
    }
    let missing: Vec<_> = outcome.accepted.iter().filter(|id| !stored.contains_key(id.as_str())).collect();
    assert!(missing.is_empty(), "{} accepted events are not in the log: {missing:?}", missing.len());
    let twice: Vec<_> = stored.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "stored twice: {twice:?}");
}

/// Sequences of the source are 1, 2, 3, … without a gap, and the head is the last of them.
pub async fn is_gapless(stack: &Stack) {
    let sql = "select count(*) = max(sequence) and max(sequence) = (select last_sequence from source_heads where \
               source = 'demo') from events where source = 'demo'";
    assert_eq!(stack.psql(sql).await, "t", "the numbers of the log have a gap, or the head is not the last");
}

/// Every event of `demo` from now on goes to the receiver, at most `max_in_flight` at once.
pub async fn push_to_receiver(stack: &Stack, max_in_flight: u32) {
    let limit = max_in_flight.to_string();
    stack.operate(&["push", "add", "demo", "http://receiver:8090/hook", "--max-in-flight", &limit]).await;
}

/// One request that reached the receiver.
#[derive(Debug, Clone)]
pub struct Received {
    pub event: String,
    pub traceparent: String,
    pub tracestate: String,
}

/// What the receiver has got so far.
pub async fn received(stack: &Stack) -> Vec<Received> {
    let answer = http::get(stack.receiver(), "/ledger", &[]).await;
    let read = |line: &str| {
        let entry: Value = serde_json::from_str(line).expect("a line of the receiver's ledger");
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let [event, traceparent, tracestate] = ["event", "traceparent", "tracestate"].map(text);
        Received { event, traceparent, tracestate }
    };
    answer.text().lines().map(read).collect()
}

/// Changes how the receiver answers.
pub async fn receiver_answers(stack: &Stack, delay: Duration, status: u16) {
    let path = format!("/control?delay={}&status={status}", delay.as_millis());
    let put = http::request("PUT", &path, &[], b"");
    assert_eq!(http::exchange(stack.receiver(), &put).await.status, 200);
}

/// Waits until `count` deliveries of the subscription are delivered and none is open.
pub async fn until_delivered(stack: &Stack, count: usize, deadline: Duration) {
    let sql = "select count(*) filter (where state = 'delivered') || ' ' || count(*) filter (where state <> 'delivered') \
               from deliveries";
    stack.until_psql(deadline, sql, &format!("{count} 0")).await;
}

/// The books of push: each event was received at least once; more often only where an attempt says so; the attempts
/// of each delivery are numbered without a gap, and one owner's success ended it. `excused` is how many requests
/// may have ended unrecorded because their worker was killed.
pub async fn push_balances(stack: &Stack, expected: usize, excused: usize) {
    let received = received(stack).await;
    let distinct: BTreeSet<&str> = received.iter().map(|one| one.event.as_str()).collect();
    assert_eq!(distinct.len(), expected, "events that the receiver has seen");
    let recorded: usize = stack.psql("select count(*) from attempts").await.parse().expect("a number");
    let unrecorded = received.len().saturating_sub(recorded);
    assert!(unrecorded <= excused, "{unrecorded} requests are in no attempt, at most {excused} may be");
    let wrong = stack
        .psql(
            "select count(*) from deliveries d left join lateral (select count(*) as n, max(number) as last, \
               count(*) filter (where outcome = 'succeeded' and not late) as won from attempts a \
               where a.delivery_id = d.id) a on true \
             where d.state <> 'delivered' or a.n <> d.attempts or a.last <> d.attempts or a.won <> 1",
        )
        .await;
    assert_eq!(wrong, "0", "deliveries whose history does not add up");
}
