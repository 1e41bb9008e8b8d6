//! The list of stored events.

use crate::support::{NewEvent, Relay, now};

async fn page(relay: &Relay, path: &str) -> (Vec<i64>, Option<String>) {
    let answer = relay.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    let json = answer.json();
    let events = json["events"].as_array().expect("a list");
    let sequences = events.iter().filter_map(|event| event["sequence"].as_i64()).collect();
    (sequences, json["next"].as_str().map(str::to_owned))
}

/// Follows the links to the end.
async fn all(relay: &Relay, path: &str) -> (Vec<i64>, usize) {
    let (mut sequences, mut next) = page(relay, path).await;
    let mut pages = 1;
    while let Some(path) = next {
        let (more, after) = page(relay, &path).await;
        sequences.extend(more);
        next = after;
        pages += 1;
    }
    (sequences, pages)
}

async fn append_on_day(relay: &Relay, days_ago: i64, event: &NewEvent) {
    let at = now() - time::Duration::days(days_ago);
    relay.db.execute("select create_events_partition($1)", &[&at.date()]).await;
    relay.writer.append_quietly(&NewEvent { arrived: Some(at), ..event.clone() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_lead_through_everything_in_both_orders() {
    let relay = Relay::start().await;
    for day in [5, 5, 5, 3, 2, 2, 0] {
        append_on_day(&relay, day, &NewEvent::signed(None)).await;
    }
    let newest: Vec<i64> = (1..=7).rev().collect();
    assert_eq!(all(&relay, "/subscribe/render/events?limit=2").await, (newest.clone(), 4));
    assert_eq!(all(&relay, "/subscribe/render/events?limit=7").await, (newest, 1));
    let oldest: Vec<i64> = (1..=7).collect();
    assert_eq!(all(&relay, "/subscribe/render/events?limit=3&order=asc").await, (oldest, 3));
    let (between, _) = all(&relay, "/subscribe/render/events?after=2&before=6&limit=1").await;
    assert_eq!(between, [5, 4, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_looks_at_thirty_days_and_its_link_goes_on() {
    let relay = Relay::start().await;
    for day in (1..=70).rev() {
        let event_type = if day % 35 == 0 { Some("rare") } else { Some("usual") };
        append_on_day(&relay, day, &NewEvent { event_type, ..NewEvent::signed(None) }).await;
    }
    let (found, next) = page(&relay, "/subscribe/render/events?type=rare").await;
    assert!(found.is_empty() && next.is_some());
    // Sequence 1 arrived 70 days ago, sequence 36 35 days ago.
    assert_eq!(all(&relay, "/subscribe/render/events?type=rare").await, (vec![36, 1], 3));
    assert_eq!(all(&relay, "/subscribe/render/events?type=rare&order=asc").await, (vec![1, 36], 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_find_what_they_name() {
    let relay = Relay::start().await;
    append_on_day(&relay, 2, &NewEvent { delivery_id: Some("msg_a"), ..NewEvent::signed(None) }).await;
    append_on_day(&relay, 1, &NewEvent { event_type: Some("push"), ..NewEvent::signed(None) }).await;
    append_on_day(
        &relay,
        0,
        &NewEvent { delivery_id: Some("msg_a"), event_type: Some("push"), ..NewEvent::signed(None) },
    )
    .await;
    let list = async |query: &str| all(&relay, &format!("/subscribe/render/events?{query}")).await.0;
    assert_eq!(list("delivery_id=msg_a").await, [3, 1]);
    assert_eq!(list("delivery_id=msg_a&type=push").await, [3]);
    assert_eq!(list("delivery_id=nowhere").await, Vec::<i64>::new());
    let yesterday = (now() - time::Duration::days(1)).date();
    let today = now().date();
    assert_eq!(list(&format!("from={yesterday}T00:00:00Z&to={today}T00:00:00Z")).await, [2]);
    assert_eq!(list(&format!("to={yesterday}T00:00:00Z")).await, [1]);
    // Where the provider gave no id, the relay's own is what clients call the delivery id.
    let own = format!("evt_{:0>26}", 7);
    relay.db.execute("update events set event_id = $1 where sequence = 2", &[&own]).await;
    assert_eq!(list(&format!("delivery_id={own}")).await, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_shows_everything_but_headers_and_body() {
    let relay = Relay::start().await;
    let event = NewEvent {
        delivery_id: Some("msg_1"),
        event_type: Some("ping"),
        body: vec![0; 5],
        ..NewEvent::fresh()
    };
    relay.writer.append_quietly(&event).await;
    let json = relay.get("/subscribe/render/events").await.json();
    assert!(json["next"].is_null());
    let item = &json["events"][0];
    let keys: Vec<&String> = item.as_object().expect("an item").keys().collect();
    let expected = [
        "delivery_id",
        "provider_timestamp",
        "received_at",
        "event_id",
        "sequence",
        "method",
        "path",
        "event_type",
        "body_bytes",
        "body_sha256",
        "remote_addr",
    ];
    assert_eq!(keys, expected);
    assert_eq!((&item["path"], &item["body_bytes"]), (&"/ingest/render".into(), &5.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_parameters_are_refused_by_name() {
    let relay = Relay::start().await;
    let cases = [
        ("limit=0", "invalid query: limit: is not a number from 1 to 500\n"),
        ("after=x", "invalid query: after: is not a sequence number\n"),
        ("order=up", "invalid query: order: is neither `asc` nor `desc`\n"),
        ("deliveryid=x", "invalid query: deliveryid: is not a parameter of this route\n"),
        ("from=yesterday", "invalid query: from: is not a time: write one such as 2026-05-09T14:00:00Z\n"),
        ("type=a%00b", "invalid query: type: holds a character that no event has\n"),
    ];
    for (query, text) in cases {
        let answer = relay.get(&format!("/subscribe/render/events?{query}")).await;
        assert_eq!((answer.status, answer.text().as_str()), (400, text));
    }
}
