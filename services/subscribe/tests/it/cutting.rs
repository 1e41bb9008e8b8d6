//! How streams end: always by a cut, for a reason, and without hurting the others.

use crate::support::{NewEvent, PATIENCE, Relay, Setup, listen_with, mint, sequences};
use hooks_shared::token;
use hooks_testkit::http::RawConnection;
use hooks_testkit::sse::{End, Stream};
use hooks_testkit::until;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_cuts_every_stream_within_a_second() {
    let relay = Relay::start().await;
    relay.writer.append_quietly(&NewEvent::fresh()).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        let mut stream = relay.listen("/subscribe/render?since=0").await;
        sequences(&mut stream, 1).await;
        streams.push(stream);
    }
    let (address, running) = (relay.running.address, relay.running);
    let began = Instant::now();
    let stopping = tokio::spawn(running.stop());
    for stream in &mut streams {
        assert_eq!(stream.to_end(PATIENCE).await.1, End::Cut);
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    stopping.await.expect("stop");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(RawConnection::try_connect(address).await.is_err());
}

async fn change_token(relay: &Relay, token: &str, change: &str) {
    let update = format!("update tokens set {change} where secret_hash = $1");
    relay.db.execute(&update, &[&token::hash(token)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_no_longer_good_ends_its_streams() {
    let relay = Relay::start().await;
    let mut other = relay.listen("/subscribe/render").await;
    for change in ["revoked_at = now()", "expires_at = now()"] {
        let token = mint(&relay.db, "listener", &["render"]).await;
        let mut stream = Stream::open(relay.running.address, "/subscribe/render", &token).await;
        change_token(&relay, &token, change).await;
        let began = Instant::now();
        // The expiry comes without a hint.
        if change.starts_with("revoked") {
            relay.writer.notify("!tokens").await;
        }
        assert_eq!(stream.to_end(PATIENCE).await.1, End::Cut);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
    assert_eq!(relay.metric("hooks_subscribe_cuts_total{reason=\"token\"}").await, 2.0);
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut other, 1).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_takes_nothing_is_cut_and_slows_nobody() {
    let relay = Relay::start().await;
    let mut stuck = relay.listen("/subscribe/render").await;
    let mut quick = relay.listen("/subscribe/render").await;
    let event = NewEvent { body: vec![b'x'; 200_000], ..NewEvent::fresh() };
    let began = Instant::now();
    let mut slowest = Duration::ZERO;
    // Far more than the stuck reader's buffers hold: its kernel's, ours, and one message.
    for expected in 1..=60 {
        let appended = Instant::now();
        relay.writer.append(&event).await;
        assert_eq!(sequences(&mut quick, 1).await, [expected]);
        slowest = slowest.max(appended.elapsed());
    }
    println!("slowest message beside a stuck reader: {slowest:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    relay.wait_metric("hooks_subscribe_cuts_total{reason=\"stalled\"}", |cuts| cuts == 1.0).await;
    assert!(began.elapsed() >= Duration::from_secs(2));
    assert_eq!(stuck.to_end(PATIENCE).await.1, End::Cut);
    relay.writer.append(&event).await;
    assert_eq!(sequences(&mut quick, 1).await, [61]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_gets_everything_at_its_own_pace() {
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 60s, ring_bytes: 1MiB}\n";
    let relay = Setup { settings, ..Setup::default() }.start().await;
    let mut slow = relay.listen("/subscribe/render").await;
    let event = NewEvent { body: vec![b'x'; 100_000], ..NewEvent::fresh() };
    for _ in 0..100 {
        relay.writer.append(&event).await;
    }
    // The ring holds seven of them by now: the rest comes from the database, filtered by nothing.
    let all: Vec<i64> = (1..=100).collect();
    assert_eq!(sequences(&mut slow, 100).await, all);
    assert!(relay.metric("hooks_subscribe_catch_up_reads_total").await > 0.0);
    assert_eq!(relay.metric("hooks_subscribe_cuts_total{reason=\"stalled\"}").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_behind_in_time_is_live_and_never_filtered() {
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 30s, ring_bytes: 1MiB}\n";
    let relay = Setup { settings, ..Setup::default() }.start().await;
    let mut slow = relay.listen("/subscribe/render").await;
    let old = crate::support::now() - time::Duration::hours(2);
    let stale = NewEvent { body: vec![b'x'; 100_000], ..NewEvent::signed(Some(old)) };
    for _ in 0..40 {
        relay.writer.append(&stale).await;
    }
    assert_eq!(sequences(&mut slow, 40).await, (1..=40).collect::<Vec<i64>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_reader_is_never_cut() {
    let relay = Relay::start().await;
    let mut stream = relay.listen("/subscribe/render").await;
    // Eight keepalives are longer than the stall timeout; it reads none of them until then.
    until(PATIENCE, "time for a stall", async || {
        relay.metric("hooks_subscribe_listeners{source=\"render\"}").await == 1.0
    })
    .await;
    stream.collect_until_comment("keepalive", PATIENCE).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        stream.collect_until_comment("keepalive", PATIENCE).await;
    }
    assert_eq!(relay.metric("hooks_subscribe_cuts_total{reason=\"stalled\"}").await, 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconnect_goes_on_where_the_cut_came() {
    let relay = Relay::start().await;
    for _ in 0..10 {
        relay.writer.append_quietly(&NewEvent::fresh()).await;
    }
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    let seen = sequences(&mut stream, 4).await;
    drop(stream);
    let mut stream =
        listen_with(&relay, "/subscribe/render", &[("Last-Event-ID", "4")]).await.expect("a stream");
    assert_eq!((seen, sequences(&mut stream, 6).await), (vec![1, 2, 3, 4], vec![5, 6, 7, 8, 9, 10]));
}
