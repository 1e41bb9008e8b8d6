//! Push subscriptions and deliveries over the API.

use crate::desk::{As, Desk, Stored};
use serde_json::{Value, json};

const LOOPBACK: &str = "push: {allow_destinations: [loopback]}";

async fn subscribe(desk: &Desk, token: &str, name: &str) -> Value {
    let wish =
        json!({"source": "alpha", "target_url": "http://127.0.0.1:9/hook", "name": name, "since": "0"});
    let made = desk.call(As::Token(token), "POST", "/api/push-subscriptions", wish).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()
}

/// Makes the deliveries of a subscription as a worker would leave them.
async fn deliveries(desk: &Desk, subscription: &str, state: &str, count: i64) {
    desk.db
        .execute(
            "insert into deliveries (id, subscription_id, source, sequence, received_at, state, next_attempt_at,
                 completed_at, failure, attempts)
             select 'dlv_' || lpad(e.sequence::text, 26, '0'), $1, 'alpha', e.sequence, e.received_at, $2, now(),
                 case when $2 in ('failed', 'delivered') then now() end,
                 case when $2 = 'failed' then 'exhausted' end, 1
             from events e where e.source = 'alpha' order by e.sequence limit $3",
            &[&subscription, &state, &count],
        )
        .await;
    desk.db
        .execute(
            "insert into attempts (delivery_id, number, claim_token, started_at, duration_ms, outcome, status, url, worker, late)
             select id, 1, gen_random_uuid(), now(), 5, 'http_error', 500, 'http://127.0.0.1:9/hook', 'w', false
             from deliveries where subscription_id = $1",
            &[&subscription],
        )
        .await;
}

#[tokio::test]
async fn a_subscription_lives_its_life_in_the_original_s_words_and_ours() {
    let desk = Desk::open_with(LOOPBACK).await;
    let admin = desk.admin_token().await;
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 3]).await;
    let made = subscribe(&desk, &admin, "ci").await;
    assert_eq!(
        (&made["cursor"], &made["target_url"], &made["queue_depth"]),
        (&json!(0), &json!("http://127.0.0.1:9/hook"), &json!(3))
    );
    let secret = made["signing_secret"].as_str().expect("a secret").to_owned();
    let path = format!("/api/push-subscriptions/{}", made["id"].as_str().expect("an id"));
    let shown = desk.get(As::Token(&admin), &path).await;
    assert!(!shown.text().contains(&secret));
    let post = async |action: &str| {
        desk.call(As::Token(&admin), "POST", &format!("{path}/{action}"), json!({})).await
    };
    assert_eq!(post("pause").await.status, 204);
    assert!(desk.get(As::Token(&admin), &path).await.json()["paused_at"].is_string());
    assert_eq!(
        desk.get(As::Token(&admin), "/api/push-subscriptions?include_paused=0").await.json()["subscriptions"],
        json!([])
    );
    assert_eq!(post("resume").await.status, 204);
    let rotated = post("rotate-secret").await;
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    assert_ne!(rotated.json()["signing_secret"], json!(secret));
    let test = post("test").await;
    assert_eq!(test.status, 204, "{}", test.text());
    let delivery = desk.get(As::Token(&admin), test.header("location").expect("a delivery")).await;
    assert_eq!((delivery.status, delivery.json()["state"].clone()), (200, json!("pending")));
    let changed =
        desk.call(As::Token(&admin), "PATCH", &path, json!({"max_in_flight": 3, "rate": 2.5})).await;
    assert_eq!(
        (changed.status, changed.json()["max_in_flight"].clone()),
        (200, json!(3)),
        "{}",
        changed.text()
    );
    assert_eq!(desk.call(As::Token(&admin), "DELETE", &path, json!(null)).await.status, 204);
    assert_eq!(desk.get(As::Token(&admin), &path).await.json()["state"], "deleted");
    let leaks: i64 = desk
        .db
        .query_one("select count(*) from audit where details::text like '%' || $1 || '%'", &[&secret])
        .await
        .get(0);
    assert_eq!(leaks, 0);
    let audit = desk.get(As::Token(&admin), "/api/audit?action=push.").await.json();
    let actions: Vec<_> = audit["events"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|e| e["action"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        actions,
        [
            "push.delete",
            "push.update",
            "push.test",
            "push.rotate_secret",
            "push.active",
            "push.paused",
            "push.create"
        ]
    );
    assert!(
        audit["events"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|e| e["address"] == "127.0.0.1" && e["actor_token_id"].is_string())
    );
}

