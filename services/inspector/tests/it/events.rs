//! Events over the API.

use crate::desk::{As, Desk, Stored};
use hooks_testkit::http::{RawConnection, request};
use serde_json::{Value, json};
use std::time::Duration;

fn sequences(list: &Value) -> Vec<(String, i64)> {
    let events = list["events"].as_array().expect("a list").iter();
    events
        .map(|e| (e["source"].as_str().unwrap_or_default().to_owned(), e["sequence"].as_i64().unwrap_or(0)))
        .collect()
}

/// Follows `next` to the end.
async fn all(desk: &Desk, token: &str, path: &str) -> Vec<(String, i64)> {
    let (mut path, mut seen) = (path.to_owned(), Vec::new());
    for _ in 0..200 {
        let page = desk.get(As::Token(token), &path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text());
        let page = page.json();
        seen.extend(sequences(&page));
        match page["next"].as_str() {
            Some(next) => path = next.to_owned(),
            None => return seen,
        }
    }
    panic!("the pages do not end");
}

#[tokio::test]
async fn events_of_all_sources_come_newest_first_and_each_once() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let one = Stored { body: b"{}", ..Stored::default() };
    desk.store("alpha", "40 days", &[one; 3]).await;
    desk.store("beta", "2 days", &[one; 4]).await;
    desk.store("alpha", "1 hour", &[one; 5]).await;
    desk.store("beta", "1 hour", &[one; 5]).await;
    let whole = all(&desk, &admin, "/api/events").await;
    assert_eq!(whole.len(), 17);
    for limit in [1, 2, 3, 5, 7] {
        assert_eq!(all(&desk, &admin, &format!("/api/events?limit={limit}")).await, whole, "limit {limit}");
    }
    // Two arrived at each instant of the last hour: the sources stand in their order.
    assert_eq!(
        whole[..4],
        [("alpha".into(), 8), ("beta".into(), 9), ("alpha".into(), 7), ("beta".into(), 8)]
    );
    let alpha = all(&desk, &admin, "/api/events?source=alpha&limit=3").await;
    assert_eq!(alpha.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [8, 7, 6, 5, 4, 3, 2, 1]);
    let at = |ago: i64| {
        (time::OffsetDateTime::now_utc() - time::Duration::hours(ago))
            .format(&time::format_description::well_known::Rfc3339)
            .expect("a time")
    };
    let between =
        format!("/api/events?from={}&to={}", at(72).replace('+', "%2B"), at(24).replace('+', "%2B"));
    assert_eq!(all(&desk, &admin, &between).await.len(), 4);
}

