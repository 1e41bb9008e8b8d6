//! The container suite: the repository's compose stack, started for real and broken in the ways that machines and
//! networks break. `.ci/containers` builds what it needs and starts it; names as arguments choose scenarios.

mod engine;
mod ledger;
mod link;
mod load;
mod scenarios;
mod stack;

use std::process::ExitCode;
use std::time::Instant;

#[tokio::main]
async fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, scenario) in scenarios::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        println!("{name} …");
        let began = Instant::now();
        // A task of its own, so that a panic ends the scenario and not the suite.
        match tokio::spawn(scenario()).await {
            Ok(()) => {
                passed += 1;
                println!("{name} … ok ({:.0} s)", began.elapsed().as_secs_f64());
            }
            Err(_) => {
                println!("{name} … FAILED ({:.0} s)", began.elapsed().as_secs_f64());
                failed.push(*name);
            }
        }
    }
    for name in &failed {
        println!("failed: {name}");
    }
    println!("containers: {passed} passed, {} failed", failed.len());
    if failed.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
