//! Bodies: inline, by reference, and on their own route.

use crate::support::{NewEvent, PATIENCE, Relay};

/// Bytes that no text format leaves alone.
fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 31 % 256) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_big_body_goes_by_reference_live_and_from_the_log() {
    let relay = Relay::start().await;
    let big = NewEvent { body: noise(3_000_000), ..NewEvent::fresh() };
    relay.writer.append_quietly(&big).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    relay.writer.append(&big).await;
    for expected in 1..=2 {
        let message = stream.next_message(PATIENCE).await;
        assert!(message.raw.len() < 2_000 && message.alone_in_chunk);
        let json = message.json();
        assert_eq!(json["body"], "@ref");
        assert_eq!(json["body_bytes"], 3_000_000);
        assert_eq!(json["body_ref"], format!("/subscribe/render/events/{expected}/body"));
        let answer = relay.get(json["body_ref"].as_str().expect("a path")).await;
        assert_eq!((answer.status, answer.complete), (200, true));
        assert!(answer.body == big.body, "the body differs");
        assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let name = format!("attachment; filename=\"render-{expected}\"");
        assert_eq!(answer.header("content-disposition"), Some(&*name));
        assert_eq!(answer.header("content-length"), Some("3000000"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_reaches_the_limit_of_older_clients() {
    let relay = Relay::start().await;
    for length in [749_000, 749_500, 749_700, 749_999, 750_000, 750_001] {
        relay.writer.append_quietly(&NewEvent { body: noise(length), ..NewEvent::fresh() }).await;
    }
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    let messages = stream.collect_until(6, PATIENCE).await;
    let inline: Vec<bool> = messages.iter().map(|message| message.json()["body"] != "@ref").collect();
    assert_eq!(inline, [true, true, false, false, false, false]);
    assert!(messages.iter().all(|message| message.raw.len() <= 1_000_000 && message.alone_in_chunk));
    assert!(messages[1].raw.len() > 999_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_body_is_an_empty_answer() {
    let relay = Relay::start().await;
    relay.writer.append_quietly(&NewEvent { body: Vec::new(), ..NewEvent::fresh() }).await;
    let answer = relay.get("/subscribe/render/events/1/body").await;
    assert_eq!((answer.status, answer.body.len(), answer.header("content-length")), (200, 0, Some("0")));
    for missing in ["2", "0", "-1", "x", "99999999999999999999"] {
        for route in ["", "/body"] {
            let answer = relay.get(&format!("/subscribe/render/events/{missing}{route}")).await;
            assert_eq!((answer.status, answer.text().as_str()), (404, "unknown event\n"), "{missing}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetched_event_is_the_message_and_what_push_made_of_it() {
    let relay = Relay::start().await;
    let event = NewEvent {
        delivery_id: Some("msg_1"),
        ..NewEvent::signed(Some(crate::support::now() - time::Duration::days(3)))
    };
    relay.writer.append_quietly(&event).await;
    relay
        .db
        .client()
        .await
        .batch_execute(
            "insert into push_subscriptions (id, name, source, url, secret, created_by)
                 values ('sub_1', 'billing', 'render', 'https://example.com/', '', 'test');
             insert into deliveries (id, subscription_id, source, sequence, received_at, state, attempts,
                     cycle_attempts, next_attempt_at, due_because)
                 select 'dlv_1', 'sub_1', 'render', 1, received_at, 'pending', 2, 2,
                     '2026-05-09T12:00:00Z', 'schedule' from events",
        )
        .await
        .expect("a delivery");
    let answer = relay.get("/subscribe/render/events/1").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let mut fetched = answer.json();
    let push = fetched.as_object_mut().and_then(|members| members.shift_remove("push")).expect("push");
    assert_eq!(
        push,
        serde_json::json!([{
            "subscription_id": "sub_1", "subscription": "billing", "delivery_id": "dlv_1", "state": "pending",
            "attempts": 2, "next_attempt_at": "2026-05-09T12:00:00Z", "completed_at": null, "failure": null
        }])
    );
    // The stream leaves it out as stale; the fetch route never does.
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    let streamed = stream.next_message(PATIENCE).await.json();
    let keys = |json: &serde_json::Value| json.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
    assert_eq!(keys(&fetched), keys(&streamed));
    assert_eq!((&fetched["delivery_id"], &fetched["sequence"]), (&"msg_1".into(), &1.into()));
}
