//! The database, or the way to it, goes away under readers. Whatever happens, what a reader gets is the table in
//! order, each event once, and nothing is missing.

use crate::support::{NewEvent, PATIENCE, QUICK, Relay, Setup, Writer, configured, mint, sequences};
use hooks_shared::Clock;
use hooks_subscribe::app::{Seams, build};
use hooks_testkit::db::TestDb;
use hooks_testkit::http;
use hooks_testkit::pg::{Cluster, Options, StopMode};
use hooks_testkit::proxy::Proxy;
use hooks_testkit::sse::{Item, Next, Stream};
use hooks_testkit::until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

const SOURCES: [&str; 3] = ["render", "github", "stripe"];
const WRITERS: usize = 2;
const ROUNDS: u32 = 5;
const EACH_ROUND: i64 = 250;

/// Writers of all sources that go on until they are stopped; a failed append is made again.
struct Load {
    stop: Arc<AtomicBool>,
    writers: Vec<JoinHandle<()>>,
}

impl Load {
    async fn start(db: &Arc<TestDb>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        for source in SOURCES {
            for _ in 0..WRITERS {
                let (db, stop) = (Arc::clone(db), Arc::clone(&stop));
                writers.push(tokio::spawn(async move { keep_writing(&db, source, &stop).await }));
            }
        }
        Self { stop, writers }
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.expect("a writer");
        }
    }
}

async fn keep_writing(db: &TestDb, source: &'static str, stop: &AtomicBool) {
    let connected = async || until(PATIENCE, "a connection", async || Writer::try_new(db).await).await;
    let mut writer = connected().await;
    while !stop.load(Ordering::Relaxed) {
        match writer.try_append(&NewEvent { source, ..NewEvent::fresh() }).await {
            Ok(_) => writer.notify(source).await,
            Err(_) => writer = connected().await,
        }
    }
}

/// Everything from one connection up to `last`.
async fn read_through(mut stream: Stream, last: i64) -> Vec<i64> {
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        match stream.try_next(PATIENCE).await {
            Next::Item(Item::Message(message)) => seen.push(message.sequence()),
            Next::Item(Item::Comment(_)) => {}
            other => panic!("{other:?} behind {:?} of {last}", seen.last()),
        }
    }
    seen
}

