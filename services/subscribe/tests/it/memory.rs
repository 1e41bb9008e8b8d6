//! What an idle listener costs, measured on the real process.

use crate::support::{NewEvent, PATIENCE, Writer, mint};
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http;
use hooks_testkit::process::Launch;
use hooks_testkit::sse::Stream;
use hooks_testkit::until;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const LISTENERS: usize = 2_000;
/// KiB each; the promise.
const AT_MOST: f64 = 32.0;

const YAML: &str = "
sources:
  idle: {verifier: github, secret: unused}
  busy: {verifier: github, secret: unused}
";

async fn metric(admin: SocketAddr, name: &str) -> f64 {
    let text = http::get(admin, "/metrics", &[]).await.text();
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0.0)
}

/// Opens many streams, some at a time.
async fn open_many(address: SocketAddr, token: &str, path: &'static str, count: usize) -> Vec<Stream> {
    let mut streams = Vec::with_capacity(count);
    while streams.len() < count {
        let openings: Vec<_> = (0..50.min(count - streams.len()))
            .map(|_| {
                let token = token.to_owned();
                tokio::spawn(async move { Stream::open(address, path, &token).await })
            })
            .collect();
        for opening in openings {
            streams.push(opening.await.expect("open a stream"));
        }
    }
    streams
}

/// Messages on the busy source: the slowest from append to arrival, and the median.
async fn latencies(writer: &Writer, stream: &mut Stream) -> (Duration, Duration) {
    let mut all = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        writer.append(&NewEvent { source: "busy", ..NewEvent::fresh() }).await;
        stream.next_message(PATIENCE).await;
        all.push(began.elapsed());
    }
    all.sort_unstable();
    (all[all.len() - 1], all[all.len() / 2])
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_idle_listeners_are_cheap_and_slow_nobody() {
    let db = TestDb::create().await;
    let token = mint(&db, "listener", &["idle", "busy"]).await;
    let writer = Writer::new(&db).await;
    let config = ConfigFile::write(YAML);
    let (variable, url) = db.env_for("subscribe");
    let service = Launch::service("hooks-subscribe").config(config.path()).env(variable, url);
    let service = service.start_ready(PATIENCE).await;
    let (address, admin) = (service.address().await, service.admin().await);

    // Everything that is not a listener's own is there before the first measurement.
    let mut busy = Stream::open(address, "/subscribe/busy", &token).await;
    let warm = open_many(address, &token, "/subscribe/idle", 50).await;
    let alone = latencies(&writer, &mut busy).await;
    let before = service.rss_kib();
    let streams = open_many(address, &token, "/subscribe/idle", LISTENERS).await;
    until(PATIENCE, "the listeners", async || {
        metric(admin, "hooks_subscribe_listeners{source=\"idle\"}").await == (LISTENERS + warm.len()) as f64
    })
    .await;
    let after = service.rss_kib();
    let each = (after.saturating_sub(before)) as f64 / LISTENERS as f64;
    let beside = latencies(&writer, &mut busy).await;
    println!("{LISTENERS} idle listeners: {before} KiB before, {after} KiB after, {each:.1} KiB each");
    println!("append to arrival, slowest and median: alone {alone:?}, beside them {beside:?}");
    assert!(each <= AT_MOST, "{each:.1} KiB each");

    // One event for all of them.
    let cpu = service.cpu_seconds();
    let began = Instant::now();
    writer.append(&NewEvent { source: "idle", ..NewEvent::fresh() }).await;
    for mut stream in streams {
        stream.next_message(PATIENCE).await;
    }
    println!(
        "one event to {LISTENERS}: {:?}, {:.3} CPU seconds",
        began.elapsed(),
        service.cpu_seconds() - cpu
    );
}
