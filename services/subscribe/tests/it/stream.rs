//! What comes over the stream: exact bytes, order, comments, and how a listener moves between log and ring.

use crate::support::{NewEvent, PATIENCE, Relay, Setup, lines_about, now, sequences, sequences_until};
use hooks_testkit::sse::Item;
use hooks_testkit::until;
use std::time::{Duration, Instant};
use time::format_description::well_known::Rfc3339;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_exactly_this_form_and_is_one_chunk() {
    let relay = Relay::start().await;
    let signed = now().replace_nanosecond(0).expect("whole seconds");
    let event = NewEvent {
        delivery_id: Some("evt-0001"),
        event_type: Some("deploy_ended"),
        headers: b"webhook-id:evt-0001\nX-Tag:a\nx-tag:b\nX-Raw:\x80\n".to_vec(),
        body: br#"{"type":"deploy_ended"}"#.to_vec(),
        ..NewEvent::signed(Some(signed))
    };
    relay.writer.append_quietly(&event).await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    let message = stream.next_message(PATIENCE).await;
    let row =
        relay.db.query_one("select received_at, encode(body_sha256, 'hex') as sha from events", &[]).await;
    let expected = format!(
        concat!(
            "id:1\nevent:render\ndata:{{\"delivery_id\":\"evt-0001\",\"provider_timestamp\":\"{}\",",
            "\"received_at\":\"{}\",\"headers\":{{\"Webhook-Id\":\"evt-0001\",\"X-Tag\":\"a, b\",\"X-Raw\":\"\u{fffd}\"}},",
            "\"body\":\"eyJ0eXBlIjoiZGVwbG95X2VuZGVkIn0=\",",
            "\"body_sha256\":\"{}\",",
            "\"event_id\":\"evt_render1\",\"sequence\":1,\"method\":\"POST\",\"path\":\"/ingest/render\",",
            "\"header_list\":[[\"webhook-id\",\"evt-0001\"],[\"X-Tag\",\"a\"],[\"x-tag\",\"b\"],[\"X-Raw\",{{\"base64\":\"gA==\"}}]],",
            "\"event_type\":\"deploy_ended\",\"replay\":false}}\n\n"
        ),
        signed.format(&Rfc3339).expect("a time"),
        row.get::<_, time::OffsetDateTime>("received_at").format(&Rfc3339).expect("a time"),
        row.get::<_, String>("sha"),
    );
    assert_eq!(String::from_utf8_lossy(&message.raw), expected);
    assert!(message.alone_in_chunk);
    let live = relay.writer.append(&NewEvent::fresh()).await;
    let message = stream.next_message(PATIENCE).await;
    assert_eq!((message.sequence(), message.alone_in_chunk), (live, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_head_of_the_answer_comes_at_once_and_promises_keepalives() {
    let relay = Setup { settings: "subscribe: {keepalive: 40s, stall_timeout: 60s}\n", ..Setup::default() }
        .start()
        .await;
    let asked = Instant::now();
    let stream = relay.listen("/subscribe/render").await;
    assert!(asked.elapsed() < Duration::from_secs(10));
    let head = stream.head();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    assert_eq!(head.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    assert_eq!(head.header("x-hooks-keepalive"), Some("40"));
}

#[tokio::test(flavor = "multi_thread")]
async fn keepalives_also_come_on_a_busy_stream() {
    let relay = Relay::start().await;
    let mut stream = relay.listen("/subscribe/render").await;
    assert_eq!(stream.head().header("x-hooks-keepalive"), Some("0.3"));
    let started = Instant::now();
    let mut order = Vec::new();
    while order.iter().filter(|item| matches!(item, Item::Comment(_))).count() < 3 {
        // There is always one more to send.
        relay.writer.append(&NewEvent::fresh()).await;
        order.push(stream.next(PATIENCE).await);
    }
    assert!(started.elapsed() >= Duration::from_millis(900), "{order:?}");
    assert!(order.len() > 10, "{order:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn comments_follow_the_drain_and_never_precede_its_messages() {
    let relay = Relay::start().await;
    let stale = NewEvent::signed(Some(now() - time::Duration::hours(1)));
    for event in [&stale, &NewEvent::fresh(), &stale, &NewEvent::fresh(), &stale] {
        relay.writer.append_quietly(event).await;
    }
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    let items = stream.collect_until_comment("keepalive", PATIENCE).await;
    let shown: Vec<String> = items
        .iter()
        .map(|item| match item {
            Item::Message(message) => message.sequence().to_string(),
            Item::Comment(text) => text.clone(),
        })
        .collect();
    assert_eq!(shown, ["2", "4", "skipped 3 stale events 1..5", "keepalive"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_ahead_of_the_log_is_told_and_waits() {
    let relay = Relay::start().await;
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let mut stream = relay.listen("/subscribe/render?since=3").await;
    assert_eq!(stream.next(PATIENCE).await, Item::Comment("ahead of log".to_owned()));
    for _ in 0..3 {
        relay.writer.append(&NewEvent::fresh()).await;
    }
    assert_eq!(sequences(&mut stream, 1).await, [4]);
    // Exactly at the end is not ahead of it.
    let mut stream = relay.listen("/subscribe/render?since=4").await;
    assert_eq!(stream.next(PATIENCE).await, Item::Comment("keepalive".to_owned()));
}

/// Old events, one a day, then some today; a ring far too small for them.
async fn long_log(relay: &Relay, days: i64) -> i64 {
    for day in (1..=days).rev() {
        let at = now() - time::Duration::days(day);
        relay.db.execute("select create_events_partition($1)", &[&at.date()]).await;
        let old = NewEvent { arrived: Some(at), body: vec![b'o'; 2_000], ..NewEvent::signed(None) };
        relay.writer.append_quietly(&old).await;
    }
    let mut last = 0;
    for _ in 0..40 {
        let event = NewEvent { body: vec![b'n'; 2_000], ..NewEvent::signed(None) };
        last = relay.writer.append_quietly(&event).await;
    }
    last
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_from_the_beginning_crosses_days_and_gaps_into_the_ring() {
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 2s, ring_bytes: 20KiB}\n";
    let relay = Setup { settings, ..Setup::default() }.start().await;
    let last = long_log(&relay, 9).await;
    // Retention has taken a whole day in the middle, and numbers were left out in a failover.
    relay.db.execute("delete from events where sequence in (4, 5)", &[]).await;
    relay.db.execute("update source_heads set last_sequence = last_sequence + 1000000", &[]).await;
    let raised = relay.writer.append_quietly(&NewEvent::signed(None)).await;
    let expected: Vec<i64> = (1..=last).filter(|n| ![4, 5].contains(n)).chain([raised]).collect();
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    assert_eq!(sequences(&mut stream, expected.len()).await, expected);
    let live = relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!((live, sequences(&mut stream, 1).await), (raised + 1, vec![raised + 1]));
    assert!(relay.metric("hooks_subscribe_catch_up_reads_total").await >= 8.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_newest_events_needs_the_ring_alone() {
    let relay = Relay::start().await;
    let last = long_log(&relay, 1).await;
    let first = relay.listen("/subscribe/render?since=latest").await;
    relay.wait_metric("hooks_subscribe_ring_bytes{source=\"render\"}", |bytes| bytes > 0.0).await;
    for since in [last - 30, last - 3, last] {
        let mut stream = relay.listen(&format!("/subscribe/render?since={since}")).await;
        let expected: Vec<i64> = (since + 1..=last).collect();
        assert_eq!(sequences(&mut stream, expected.len()).await, expected);
    }
    assert_eq!(relay.metric("hooks_subscribe_catch_up_reads_total").await, 0.0);
    drop(first);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ring_goes_after_the_last_listener_and_comes_back() {
    let relay = Setup { ring_idle: Duration::from_millis(200), ..Setup::default() }.start().await;
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let ring = "hooks_subscribe_ring_bytes{source=\"render\"}";
    for expected in 1..=3 {
        let mut stream = relay.listen("/subscribe/render?since=0").await;
        assert_eq!(sequences(&mut stream, expected).await, (1..=expected as i64).collect::<Vec<_>>());
        relay.wait_metric(ring, |bytes| bytes > 0.0).await;
        drop(stream);
        relay.wait_metric(ring, |bytes| bytes == 0.0).await;
        relay.writer.append(&NewEvent::fresh()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_is_noticed_at_once() {
    let relay = Setup { settings: "subscribe: {keepalive: 40s, stall_timeout: 60s}\n", ..Setup::default() }
        .start()
        .await;
    let listeners = "hooks_subscribe_listeners{source=\"render\"}";
    let stream = relay.listen("/subscribe/render").await;
    relay.wait_metric(listeners, |n| n == 1.0).await;
    drop(stream);
    relay.wait_metric(listeners, |n| n == 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_listeners_share_one_read() {
    let relay = Relay::start().await;
    let mut streams = Vec::new();
    for _ in 0..50 {
        streams.push(relay.listen("/subscribe/render").await);
    }
    // The heads are read by the clock and on each hint, never for each listener.
    let before = relay.metric("hooks_subscribe_head_reads_total").await;
    let started = Instant::now();
    for expected in 1..=20 {
        relay.writer.append(&NewEvent::fresh()).await;
        for stream in &mut streams {
            assert_eq!(sequences(stream, 1).await, [expected]);
        }
    }
    let polls = started.elapsed().as_secs_f64() * 5.0 + 1.0;
    let reads = relay.metric("hooks_subscribe_head_reads_total").await - before;
    assert!(reads <= 20.0 + polls, "{reads} reads for 20 events");
    assert_eq!(relay.metric("hooks_subscribe_catch_up_reads_total").await, 0.0);
    let sent = relay.metric("hooks_subscribe_messages_total{source=\"render\"}").await;
    assert_eq!(sent, 1000.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_listen_everything_comes_by_polling() {
    let setup = Setup {
        settings: "listen_database_url: \"off\"\nsubscribe: {keepalive: 300ms, stall_timeout: 2s}\n",
        ..Setup::default()
    };
    let relay = setup.start().await;
    let mut stream = relay.listen("/subscribe/render").await;
    for expected in 1..=5 {
        relay.writer.append_quietly(&NewEvent::fresh()).await;
        assert_eq!(sequences(&mut stream, 1).await, [expected]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn listen_wakes_a_stream_faster_than_any_poll() {
    let relay = Relay::start().await;
    relay.wait_metric("hooks_subscribe_listen_healthy", |healthy| healthy == 1.0).await;
    let mut stream = relay.listen("/subscribe/render").await;
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let started = Instant::now();
        relay.writer.append(&NewEvent::fresh()).await;
        stream.next_message(PATIENCE).await;
        fastest = fastest.min(started.elapsed());
    }
    assert!(fastest < Duration::from_millis(150), "{fastest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_a_stale_month_is_told_what_it_missed() {
    let relay = Relay::start().await;
    let stale =
        NewEvent { body: vec![b's'; 1_000], ..NewEvent::signed(Some(now() - time::Duration::hours(1))) };
    for _ in 0..1_500 {
        relay.writer.append_quietly(&stale).await;
    }
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let mut stream = relay.listen("/subscribe/render?since=10").await;
    assert_eq!(sequences_until(&mut stream, "skipped 1490 stale events 11..1500").await, [1501]);
    until(PATIENCE, "the skips to be counted", async || {
        relay.metric("hooks_subscribe_skipped_total{source=\"render\"}").await == 1490.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_lost_its_end_in_a_failover_is_followed() {
    let relay = Setup { sources: &["failover"], ..Setup::default() }.start().await;
    let event = || NewEvent { source: "failover", ..NewEvent::fresh() };
    let mut stream = relay.listen("/subscribe/failover").await;
    for expected in 1..=5 {
        relay.writer.append(&event()).await;
        assert_eq!(sequences(&mut stream, 1).await, [expected]);
    }
    // The promoted standby has only three of them.
    relay.db.execute("delete from events where sequence > 3", &[]).await;
    relay.db.execute("update source_heads set last_sequence = 3 where source = 'failover'", &[]).await;
    until(PATIENCE, "the shorter log to be noticed", async || !lines_about("now", "3").is_empty()).await;
    let mut ahead = relay.listen("/subscribe/failover?since=5").await;
    assert_eq!(ahead.next(PATIENCE).await, Item::Comment("ahead of log".to_owned()));
    let mut fresh = relay.listen("/subscribe/failover?since=0").await;
    assert_eq!(sequences(&mut fresh, 3).await, [1, 2, 3]);
    // Ingest moves the heads before it gives another number.
    relay.db.execute("update source_heads set last_sequence = 1000003 where source = 'failover'", &[]).await;
    relay.writer.append(&event()).await;
    for stream in [&mut stream, &mut ahead, &mut fresh] {
        assert_eq!(sequences(stream, 1).await, [1_000_004]);
    }
}