/// Two readers a source; at the end each one's list must be the table.
async fn compare(db: &TestDb, readers: Vec<(&'static str, Stream)>) -> i64 {
    let mut total = 0;
    for (source, stream) in readers {
        let rows =
            db.query("select sequence from events where source = $1 order by sequence", &[&source]).await;
        let table: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        let last = *table.last().expect("events");
        assert_eq!(read_through(stream, last).await, table, "{source}");
        total += table.len() as i64;
    }
    total
}

async fn readers(relay: &Relay) -> Vec<(&'static str, Stream)> {
    let mut readers = Vec::new();
    for source in SOURCES {
        for _ in 0..2 {
            readers.push((source, relay.listen(&format!("/subscribe/{source}")).await));
        }
    }
    readers
}

/// Disturbs again and again while everybody writes, each time letting more events through; the readers read only
/// afterwards, so they also fall behind.
async fn under_load(relay: Relay, mut disturb: impl AsyncFnMut(u32)) {
    let readers = readers(&relay).await;
    let Relay { db, running, .. } = relay;
    let db = Arc::new(db);
    let load = Load::start(&db).await;
    for round in 0..ROUNDS {
        disturb(round).await;
        let wanted = stored(&db).await.unwrap_or(0) + EACH_ROUND;
        until(PATIENCE, "more events", async || {
            let stored = stored(&db).await?;
            if stored >= wanted { Ok(()) } else { Err(format!("{stored} of {wanted}")) }
        })
        .await;
    }
    load.stop().await;
    let total = compare(&db, readers).await;
    println!("{total} events compared");
    assert!(total > i64::from(ROUNDS) * EACH_ROUND);
    running.stop().await;
}

async fn stored(db: &TestDb) -> Result<i64, String> {
    let client = hooks_testkit::pg::connect(&db.url()).await.map_err(|error| error.to_string())?;
    let row = client.query_one("select sum(last_sequence)::bigint from source_heads", &[]).await;
    row.map(|row| row.get(0)).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missing_when_nobody_listens_for_hints() {
    let settings = "listen_database_url: \"off\"\nsubscribe: {keepalive: 300ms, stall_timeout: 30s}\n";
    let relay = Setup { sources: &SOURCES, settings, ..Setup::default() }.start().await;
    under_load(relay, async |_| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missing_when_listen_is_cut_again_and_again() {
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 30s}\n";
    let relay = Setup { sources: &SOURCES, settings, ..Setup::default() }.start().await;
    let admin = relay.db.client().await;
    under_load(relay, async |_| {
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name = 'hooks-subscribe-listen'";
        admin.execute(cut, &[]).await.expect("cut LISTEN");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missing_when_every_link_is_cut_and_slow() {
    let db = TestDb::create().await;
    let proxy = Proxy::to_database(&db.url_for("subscribe")).await;
    proxy.delay_between(Duration::ZERO, Duration::from_millis(20));
    let url = proxy.url(&db.url_for("subscribe"));
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 30s, ring_bytes: 64KiB}\n";
    let relay = Setup { sources: &SOURCES, settings, ..Setup::default() }.start_via(db, &url).await;
    under_load(relay, async |_| proxy.cut().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missing_when_postgres_restarts() {
    let cluster = Cluster::start(Options::default()).await;
    let db = TestDb::on(&cluster).await;
    let settings = "subscribe: {keepalive: 300ms, stall_timeout: 30s}\n";
    let relay = Setup { sources: &SOURCES, settings, ..Setup::default() }.start_on(db).await;
    under_load(relay, async |round| {
        let mode = if round % 2 == 0 { StopMode::Fast } else { StopMode::Immediate };
        cluster.stop(mode).await;
        cluster.start_again().await;
    })
    .await;
}

async fn readyz(address: std::net::SocketAddr) -> (u16, String) {
    let answer = http::get(address, "/readyz", &[]).await;
    (answer.status, answer.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_at_the_start_is_waited_for() {
    let db = TestDb::create().await;
    let url = db.url_for("subscribe");
    let proxy = Proxy::to_database(&url).await;
    proxy.refuse().await;
    let token = mint(&db, "listener", &["render"]).await;
    let writer = Writer::new(&db).await;
    writer.append_quietly(&NewEvent::fresh()).await;
    let seams = Seams { clock: Clock::system(), ..Seams::default() };
    let config = configured(&["render"], QUICK, &proxy.url(&url));
    let running = build(config, "127.0.0.1:0", "127.0.0.1:0", seams).await.expect("build");
    let relay = Relay { db, running, token, writer };

    let (status, text) = readyz(relay.running.admin_address).await;
    assert_eq!(status, 503, "{text}");
    assert_eq!(relay.get("/healthz").await.status, 200);
    let answer = relay.get("/subscribe/render").await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.text(), "the database cannot be reached, try again\n");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(relay.get("/subscribe/nowhere").await.status, 404);
    until(PATIENCE, "a reason in /readyz", async || {
        let (status, text) = readyz(relay.running.admin_address).await;
        if status == 503 && text.contains("database: cannot connect") { Ok(()) } else { Err(text) }
    })
    .await;

    proxy.pass().await;
    until(PATIENCE, "readiness", async || {
        let seen = readyz(relay.running.admin_address).await;
        if seen == (200, "ready\n".to_owned()) { Ok(()) } else { Err(seen) }
    })
    .await;
    let mut stream = relay.listen("/subscribe/render?since=0").await;
    assert_eq!(sequences(&mut stream, 1).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_stream_lives_through_an_outage_on_keepalives() {
    let db = TestDb::create().await;
    let url = db.url_for("subscribe");
    let proxy = Proxy::to_database(&url).await;
    let relay = Setup::default().start_via(db, &proxy.url(&url)).await;
    let mut stream = relay.listen("/subscribe/render").await;
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut stream, 1).await, [1]);
    proxy.refuse().await;
    proxy.cut().await;
    relay.writer.append(&NewEvent::fresh()).await;
    for _ in 0..4 {
        assert_eq!(stream.next(PATIENCE).await, Item::Comment("keepalive".to_owned()));
    }
    proxy.pass().await;
    assert_eq!(sequences(&mut stream, 1).await, [2]);
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut stream, 1).await, [3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_falls_silent_is_left_for_one_that_answers() {
    let db = TestDb::create().await;
    let url = db.url_for("subscribe");
    let silent = Proxy::to_database(&url).await;
    let relay = Setup::default().start_via(db, &silent.url(&url)).await;
    let mut stream = relay.listen("/subscribe/render").await;
    relay.writer.append(&NewEvent::fresh()).await;
    assert_eq!(sequences(&mut stream, 1).await, [1]);
    silent.blackhole().await;
    relay.writer.append(&NewEvent::fresh()).await;
    until(PATIENCE, "readiness to go", async || {
        let (status, text) = readyz(relay.running.admin_address).await;
        if status == 503 { Ok(()) } else { Err(text) }
    })
    .await;
    // What hangs is given up by the service; new connections pass.
    silent.pass().await;
    let mut after = relay.listen("/subscribe/render?since=1").await;
    assert_eq!(sequences(&mut after, 1).await, [2]);
    assert_eq!(sequences(&mut stream, 1).await, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_our_schema_is_told_in_readyz() {
    let cluster = Cluster::shared().await;
    let db = TestDb::empty_on(&cluster).await;
    let config = configured(&["render"], QUICK, &db.url());
    let running = build(config, "127.0.0.1:0", "127.0.0.1:0", Seams::default()).await.expect("build");
    until(PATIENCE, "the complaint", async || {
        let (status, text) = readyz(running.admin_address).await;
        if status == 503 && text.contains("hooksctl migrate") { Ok(()) } else { Err(text) }
    })
    .await;
    running.stop().await;
}
