//! Conformance: operators' replays and other actions (services/push-worker/README.md, "Conformance").

use crate::rig::*;
use hooks_push_worker::claim::claim;
use hooks_push_worker::outcome::{Outcome, judge};
use hooks_push_worker::store::Claimed;
use hooks_shared::config::RetrySchedule;
use hooks_shared::db::Session;
use hooks_shared::push::deliveries::{self, Filter};
use hooks_shared::push::error::OperatorError;
use hooks_shared::push::event_replay::{Push, To, replay_event};
use hooks_shared::push::{audit, subscriptions};
use serde_json::json;

fn schedule(attempts: u32) -> RetrySchedule {
    RetrySchedule::from_value(&json!({"max_attempts": attempts, "initial": "5s"})).expect("a schedule")
}

/// Claims the one delivery again and again, as time passes, and lets every attempt fail.
async fn spend(rig: &Rig, session: &Session, attempts: u32) -> Claimed {
    let schedule = schedule(attempts);
    loop {
        rig.pass(100_000.0).await;
        let claimed = one(claim(session, &ask(1)).await.expect("a claim"));
        let verdict = judge(Outcome::HttpError, &schedule, claimed.cycle_attempts as u32 + 1, None);
        let is_last = hooks_push_worker::attempt::is_failure(&verdict);
        record(session, result(&claimed, Outcome::HttpError, verdict)).await;
        if is_last {
            return claimed;
        }
    }
}

/// A delivery that failed after five attempts.
async fn failed() -> (Rig, Session, String) {
    let rig = Rig::new().await;
    let session = rig.session().await;
    rig.subscribe("one", "http://127.0.0.1:9/").await;
    rig.events(1).await;
    let id = spend(&rig, &session, 5).await.id;
    assert_eq!(rig.delivery(&id).await.counts(), ("failed", 5, 5));
    (rig, session, id)
}

#[tokio::test]
async fn rp1_a_replay_begins_a_new_cycle_and_keeps_the_history() {
    let (rig, _, id) = failed().await;
    rig.db.execute("update deliveries set completed_at = completed_at - interval '1 hour'", &[]).await;
    deliveries::replay(&rig.operator().await, "tester", &id).await.expect("replayed");
    let row = rig.delivery(&id).await;
    assert_eq!((row.counts(), row.completed_at, row.failure.clone()), (("pending", 5, 0), None, None));
    assert!(row.due_in <= 0.0 && row.due_in > -10.0, "due now: {row:?}");
    assert_eq!(rig.numbers(&id).await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn rp2_of_two_operators_at_once_one_wins() {
    assert_eq!(replays_at_once(2).await, 1);
}

#[tokio::test]
async fn rp3_of_six_operators_at_once_one_wins() {
    assert_eq!(replays_at_once(6).await, 1);
}

async fn replays_at_once(operators: usize) -> usize {
    let (rig, _, id) = failed().await;
    let mut sessions = Vec::new();
    for _ in 0..operators {
        sessions.push(rig.operator().await);
    }
    let barrier = tokio::sync::Barrier::new(operators);
    let all = sessions.iter().map(async |session| {
        barrier.wait().await;
        deliveries::replay(session, "tester", &id).await
    });
    let results = futures_util::future::join_all(all).await;
    for refused in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(refused, OperatorError::NotReplayable { state } if state == "pending"), "{refused}");
    }
    assert_eq!((rig.numbers(&id).await.len(), rig.delivery(&id).await.counts()), (5, ("pending", 5, 0)));
    let rows = audit::list(&sessions[0], Some(&id), None, 10).await.expect("audit");
    assert_eq!(rows.len(), 1, "one audit row for the one that won");
    results.iter().filter(|result| result.is_ok()).count()
}

#[tokio::test]
async fn rp4_a_replayed_delivery_can_be_claimed_at_that_instant() {
    let (rig, session, id) = failed().await;
    deliveries::replay(&rig.operator().await, "tester", &id).await.expect("replayed");
    let claimed = one(claim(&session, &ask(1)).await.expect("a claim"));
    assert!(claimed.id == id && claimed.replayed && claimed.cycle_attempts == 0);
}

#[tokio::test]
async fn rp5_only_a_failed_delivery_can_be_replayed() {
    let rig = Rig::new().await;
    let (session, operator) = (rig.session().await, rig.operator().await);
    let claimed = rig.one_claimed(&session).await;
    for (state, row) in [("processing", None), ("pending", Some(retryable(&claimed))), ("delivered", None)] {
        match (state, row) {
            ("delivered", _) => {
                rig.pass(100.0).await;
                let again = one(claim(&session, &ask(1)).await.expect("a claim"));
                record(&session, success(&again)).await;
            }
            (_, Some(row)) => drop(record(&session, row).await),
            _ => {}
        }
        let before = rig.delivery(&claimed.id).await;
        let refused = deliveries::replay(&operator, "tester", &claimed.id).await.expect_err("refused");
        assert!(matches!(&refused, OperatorError::NotReplayable { state: s } if s == state), "{refused}");
        assert_eq!(refused.code(), "delivery_not_replayable");
        let after = rig.delivery(&claimed.id).await;
        assert_eq!((after.counts(), after.due_at), (before.counts(), before.due_at));
    }
    let missing = deliveries::replay(&operator, "tester", "dlv_nothing").await.expect_err("refused");
    assert_eq!(missing.code(), "delivery_not_found");
}