#[tokio::test]
async fn a_list_by_time_begins_in_the_middle_of_a_day() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let one = Stored { body: b"{}", ..Stored::default() };
    desk.store("alpha", "1 hour", &[one; 50]).await;
    let row = desk.db.query_one("select received_at from events where sequence = 31", &[]).await;
    let at: time::OffsetDateTime = row.get(0);
    let text = at.format(&time::format_description::well_known::Rfc3339).expect("a time");
    let before = all(&desk, &admin, &format!("/api/events?to={text}&limit=7")).await;
    assert_eq!(before.iter().map(|(_, n)| *n).collect::<Vec<_>>(), (1..=30).rev().collect::<Vec<_>>());
    let since = all(&desk, &admin, &format!("/api/events?from={text}&limit=7")).await;
    assert_eq!(since.iter().map(|(_, n)| *n).collect::<Vec<_>>(), (31..=50).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_person_sees_only_their_sources() {
    let desk = Desk::open().await;
    let member = desk.person("member", "mem@example.com", &["alpha"]).await;
    let one = Stored { body: b"{}", ..Stored::default() };
    desk.store("alpha", "1 hour", &[one]).await;
    desk.store("beta", "1 hour", &[one]).await;
    let list = desk.get(As::Browser(&member), "/api/events").await.json();
    assert_eq!(sequences(&list), [("alpha".to_owned(), 1)]);
    for path in ["/api/events/beta/1", "/api/events/beta/1/body", "/api/sources/beta", "/api/events/alpha/2"]
    {
        assert_eq!(desk.get(As::Browser(&member), path).await.status, 404, "{path}");
    }
    assert_eq!(sequences(&desk.get(As::Browser(&member), "/api/events?source=beta").await.json()), []);
    let again = desk
        .call(As::Browser(&member), "POST", "/api/events/beta/1/replay", json!({"listeners": true}))
        .await;
    assert_eq!(again.status, 404);
    let sources = desk.get(As::Browser(&member), "/api/sources").await.json();
    assert_eq!(sources["sources"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn one_event_is_shown_whole_but_for_its_credentials() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let headers =
        [("X-One", "1"), ("authorization", "Basic c2VjcmV0"), ("X-One", "2"), ("X-Gitlab-Token", "glt")];
    desk.store(
        "alpha",
        "1 hour",
        &[Stored { id: Some("d-1"), kind: Some("push"), headers: &headers, body: b"{\"a\":1}" }],
    )
    .await;
    let event = desk.get(As::Token(&admin), "/api/events/alpha/1").await;
    let json = event.json();
    assert_eq!(
        (&json["delivery_id"], &json["event_type"], &json["body"]),
        (&json!("d-1"), &json!("push"), &json!("eyJhIjoxfQ=="))
    );
    let names: Vec<_> = json["headers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|h| h["name"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(names, ["X-One", "authorization", "X-One", "X-Gitlab-Token"]);
    for secret in ["c2VjcmV0", "glt", "s3cret"] {
        assert!(!event.text().contains(secret), "{secret} in {}", event.text());
    }
    let body = desk.get(As::Token(&admin), "/api/events/alpha/1/body").await;
    assert_eq!(
        (body.text().as_str(), body.header("content-type")),
        ("{\"a\":1}", Some("application/octet-stream"))
    );
    assert!(body.header("content-disposition").is_some_and(|text| text.starts_with("attachment")));
    assert!(body.header("content-security-policy").is_some_and(|text| text.contains("sandbox")));
    for path in [
        "/api/events/alpha/0",
        "/api/events/alpha/-1",
        "/api/events/alpha/x",
        "/api/events/alpha/99999999999999999999",
        "/api/events/%00/1",
    ] {
        assert_eq!(desk.get(As::Token(&admin), path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn events_are_found_by_what_is_in_them() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let body = |n: usize| {
        format!(
            "{{\"data\":{{\"id\":\"evt-{n}\",\"even\":{},\"tags\":[{{\"k\":{}}}]}}}}",
            n.is_multiple_of(2),
            n % 3
        )
    };
    let bodies: Vec<String> = (0..30).map(body).collect();
    let push = [("X-GitHub-Event", "push")];
    let other = [("X-GitHub-Event", "issues")];
    let stored: Vec<Stored<'_>> = bodies
        .iter()
        .enumerate()
        .map(|(n, body)| Stored {
            id: (n == 7).then_some("provider-7"),
            kind: (n == 8).then_some("rare.type"),
            headers: if n.is_multiple_of(5) { &push } else { &other },
            body: body.as_bytes(),
        })
        .collect();
    desk.store("alpha", "3 days", &stored[..15]).await;
    desk.store("beta", "1 hour", &stored[15..]).await;
    desk.store("beta", "10 minutes", &[Stored { body: b"not json", ..Stored::default() }]).await;
    desk.indexed().await;
    for (query, count) in [
        ("q=data.id%20=%20evt-7", 1),
        ("q=data.id=evt-777", 0),
        ("q=data.even=true", 15),
        ("q=data.tags[0].k=2%20and%20header.x-github-event=push", 2),
        ("q=provider-7", 1),
        ("delivery_id=provider-7", 1),
        ("type=rare.type", 1),
        ("q=header.x-github-event?", 30),
        ("q=data.id?&source=beta", 15),
    ] {
        for limit in [3, 100] {
            let found = all(&desk, &admin, &format!("/api/events?{query}&limit={limit}")).await;
            assert_eq!(found.len(), count, "{query}: {found:?}");
        }
    }
    let bad = desk.get(As::Token(&admin), "/api/events?q=%3D").await;
    assert_eq!((bad.status, bad.json()["error"]["code"].clone()), (400, json!("invalid")));
    assert_eq!(desk.get(As::Token(&admin), "/api/events?q=%00").await.status, 400);
}

#[tokio::test]
async fn new_events_appear_on_the_open_page() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let one = Stored { kind: Some("first"), body: b"{}", ..Stored::default() };
    desk.store("alpha", "2 minutes", &[one]).await;
    let mut connection = RawConnection::connect(desk.address()).await;
    let bearer = format!("Bearer {admin}");
    let host = desk.address().to_string();
    let get =
        request("GET", "/api/events/live?source=alpha", &[("Authorization", &bearer), ("Host", &host)], b"");
    connection.send(&get).await.expect("sent");
    let head = connection.recv_head(Duration::from_secs(10)).await.expect("a head");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    desk.store("beta", "1 minute", &[one]).await;
    desk.store("alpha", "1 minute", &[Stored { kind: Some("second"), ..one }]).await;
    let mut chunks = Vec::new();
    for _ in 0..2 {
        let chunk = tokio::time::timeout(Duration::from_secs(20), connection.recv_chunk()).await;
        chunks.push(String::from_utf8(chunk.expect("in time").expect("a chunk")).expect("text"));
    }
    assert_eq!(chunks[0], ": live\nid: alpha:1\nretry: 1000\n\n");
    let received = &chunks[1];
    assert!(received.starts_with("event: received\nid: alpha:2\ndata: {\"source\":\"alpha\""), "{received}");
    assert!(received.contains("\"event_type\":\"second\""), "{received}");
}

#[tokio::test]
async fn an_event_is_replayed_to_listeners() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    desk.store("alpha", "2 days", &[Stored { body: b"{}", ..Stored::default() }]).await;
    let replay = "/api/events/alpha/1/replay";
    assert_eq!(desk.call(As::Token(&admin), "POST", replay, json!({})).await.status, 400);
    let done = desk.call(As::Token(&admin), "POST", replay, json!({"listeners": true})).await;
    assert_eq!((done.status, done.json()["listeners"].clone()), (200, json!(true)), "{}", done.text());
    let row =
        desk.db.query_one("select number, source, sequence, requested_by from replay_requests", &[]).await;
    assert_eq!(
        (row.get::<_, i64>(0), row.get::<_, String>(1), row.get::<_, i64>(2)),
        (1, "alpha".to_owned(), 1)
    );
    let audit = desk.db.query_one("select host(address), request_id, token_id from audit where action = 'event.replay_to_listeners'", &[]).await;
    assert_eq!(audit.get::<_, Option<String>>(0).as_deref(), Some("127.0.0.1"));
    assert!(audit.get::<_, Option<String>>(1).is_some() && audit.get::<_, Option<uuid::Uuid>>(2).is_some());
    assert_eq!(
        desk.call(As::Token(&admin), "POST", "/api/events/alpha/99/replay", json!({"listeners": true}))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn sources_listeners_and_the_whole_are_told() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    desk.store("alpha", "1 minute", &[Stored { body: b"{}", ..Stored::default() }]).await;
    desk.store("gone", "1 minute", &[Stored { body: b"{}", ..Stored::default() }]).await;
    desk.db
        .execute(
            "insert into listeners (id, instance, token_id, source, since, cursor, seen_at)
             select gen_random_uuid(), gen_random_uuid(), id, 'alpha', now(), 0, now() from tokens",
            &[],
        )
        .await;
    let sources = desk.get(As::Token(&admin), "/api/sources").await.json();
    let names: Vec<_> = sources["sources"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|s| {
            (s["name"].as_str().unwrap_or_default().to_owned(), s["configured"].as_bool().unwrap_or(false))
        })
        .collect();
    assert_eq!(
        names,
        [
            ("alpha".into(), true),
            ("beta".into(), true),
            ("gone".into(), false),
            ("hooks.system".into(), true)
        ]
    );
    let alpha = desk.get(As::Token(&admin), "/api/sources/alpha").await.json();
    assert_eq!(
        (&alpha["verifier"], &alpha["listeners"], &alpha["last_sequence"]),
        (&json!("github"), &json!(1), &json!(1))
    );
    let listeners = desk.get(As::Token(&admin), "/api/listeners").await.json();
    assert_eq!(
        (&listeners["listeners"][0]["token_name"], &listeners["listeners"][0]["behind"]),
        (&json!("pat admin"), &json!(1))
    );
    let overview = desk.get(As::Token(&admin), "/api/overview?span=day").await.json();
    assert_eq!((&overview["sources"], &overview["owed"]), (&json!(3), &json!(0)));
}
