//! The container suite: the repository's compose stack, started for real and broken in the ways that machines and
//! networks break. `.ci/containers` builds what it needs and starts it; names as arguments choose scenarios.

mod engine;
mod ledger;
mod link;
mod load;
mod report;
mod scenarios;
mod stack;

use scenarios::Scenario;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Scenarios beside each other. Most of one is waiting: for leases, outages, health checks and containers.
const AT_ONCE: usize = 3;

/// A scenario's end may block its thread while the stack is taken down.
#[tokio::main(worker_threads = 8)]
async fn main() -> ExitCode {
    report::name_panics();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    let mut passed = 0;
    let mut failed = Vec::new();
    let mut count = |name: &'static str, ok: bool| if ok { passed += 1 } else { failed.push(name) };
    for (name, scenario) in scenarios::FIRST.iter().filter(|(name, _)| chosen(name)) {
        count(name, run(name, *scenario).await);
    }
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for (name, scenario) in scenarios::BESIDE.iter().filter(|(name, _)| chosen(name)) {
        let place = places.clone().acquire_owned().await.expect("places are never closed");
        running.spawn(async move {
            let ok = run(name, *scenario).await;
            drop(place);
            (*name, ok)
        });
    }
    while let Some(ended) = running.join_next().await {
        let (name, ok) = ended.expect("a scenario's panic is caught in it");
        count(name, ok);
    }
    for name in &failed {
        println!("failed: {name}");
    }
    println!("containers: {passed} passed, {} failed", failed.len());
    if failed.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs one; whether it passed. A task of its own, so that a panic ends the scenario and not the suite.
async fn run(name: &'static str, scenario: Scenario) -> bool {
    println!("{name} …");
    let began = Instant::now();
    let ok = tokio::spawn(report::named(name, scenario())).await.is_ok();
    println!("{name} … {} ({:.0} s)", if ok { "ok" } else { "FAILED" }, began.elapsed().as_secs_f64());
    ok
}
