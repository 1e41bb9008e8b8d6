//! How receivers that misbehave are kept from hurting others, and what the worker tells about itself.

use crate::rig::*;
use hooks_push_worker::store::{self, Health, HealthRules};
use hooks_shared::push::definition::NewSubscription;
use hooks_shared::push::{deliveries, subscriptions};
use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::until;
use serde_json::json;
use std::time::Duration;

const RULES: HealthRules = HealthRules {
    open_after: 5,
    first_pause: Duration::from_secs(5),
    longest_pause: Duration::from_secs(300),
    disable_after: Duration::from_secs(5 * 86_400),
};

#[tokio::test]
async fn five_strikes_open_the_circuit_and_a_success_closes_it() {
    let rig = Rig::new().await;
    let (session, operator) = (rig.session().await, rig.operator().await);
    let id = rig.subscribe("one", "http://127.0.0.1:9/").await;
    rig.many_events(20).await;
    let said = async |health: Health| {
        let all = [(id.clone(), health)];
        assert_eq!(store::update_health(&session, &RULES, &all).await.expect("updated"), []);
        subscriptions::show(&operator, &id).await.expect("there")
    };
    let strike = || Health { strikes: 1, ..Health::default() };
    for n in 1..=4 {
        let seen = said(strike()).await;
        assert_eq!((seen.strikes, seen.probe_at), (n, None));
    }
    let seen = said(strike()).await;
    assert!(seen.strikes == 5 && seen.probe_at.is_some() && seen.failing_since.is_some(), "{seen:?}");
    assert_eq!(take(&session, 10).await, [], "nothing before the probe");
    rig.db.execute("update subscription_cursors set probe_at = now()", &[]).await;
    assert_eq!(take(&session, 10).await.len(), 1, "one probe");
    assert_eq!(take(&session, 10).await, [], "and no other beside it");
    let first = said(strike()).await.probe_at;
    let mut later = first;
    for _ in 0..12 {
        later = said(strike()).await.probe_at;
    }
    let longest = time::OffsetDateTime::now_utc() + Duration::from_secs(301);
    assert!(later > first && later < Some(longest), "pauses double, up to five minutes");
    let healed = said(Health { succeeded: true, ..Health::default() }).await;
    assert_eq!((healed.strikes, healed.probe_at, healed.failing_since), (0, None, None));
    assert_eq!(take(&session, 10).await.len(), 9, "all that may be in flight beside the probe");
}

#[tokio::test]
async fn after_days_of_nothing_but_failures_a_subscription_is_disabled_and_keeps_its_deliveries() {
    let rig = Rig::new().await;
    let session = rig.session().await;
    let claimed = rig.one_claimed(&session).await;
    record(&session, retryable(&claimed)).await;
    rig.db.execute("update subscription_cursors set failing_since = now() - interval '6 days'", &[]).await;
    let said = [(claimed.subscription.clone(), Health { answered: true, ..Health::default() })];
    let disabled = store::update_health(&session, &RULES, &said).await.expect("updated");
    assert_eq!(disabled.iter().map(|one| one.reason.as_str()).collect::<Vec<_>>(), ["failing"]);
    rig.pass(100.0).await;
    assert_eq!(take(&session, 1).await, []);
    assert_eq!(rig.delivery(&claimed.id).await.state, "pending");
    subscriptions::resume(&rig.operator().await, "tester", &claimed.subscription).await.expect("resumed");
    assert_eq!(take(&session, 1).await.len(), 1);
}

#[tokio::test]
async fn a_rate_is_kept_by_all_claimers_together() {
    let rig = Rig::new().await;
    let mut new = NewSubscription::new("one", SOURCE, "http://127.0.0.1:9/");
    (new.rate, new.max_in_flight) = (Some(4.0), 1000);
    rig.subscribe_with(new).await;
    rig.many_events(100).await;
    let (one, two) = (rig.session().await, rig.session().await);
    let set = "update subscription_cursors set rate_left = 0, rate_at = clock_timestamp() - interval '600 milliseconds'";
    rig.db.execute(set, &[]).await;
    let first = take(&one, 50).await.len() + take(&two, 50).await.len();
    assert!((2..=4).contains(&first), "0.6 s at 4 a second, and what the test took: {first}");
    rig.db.execute("update subscription_cursors set rate_at = rate_at - interval '1 hour'", &[]).await;
    let burst = take(&one, 50).await.len() + take(&two, 50).await.len();
    assert!((4..=5).contains(&burst), "no more than a second's worth is saved up: {burst}");
}