#[tokio::test]
async fn what_cannot_be_subscribed_is_told() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    for (wish, status, code) in [
        (json!({}), 400, "invalid"),
        (json!({"sources": ["alpha"]}), 400, "invalid"),
        (json!({"source": "nosuch", "url": "https://example.com/"}), 422, "unknown_source"),
        (json!({"source": "alpha", "url": "http://127.0.0.1/"}), 422, "invalid_request"),
        (json!({"source": "alpha", "url": "http://2130706433/"}), 422, "invalid_request"),
        (json!({"source": "alpha", "url": "ftp://example.com/"}), 422, "invalid_request"),
        (json!({"source": "alpha", "url": "https://example.com/", "since": "soon"}), 400, "invalid"),
        (json!({"source": "alpha", "url": "https://example.com/", "colour": "red"}), 400, "invalid"),
    ] {
        let answer = desk.call(As::Token(&admin), "POST", "/api/push-subscriptions", wish.clone()).await;
        let got = answer.json()["error"]["code"].clone();
        assert_eq!((answer.status, got), (status, json!(code)), "{wish}: {}", answer.text());
        assert!(!answer.text().contains("NewSubscription"), "{}", answer.text());
    }
    for path in ["/api/push-subscriptions/sub_none", "/api/deliveries/dlv_none"] {
        assert_eq!(desk.get(As::Token(&admin), path).await.status, 404);
    }
}

#[tokio::test]
async fn failed_deliveries_are_replayed_one_and_by_filter() {
    let desk = Desk::open_with(LOOPBACK).await;
    let admin = desk.admin_token().await;
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 12]).await;
    let made = subscribe(&desk, &admin, "ci").await;
    let id = made["id"].as_str().expect("an id").to_owned();
    deliveries(&desk, &id, "failed", 12).await;
    let failed = desk.get(As::Token(&admin), "/api/events?push=failed").await.json();
    assert_eq!(failed["events"].as_array().map(Vec::len), Some(12));
    let mut path = format!("/api/deliveries?subscription={id}&limit=5");
    let mut seen = 0;
    loop {
        let page = desk.get(As::Token(&admin), &path).await.json();
        seen += page["deliveries"].as_array().map_or(0, Vec::len);
        assert!(
            page["deliveries"]
                .as_array()
                .is_some_and(|rows| rows.iter().all(|row| row["last_status"] == 500))
        );
        let Some(next) = page["next"].as_str() else { break };
        path = next.to_owned();
    }
    assert_eq!(seen, 12);
    let one = "/api/deliveries/dlv_00000000000000000000000012";
    assert_eq!(desk.call(As::Token(&admin), "POST", &format!("{one}/replay"), json!(null)).await.status, 204);
    let again = desk.call(As::Token(&admin), "POST", &format!("{one}/replay"), json!(null)).await;
    assert_eq!(
        (again.status, again.json()["error"]["code"].clone()),
        (409, json!("delivery_not_replayable"))
    );
    let bulk = async |body: Value| desk.call(As::Token(&admin), "POST", "/api/deliveries/replay", body).await;
    assert_eq!(bulk(json!({})).await.status, 400);
    let plan = bulk(json!({"subscription": id, "status": 500, "dry_run": true})).await.json();
    assert_eq!((&plan["count"], &plan["dry_run"]), (&json!(11), &json!(true)));
    let done = bulk(json!({"subscription": id, "status": 500})).await.json();
    assert_eq!(done["count"], 11);
    let detail = desk.get(As::Token(&admin), one).await.json();
    assert_eq!(detail["state"], "pending");
    assert!(detail["why"].as_str().is_some_and(|why| !why.is_empty()), "{detail}");
    let cancelled =
        desk.call(As::Token(&admin), "POST", "/api/deliveries/cancel", json!({"subscription": id})).await;
    assert_eq!(cancelled.json()["cancelled"], 12, "{}", cancelled.text());
    assert_eq!(desk.get(As::Token(&admin), "/api/events?push=failed").await.json()["events"], json!([]));
}