#[tokio::test]
async fn rp6_a_replay_grants_a_whole_schedule_again() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    rig.subscribe("one", "http://127.0.0.1:9/").await;
    rig.events(1).await;
    let id = spend(&rig, &session, 3).await.id;
    deliveries::replay(&rig.operator().await, "tester", &id).await.expect("replayed");
    spend(&rig, &session, 3).await;
    assert_eq!(rig.delivery(&id).await.counts(), ("failed", 6, 3));
    assert_eq!(rig.numbers(&id).await, (1..=6).collect::<Vec<_>>());
}

#[tokio::test]
async fn rp7_three_workers_across_a_replay_get_three_numbers_and_the_newest_decides() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let first = rig.one_claimed(&session).await;
    rig.pass(61.0).await;
    let second = one(claim(&session, &ask(1)).await.expect("a claim"));
    record(&session, final_failure(&second)).await;
    deliveries::replay(&rig.operator().await, "tester", &first.id).await.expect("replayed");
    let third = one(claim(&session, &ask(1)).await.expect("a claim"));
    assert!(!record(&session, success(&first)).await.owner);
    assert_eq!(rig.delivery(&first.id).await.counts(), ("processing", 2, 0));
    assert!(record(&session, success(&third)).await.owner);
    assert_eq!(rig.delivery(&first.id).await.counts(), ("delivered", 3, 1));
    assert_eq!(rig.numbers(&first.id).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_replay_of_an_event_that_is_gone_says_so() {
    let (rig, _, id) = failed().await;
    rig.db.execute("delete from events", &[]).await;
    let refused = deliveries::replay(&rig.operator().await, "tester", &id).await.expect_err("refused");
    assert_eq!(refused.code(), "event_expired");
    assert_eq!(rig.delivery(&id).await.counts(), ("failed", 5, 5));
}

#[tokio::test]
async fn a_bulk_replay_plans_first_and_then_does_what_it_planned() {
    let rig = Rig::new().await;
    let (session, operator) = (rig.session().await, rig.operator().await);
    let subscription = rig.subscribe("one", "http://127.0.0.1:9/").await;
    rig.many_events(10).await;
    for claimed in take(&session, 10).await {
        record(&session, final_failure(&claimed)).await;
    }
    let filter = Filter { subscription: Some(subscription), ..Filter::default() };
    let plan = deliveries::plan_replay(&operator, &filter).await.expect("a plan");
    assert!(plan.count == 10 && plan.oldest.is_some() && plan.newest >= plan.oldest, "{plan:?}");
    assert_eq!(rig.count("failed").await, 10, "a plan changes nothing");
    let other = Filter { status: Some(500), ..filter.clone() };
    assert_eq!(deliveries::plan_replay(&operator, &other).await.expect("a plan").count, 0);
    let mut seen = 0;
    let done =
        deliveries::replay_where(&operator, "tester", &filter, |so_far| seen = so_far).await.expect("done");
    assert_eq!((done.count, seen, rig.count("pending").await), (10, 10, 10));
    let rows = audit::list(&operator, Some("deliveries"), None, 10).await.expect("audit");
    assert_eq!(rows.iter().map(|row| row.affected).collect::<Vec<_>>(), [10]);
}

#[tokio::test]
async fn a_cancelled_delivery_is_not_sent_and_only_a_pending_one_can_be() {
    let rig = Rig::new().await;
    let (session, operator) = (rig.session().await, rig.operator().await);
    let due = rig.due(1).await;
    deliveries::cancel(&operator, "tester", &due[0].id).await.expect("cancelled");
    assert_eq!(take(&session, 1).await, []);
    let refused = deliveries::cancel(&operator, "tester", &due[0].id).await.expect_err("refused");
    assert!(matches!(refused, OperatorError::NotCancellable { state } if state == "cancelled"));
}

#[tokio::test]
async fn an_event_replay_begins_hastens_makes_or_leaves_alone() {
    let rig = Rig::new().await;
    let (session, operator) = (rig.session().await, rig.operator().await);
    let claimed = rig.one_claimed(&session).await;
    let to = To { push: Push::All, listeners: true };
    let replay = async || replay_event(&operator, "tester", SOURCE, claimed.sequence, &to).await;
    assert!(matches!(replay().await, Err(OperatorError::UnderWay)), "under way");
    record(&session, retryable(&claimed)).await;
    replay().await.expect("hastened");
    let row = rig.delivery(&claimed.id).await;
    assert!(row.due_in <= 0.0 && row.cycle == 1, "due now, in the same cycle: {row:?}");
    let again = one(claim(&session, &ask(1)).await.expect("a claim"));
    record(&session, success(&again)).await;
    replay().await.expect("a new cycle");
    assert_eq!(rig.delivery(&claimed.id).await.counts(), ("pending", 2, 0));
    let late = rig.subscribe("late", "http://127.0.0.1:9/late").await;
    rig.db.execute("update subscription_cursors set cursor = 1 where subscription_id = $1", &[&late]).await;
    let replayed = replay().await.expect("made");
    assert_eq!(replayed.deliveries.len(), 2);
    assert!(rig.delivery_of(&late).await.is_some());
    let requests: i64 = rig.db.query_one("select count(*) from replay_requests", &[]).await.get(0);
    assert_eq!(requests, 3, "once for each replay that was done");
    let none = replay_event(&operator, "tester", SOURCE, 99, &to).await.expect_err("no such event");
    assert_eq!(none.code(), "event_not_found");
}

#[tokio::test]
async fn a_subscription_lives_through_its_operators_actions() {
    let rig = Rig::new().await;
    let operator = rig.operator().await;
    let id = rig.subscribe("one", "http://127.0.0.1:9/").await;
    let taken = hooks_shared::push::definition::NewSubscription::new("one", SOURCE, "http://127.0.0.1:9/");
    let refused = subscriptions::create(&operator, &desk(), &taken).await.expect_err("taken");
    assert_eq!(refused.code(), "name_taken");
    let nowhere =
        hooks_shared::push::definition::NewSubscription::new("two", "nowhere", "http://127.0.0.1:9/");
    assert_eq!(
        subscriptions::create(&operator, &desk(), &nowhere).await.expect_err("no source").code(),
        "unknown_source"
    );
    let patch = serde_json::from_value(json!({"max_in_flight": 3, "rate": 2.0})).expect("a patch");
    let changed = subscriptions::update(&operator, &desk(), &id, &patch).await.expect("updated");
    assert_eq!((changed.max_in_flight, changed.rate), (3, Some(2.0)));
    let old = subscriptions::show(&operator, &id).await.expect("there");
    let new =
        subscriptions::rotate_secret(&operator, &desk(), &id, None, std::time::Duration::from_secs(60)).await;
    assert!(new.expect("rotated").expose().starts_with("whsec_") && old.previous_secret_until.is_none());
    assert!(subscriptions::show(&operator, &id).await.expect("there").previous_secret_until.is_some());
    subscriptions::pause(&operator, "tester", &id, Some("maintenance")).await.expect("paused");
    rig.events(1).await;
    assert_eq!(take(&rig.session().await, 1).await, []);
    subscriptions::resume(&operator, "tester", &id).await.expect("resumed");
    assert_eq!(take(&rig.session().await, 1).await.len(), 1);
    assert_eq!(subscriptions::delete(&operator, "tester", &id).await.expect("deleted"), 1);
    assert_eq!(rig.count("cancelled").await, 1, "also what was under way");
    assert!(subscriptions::list(&operator, None).await.expect("list").is_empty());
    assert!(matches!(
        subscriptions::delete(&operator, "tester", &id).await,
        Err(OperatorError::NoSubscription(_))
    ));
    let actions: Vec<String> = audit::list(&operator, Some(&id), None, 20)
        .await
        .expect("audit")
        .into_iter()
        .rev()
        .map(|a| a.action)
        .collect();
    let expected =
        ["push.create", "push.update", "push.rotate_secret", "push.paused", "push.active", "push.delete"];
    assert_eq!(actions, expected);
    rig.subscribe("one", "http://127.0.0.1:9/").await;
}

#[tokio::test]
async fn why_a_delivery_does_not_move_is_said_in_words() {
    let rig = Rig::new().await;
    let (session, operator) = (rig.session().await, rig.operator().await);
    let claimed = rig.one_claimed(&session).await;
    let why = async || deliveries::show(&operator, &claimed.id).await.expect("there").why;
    assert!(why().await.contains("under way: worker test holds it until"), "{}", why().await);
    record(&session, retryable(&claimed)).await;
    assert!(why().await.contains("the retry schedule says so"), "{}", why().await);
    subscriptions::pause(&operator, "anna", &claimed.subscription, Some("moving house"))
        .await
        .expect("paused");
    assert!(why().await.contains("paused by anna: moving house"), "{}", why().await);
    subscriptions::resume(&operator, "anna", &claimed.subscription).await.expect("resumed");
    rig.pass(100.0).await;
    assert!(why().await.contains("the next free worker takes it"), "{}", why().await);
    let shown = deliveries::show(&operator, &claimed.id).await.expect("there");
    assert_eq!(shown.attempt_history.len(), 1);
    let text = serde_json::to_string(&shown).expect("json");
    assert!(!text.contains("whsec_") && !text.contains("secret"), "{text}");
}