#[tokio::test]
async fn large_bodies_arrive_whole_and_responses_are_kept_where_asked_for() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond("/", Script::status(200).body("y".repeat(5000)));
    let mut new = NewSubscription::new("one", SOURCE, &receiver.url("/"));
    new.record_response = 1024;
    let subscription = rig.subscribe_with(new).await;
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    rig.event(&body, &[]).await;
    let worker = rig.worker("").await;
    let (id, _) = rig.settled(&subscription, "delivered", 1).await;
    assert!(receiver.requests()[0].body == body);
    let shown = deliveries::show(&rig.operator().await, &id).await.expect("there");
    assert_eq!(shown.attempt_history[0].response.as_deref(), Some("y".repeat(1024).as_str()));
    worker.stop().await;
}

#[tokio::test]
async fn a_delivery_whose_event_is_gone_fails_as_expired_without_a_request() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let subscription = rig.subscribe("one", &receiver.url("/")).await;
    rig.events(1).await;
    let session = rig.session().await;
    let claims = take(&session, 1).await;
    give_back(&session, &claims).await;
    rig.db.execute("delete from events where source = $1", &[&SOURCE]).await;
    let worker = rig.worker("").await;
    let (id, row) = rig.settled(&subscription, "failed", 0).await;
    assert_eq!((row.failure.as_deref(), rig.history(&id).await.len()), (Some("expired"), 0));
    worker.stop().await;
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn failures_are_told_once_a_minute_with_a_count_and_never_about_themselves() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond("/", Script::status(500));
    let mut new = NewSubscription::new("one", SOURCE, &receiver.url("/"));
    new.retry = Some(json!({"max_attempts": 1}));
    rig.subscribe_with(new).await;
    let mut own = NewSubscription::new("own", "hooks.system", &receiver.url("/"));
    own.retry = Some(json!({"max_attempts": 1}));
    rig.subscribe_with(own).await;
    rig.many_events(30).await;
    let worker = rig.worker("").await;
    until(PATIENCE, "30 failed, and what was told about them", async || {
        let failed = rig.count("failed").await;
        if failed == 31 { Ok(()) } else { Err(failed) }
    })
    .await;
    worker.stop().await;
    let told: i64 =
        rig.db.query_one("select count(*) from events where source = 'hooks.system'", &[]).await.get(0);
    let withheld: i32 = rig.db.query_one("select sum(withheld)::int from system_notices", &[]).await.get(0);
    let said: i64 = rig
        .db
        .query_one("select (convert_from(body, 'UTF8')::json->>'count')::bigint from events where source = 'hooks.system'", &[])
        .await
        .get(0);
    assert_eq!((told, said + i64::from(withheld)), (1, 30));
}

#[tokio::test]
async fn a_test_is_delivered_like_any_event() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let id = rig.subscribe("one", &receiver.url("/")).await;
    let operator = rig.operator().await;
    for _ in 0..2 {
        subscriptions::test(&operator, "tester", &id).await.expect("asked for");
    }
    let worker = rig.worker("").await;
    let requests = receiver.wait_for(2, PATIENCE).await;
    assert!(
        requests
            .iter()
            .all(|r| r.json()["type"] == "subscription.test" && r.header("X-Hooks-Replay") == Some("1"))
    );
    worker.stop().await;
}

#[tokio::test]
async fn a_hint_wakes_the_worker_and_the_metrics_tell_what_it_did() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let subscription = rig.subscribe("one", &receiver.url("/")).await;
    let worker = rig.worker("").await;
    until(PATIENCE, "the worker to be ready", async || worker.running.readiness.is_ready()).await;
    rig.events(1).await;
    rig.db.execute("select pg_notify('hooks', $1)", &[&SOURCE]).await;
    rig.settled(&subscription, "delivered", 1).await;
    let get = hooks_testkit::http::request("GET", "/metrics", &[("Connection", "close")], b"");
    until(PATIENCE, "the metrics to tell of it", async || {
        let page = hooks_testkit::http::exchange(worker.running.admin, &get).await.text();
        let wanted = ["hooks_push_claims_total 1", "hooks_push_attempts_total{outcome=\"succeeded\"} 1"];
        let told =
            wanted.iter().all(|line| page.contains(line)) && page.contains("hooks_push_oldest_due_seconds");
        if told { Ok(()) } else { Err(page) }
    })
    .await;
    worker.stop().await;
}
