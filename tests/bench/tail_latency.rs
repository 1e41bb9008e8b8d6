//! `tail-latency`: from the 2xx that the provider gets to the event on a listener's stream, at 200 events a
//! second in open loop, against a bare `pg_notify` round trip between two connections.

use crate::ingest::{config, start};
use crate::{load, report};
use futures_util::future::poll_fn;
use hooks_testkit::db::TestDb;
use hooks_testkit::pg::{Cluster, Options};
use hooks_testkit::sse::{Item, Next, Stream};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, NoTls};

const PER_SECOND: u32 = 200;
const TOKEN: &str = "hk_benchmark-benchmark-benchmark-benchmark-00";

pub async fn run(rounds: usize, seconds: Duration) {
    let cluster = Cluster::start(Options::durable()).await;
    let database = TestDb::on(&cluster).await;
    let config = config();
    let ingest = start("hooks-ingest", &database, &config).await;
    let subscribe = start("hooks-subscribe", &database, &config).await;
    let hash = Sha256::digest(TOKEN.as_bytes()).to_vec();
    database
        .execute(
            "insert into tokens (id, name, kind, scopes, secret_hash) values ($1, 'bench', 'listener', '{s0}', $2)",
            &[&uuid::Uuid::new_v4(), &hash],
        )
        .await;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let before = (ingest.cpu_seconds(), subscribe.cpu_seconds());
    for round in 0..=rounds {
        let latencies = tail(ingest.address().await, subscribe.address().await, seconds).await;
        let notified = notify(&database.url(), seconds / 2).await;
        println!(
            "round {round}: tail p50 {:.2} ms p99 {:.2} ms, pg_notify p50 {:.2} ms p99 {:.2} ms",
            report::percentile(&latencies, 0.5),
            report::percentile(&latencies, 0.99),
            report::percentile(&notified, 0.5),
            report::percentile(&notified, 0.99)
        );
        if round > 0 {
            ours.push(latencies);
            bare.push(notified);
        }
    }
    println!();
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let of =
            |rounds: &[Vec<f64>]| rounds.iter().map(|r| report::percentile(r, share)).collect::<Vec<_>>();
        let (tail, notify) = (of(&ours), of(&bare));
        report::line(&format!("2xx to SSE byte, {name}"), "ms", &tail);
        report::line(&format!("pg_notify round trip, {name}"), "ms", &notify);
        let ratios: Vec<f64> = tail.iter().zip(&notify).map(|(tail, notify)| tail / notify).collect();
        println!("ratio {name}                        {:.2}", report::median(&ratios));
    }
    let total = (rounds + 1) as f64 * seconds.as_secs_f64() * 1.5;
    println!(
        "CPU seconds per second: ingest {:.3}, subscribe {:.3}",
        (ingest.cpu_seconds() - before.0) / total,
        (subscribe.cpu_seconds() - before.1) / total
    );
}

/// Milliseconds from the acknowledgement to the frame, for every event of a run.
async fn tail(ingest: SocketAddr, subscribe: SocketAddr, seconds: Duration) -> Vec<f64> {
    let mut stream = Stream::open(subscribe, "/subscribe/s0?since=latest", TOKEN).await;
    let (acknowledged, mut acks) = mpsc::unbounded_channel();
    let sender = tokio::spawn(offer(ingest, seconds, acknowledged));
    let mut seen: HashMap<String, Instant> = HashMap::new();
    let expected = (PER_SECOND as f64 * seconds.as_secs_f64()) as usize;
    let deadline = Instant::now() + seconds + Duration::from_secs(10);
    while seen.len() < expected && Instant::now() < deadline {
        match stream.try_next(Duration::from_secs(1)).await {
            Next::Item(Item::Message(message)) => {
                let id = message.json()["delivery_id"].as_str().unwrap_or_default().to_owned();
                seen.insert(id, Instant::now());
            }
            Next::Item(Item::Comment(_)) | Next::Nothing => {}
            Next::End(end) => panic!("the stream ended: {end:?}"),
        }
    }
    sender.await.expect("the sender");
    let mut latencies = Vec::new();
    while let Some((id, at)) = acks.recv().await {
        let arrived: &Instant =
            seen.get(&id).unwrap_or_else(|| panic!("{id} was acknowledged and never seen"));
        latencies.push(arrived.saturating_duration_since(at).as_secs_f64() * 1000.0);
    }
    latencies
}

/// Sends on schedule, whatever the answers take, over a handful of connections.
async fn offer(
    ingest: SocketAddr,
    seconds: Duration,
    acknowledged: mpsc::UnboundedSender<(String, Instant)>,
) {
    static RUN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let run = RUN.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let count = (PER_SECOND as f64 * seconds.as_secs_f64()) as u64;
    let mut queues = Vec::new();
    for _ in 0..16 {
        let (queue, mut jobs) = mpsc::unbounded_channel::<(String, Vec<u8>)>();
        let acknowledged = acknowledged.clone();
        let mut connection = TcpStream::connect(ingest).await.expect("connect to ingest");
        connection.set_nodelay(true).expect("nodelay");
        tokio::spawn(async move {
            let mut buffer = Vec::new();
            while let Some((id, request)) = jobs.recv().await {
                let status = load::exchange(&mut connection, &request, &mut buffer).await.expect("an answer");
                assert!(status == 200 || status == 202, "ingest answered {status}");
                let _ = acknowledged.send((id, Instant::now()));
            }
        });
        queues.push(queue);
    }
    let started = tokio::time::Instant::now();
    for number in 0..count {
        tokio::time::sleep_until(started + Duration::from_secs(1) * number as u32 / PER_SECOND).await;
        let id = format!("tail-{run}-{number}");
        let request = load::request("s0", &id, &load::body(number));
        queues[number as usize % queues.len()].send((id, request)).expect("a connection");
    }
}

/// Milliseconds from sending `pg_notify` on one connection to its arrival on another, at the same rate.
async fn notify(url: &str, seconds: Duration) -> Vec<f64> {
    let (listener, mut connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(note) = message {
                let _ = arrived.send((note.payload().to_owned(), Instant::now()));
            }
        }
    });
    listener.batch_execute("listen bench").await.expect("listen");
    let (client, driver) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(driver);
    let statement = client.prepare("select pg_notify('bench', $1)").await.expect("prepare");
    let started = tokio::time::Instant::now();
    let count = (PER_SECOND as f64 * seconds.as_secs_f64()) as u32;
    let mut latencies = Vec::new();
    for number in 0..count {
        tokio::time::sleep_until(started + Duration::from_secs(1) * number / PER_SECOND).await;
        let sent = Instant::now();
        client.query(&statement, &[&number.to_string()]).await.expect("notify");
        let (_, at) = arrivals.recv().await.expect("a notification");
        latencies.push(at.duration_since(sent).as_secs_f64() * 1000.0);
    }
    latencies
}
