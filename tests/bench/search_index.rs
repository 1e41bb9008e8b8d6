//! `search-index`: what ingest takes while an inspector fills the search index behind it, against the same without an
//! inspector, in turns on one machine. The limit is a loss of a tenth. How far the index fell behind, and how fast it
//! catches up once nothing arrives, is printed beside it.

use crate::ingest::{config, offered, postmaster, start};
use crate::{cpu, report};
use hooks_testkit::db::TestDb;
use hooks_testkit::pg::{Cluster, Options};
use hooks_testkit::process::{Service, Signal};
use hooks_testkit::until;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The share of its throughput that ingest must keep.
const KEPT: f64 = 0.9;

/// Whether the limit held in the median of the rounds.
pub async fn run(rounds: usize, seconds: Duration) -> bool {
    let cluster = Cluster::start(Options::durable()).await;
    let database = TestDb::on(&cluster).await;
    let config = config();
    let ingest = start("hooks-ingest", &database, &config).await;
    let address = ingest.address().await;
    let postmaster = postmaster(&database.client().await).await;
    offered(address, seconds).await; // Warm-up.
    let (mut with, mut without, mut indexed_a_second) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=rounds {
        // Whoever comes first has the smaller tables, so they take turns in that, too.
        for filled in [round % 2 == 0, round % 2 == 1] {
            let before = cpu::of_family(postmaster);
            if filled {
                let (accepted, indexed) = beside_inspector(&database, address, seconds).await;
                with.push(accepted);
                indexed_a_second.push(indexed);
            } else {
                without.push(offered(address, seconds).await);
            }
            let used = (cpu::of_family(postmaster) - before) / seconds.as_secs_f64();
            let last = if filled { with.last() } else { without.last() };
            println!(
                "round {round}, index {}: {:.0} events/s, PostgreSQL {used:.2} CPU seconds a second",
                if filled { "filled" } else { "left   " },
                last.copied().unwrap_or_default(),
            );
        }
    }
    println!();
    report::line("index filled behind ingest", "events/s", &with);
    report::line("no inspector", "events/s", &without);
    report::line("indexed meanwhile", "events/s", &indexed_a_second);
    let ratios: Vec<f64> = with.iter().zip(&without).map(|(with, without)| with / without).collect();
    let ratio = report::median(&ratios);
    println!("ratio (median of rounds)         {ratio:.3}, limit {KEPT}");
    catch_up(&database, seconds).await;
    ratio >= KEPT
}

/// Accepted and indexed a second.
async fn beside_inspector(database: &TestDb, address: SocketAddr, seconds: Duration) -> (f64, f64) {
    let inspector = start("hooks-inspector", database, &config()).await;
    let before = indexed(database).await;
    let began = Instant::now();
    let accepted = offered(address, seconds).await;
    let done = indexed(database).await - before;
    let rate = done as f64 / began.elapsed().as_secs_f64();
    stop(&inspector).await;
    (accepted, rate)
}

async fn indexed(database: &TestDb) -> i64 {
    let sql = "select coalesce(sum(sequence), 0)::bigint from event_search_progress";
    database.query_one(sql, &[]).await.get(0)
}

/// How fast the backlog is worked off when nothing arrives.
async fn catch_up(database: &TestDb, seconds: Duration) {
    let inspector = start("hooks-inspector", database, &config()).await;
    let (before, began) = (indexed(database).await, Instant::now());
    until(2 * seconds, "the measured time", async || began.elapsed() >= seconds).await;
    let rate = (indexed(database).await - before) as f64 / began.elapsed().as_secs_f64();
    println!("indexed while nothing arrives    {rate:.0} events/s");
    stop(&inspector).await;
}

async fn stop(service: &Service) {
    service.signal(Signal::Term);
    service.wait_exit(Duration::from_secs(20)).await;
}
