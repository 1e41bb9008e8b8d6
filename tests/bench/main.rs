//! Benchmarks: each compares the product with a limit or with a bare mechanism in one run, interleaved, because
//! machines are shared and noisy. Ratios mean something, absolute numbers do not.
//!
//! `cargo build --release --workspace && ./target/release/bench ingest`

mod cpu;
mod ingest;
mod load;
mod report;
mod search_index;
mod tail_latency;
mod verify;

use std::time::Duration;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scenario = arguments.first().map(String::as_str).unwrap_or_default();
    let rounds = number(&arguments, "--rounds", 5);
    let seconds = Duration::from_secs(number(&arguments, "--seconds", 4) as u64);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    match scenario {
        "ingest" => runtime.block_on(ingest::run(rounds, seconds)),
        "search-index" => {
            std::process::exit(i32::from(!runtime.block_on(search_index::run(rounds, seconds))))
        }
        "tail-latency" => runtime.block_on(tail_latency::run(rounds, seconds)),
        "verify" => std::process::exit(i32::from(!verify::run(rounds))),
        _ => {
            eprintln!("usage: bench <ingest|search-index|tail-latency|verify> [--rounds N] [--seconds N]");
            std::process::exit(2);
        }
    }
}

fn number(arguments: &[String], flag: &str, default: usize) -> usize {
    let given = arguments.iter().position(|argument| argument == flag).and_then(|at| arguments.get(at + 1));
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{flag} takes a number, not {text}")))
}
