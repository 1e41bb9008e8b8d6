//! `ingest`: signed 1.5 KB webhooks over 64 connections, verified and committed before the answer, against the
//! same rows inserted by `unnest` in batches of 100 over one connection: what PostgreSQL takes when nothing is
//! checked and nobody waits for an answer.

use crate::{cpu, load, report};
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::pg::{Cluster, Options};
use hooks_testkit::process::{Launch, Service};
use hooks_testkit::until;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_postgres::Client;

const SOURCES: usize = 8;
const CONNECTIONS: usize = 64;
const BATCH: u64 = 100;

const INSERT: &str = "insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, \
    event_type, provider_timestamp, method, target, headers, exact, remote_addr, body, body_sha256) \
    select 'baseline', sequence, now(), event_id, dedupe_key, delivery_id, 'deploy_ended', now(), 'POST', \
    '/ingest/baseline', headers, true, '127.0.0.1', body, sha \
    from unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[]) \
    as rows(sequence, event_id, dedupe_key, delivery_id, headers, body, sha)";

pub fn config() -> ConfigFile {
    let sources: String = (0..SOURCES)
        .map(|n| format!("  s{n}: {{verifier: standard_webhooks, secret: \"{}\"}}\n", load::SECRET))
        .collect();
    ConfigFile::write(&format!("sources:\n{sources}"))
}

pub async fn start(binary: &str, database: &TestDb, config: &ConfigFile) -> Service {
    let role = binary.trim_start_matches("hooks-").replace('-', "_");
    let (name, url) = database.env_for(&role);
    let launch = Launch::service(binary).config(config.path()).env(name, url);
    launch.start_ready(Duration::from_secs(30)).await
}

pub async fn run(rounds: usize, seconds: Duration) {
    let cluster = Cluster::start(Options::durable()).await;
    let database = TestDb::on(&cluster).await;
    let config = config();
    let service = start("hooks-ingest", &database, &config).await;
    let address = service.address().await;
    let client = database.client().await;
    let postmaster = postmaster(&client).await;
    let mut sequence = 0;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    let (mut used, mut bare_used) = ((0.0, 0.0, 0.0), 0.0);
    for round in 0..=rounds {
        let before = (service.cpu_seconds(), cpu::of_family(postmaster), cpu::of_family(std::process::id()));
        let accepted = offered(address, seconds).await;
        let middle = cpu::of_family(postmaster);
        let inserted = baseline(&client, &mut sequence, seconds).await;
        let after = cpu::of_family(postmaster);
        if round == 0 {
            continue; // Warm-up.
        }
        ours.push(accepted);
        bare.push(inserted);
        used.0 += service.cpu_seconds() - before.0;
        used.1 += middle - before.1;
        used.2 += cpu::of_family(std::process::id()) - before.2;
        bare_used += after - middle;
        println!(
            "round {round}: ingest {accepted:.0}/s, bare batches {inserted:.0}/s, ratio {:.2}",
            accepted / inserted
        );
    }
    println!();
    report::line("verified, committed, answered", "events/s", &ours);
    report::line("unnest, batches of 100", "events/s", &bare);
    let ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    println!("ratio (median of rounds)         {:.2}", report::median(&ratios));
    let total = rounds as f64 * seconds.as_secs_f64();
    println!(
        "CPU seconds per second: ingest {:.2}, PostgreSQL {:.2}, load generator {:.2}; bare: PostgreSQL {:.2}",
        used.0 / total,
        used.1 / total,
        used.2 / total,
        bare_used / total
    );
    check(&database, ours.len()).await;
}

/// Offers as much as is taken; events accepted a second.
pub async fn offered(address: std::net::SocketAddr, seconds: Duration) -> f64 {
    let stop = Arc::new(AtomicBool::new(false));
    let started = Instant::now();
    let running = tokio::spawn(load::closed_loop(address, SOURCES, CONNECTIONS, stop.clone()));
    until(2 * seconds, "the measured time", async || started.elapsed() >= seconds).await;
    stop.store(true, Ordering::Relaxed);
    let accepted = running.await.expect("the load");
    accepted as f64 / started.elapsed().as_secs_f64()
}

async fn baseline(client: &Client, sequence: &mut u64, seconds: Duration) -> f64 {
    let statement = client.prepare(INSERT).await.expect("the baseline statement");
    let headers = vec![b'h'; 330];
    let started = Instant::now();
    let first = *sequence;
    while started.elapsed() < seconds {
        let numbers: Vec<i64> = (*sequence + 1..=*sequence + BATCH).map(|n| n as i64).collect();
        *sequence += BATCH;
        let ids: Vec<String> = numbers.iter().map(|n| format!("evt_{n:026}")).collect();
        let keys: Vec<Vec<u8>> = numbers.iter().map(|n| [&n.to_be_bytes()[..]; 4].concat()).collect();
        let bodies: Vec<Vec<u8>> = numbers.iter().map(|n| load::body(*n as u64)).collect();
        let heads: Vec<&[u8]> = numbers.iter().map(|_| headers.as_slice()).collect();
        client
            .execute(&statement, &[&numbers, &ids, &keys, &ids, &heads, &bodies, &keys])
            .await
            .expect("the baseline insert");
    }
    (*sequence - first) as f64 / started.elapsed().as_secs_f64()
}

/// The postmaster's pid: the parent of any backend.
pub async fn postmaster(client: &Client) -> u32 {
    let row = client.query_one("select pg_backend_pid()", &[]).await.expect("a backend");
    cpu::parent_of(row.get::<_, i32>(0) as u32)
}

/// What was counted is what is there: numbers without gap in every source.
async fn check(database: &TestDb, rounds: usize) {
    let row = database
        .query_one(
            "select count(*) as stored, count(distinct (source, sequence)) as numbers, \
             (select sum(last_sequence)::bigint from source_heads) as heads from events where source <> 'baseline'",
            &[],
        )
        .await;
    let (stored, numbers, heads): (i64, i64, i64) = (row.get("stored"), row.get("numbers"), row.get("heads"));
    assert!(
        rounds > 0 && stored == numbers && stored == heads,
        "{stored} stored, {numbers} numbers, heads at {heads}"
    );
    println!("{stored} events stored, numbered without gap");
}