#[tokio::test]
async fn members_see_their_sources_deliveries_and_change_nothing() {
    let desk = Desk::open_with(LOOPBACK).await;
    let admin = desk.admin_token().await;
    let alpha = desk.person("member", "a@example.com", &["alpha"]).await;
    let beta = desk.person("member", "b@example.com", &["beta"]).await;
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 2]).await;
    let made = subscribe(&desk, &admin, "ci").await;
    let id = made["id"].as_str().expect("an id").to_owned();
    deliveries(&desk, &id, "failed", 2).await;
    let one = "/api/deliveries/dlv_00000000000000000000000001";
    let list = format!("/api/deliveries?subscription={id}");
    for (path, for_beta) in [(one, 404), (list.as_str(), 404)] {
        assert_eq!(desk.get(As::Browser(&alpha), path).await.status, 200, "{path}");
        assert_eq!(desk.get(As::Browser(&beta), path).await.status, for_beta, "{path}");
    }
    assert_eq!(desk.get(As::Browser(&beta), "/api/deliveries").await.json()["deliveries"], json!([]));
    assert_eq!(
        desk.get(As::Browser(&alpha), "/api/deliveries?state=failed").await.json()["deliveries"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert_eq!(
        desk.call(As::Browser(&alpha), "POST", &format!("{one}/replay"), json!(null)).await.status,
        403
    );
    let to_push = json!({"push": "all"});
    assert_eq!(
        desk.call(As::Browser(&alpha), "POST", "/api/events/alpha/1/replay", to_push).await.status,
        403
    );
}

#[tokio::test]
async fn a_bulk_action_that_breaks_off_leaves_nothing_unaudited() {
    let desk = Desk::open_with(LOOPBACK).await;
    let admin = desk.admin_token().await;
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 1_500]).await;
    let made = subscribe(&desk, &admin, "ci").await;
    let id = made["id"].as_str().expect("an id").to_owned();
    deliveries(&desk, &id, "failed", 1_500).await;
    for statement in [
        "create function break_off() returns trigger language plpgsql as $$ begin
             if (select count(*) from changed) = 500 then raise 'broken'; end if; return null; end $$",
        "create trigger break_off after update on deliveries referencing new table as changed
             for each statement execute function break_off()",
    ] {
        desk.db.execute(statement, &[]).await;
    }
    for (action, path, state) in [
        ("delivery.replay_many", "/api/deliveries/replay", "pending"),
        ("delivery.cancel_many", "/api/deliveries/cancel", "cancelled"),
    ] {
        if state == "cancelled" {
            let all = "update deliveries set state = 'pending', failure = null, completed_at = null";
            desk.db.execute(all, &[]).await;
        }
        let answer = desk.call(As::Token(&admin), "POST", path, json!({"subscription": id})).await;
        assert_eq!(answer.status, 500, "{path}: {}", answer.text());
        let done = "select count(*), (select sum(affected)::bigint from audit where action = $1 and outcome = 'done')
                    from deliveries where state = $2";
        let row = desk.db.query_one(done, &[&action, &state]).await;
        assert_eq!((row.get::<_, i64>(0), row.get::<_, Option<i64>>(1)), (1_000, Some(1_000)), "{action}");
    }
}
