//! Random requests against verification, on stable Rust: recorded requests with changes, random tables of the
//! form, templates, and form and JSON bodies. Nothing may panic, and what another reader can tell must agree.
//!
//! `cargo run -p hooks-testkit --bin fuzz -- --seconds 300`. A finding prints its seed and case; `--seed S --case N`
//! runs that one again.

mod bodies;
mod dice;
mod schemes;
mod vectors;

use dice::Dice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

struct Corpus {
    vectors: Vec<vectors::Entry>,
}

impl Corpus {
    fn load() -> Self {
        Self { vectors: vectors::load() }
    }

    fn run(&self, seed: u64, case: u64) {
        let mut dice = Dice::new(seed, case);
        match case % 4 {
            0 => vectors::run(&self.vectors, &mut dice),
            1 => schemes::run(&mut dice),
            2 => schemes::round_trip(&mut dice),
            _ => bodies::run(&mut dice),
        }
    }
}

/// Longer than any case may take, busy machine included.
const SLOW: Duration = Duration::from_secs(10);

/// The number of cases run, or the first one with a finding and what it said.
fn fuzz(seed: u64, time: Duration) -> Result<u64, (u64, String)> {
    let corpus = Corpus::load();
    let start = Instant::now();
    let mut case = 0;
    while start.elapsed() < time {
        let began = Instant::now();
        catch_unwind(AssertUnwindSafe(|| corpus.run(seed, case))).map_err(|panic| (case, said(&*panic)))?;
        if began.elapsed() > SLOW {
            return Err((case, format!("took {:?}", began.elapsed())));
        }
        case += 1;
    }
    Ok(case)
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

fn main() {
    let number = |flag: &str| -> Option<u64> {
        let mut arguments = std::env::args().skip_while(|argument| argument != flag).skip(1);
        arguments.next().map(|text| text.parse().unwrap_or_else(|_| panic!("{flag} takes a number")))
    };
    let seed = number("--seed").unwrap_or_else(rand::random);
    if let Some(case) = number("--case") {
        return Corpus::load().run(seed, case);
    }
    let seconds = number("--seconds").unwrap_or(60);
    println!("seed {seed}, {seconds} s");
    match fuzz(seed, Duration::from_secs(seconds)) {
        Ok(cases) => println!("{cases} cases, no finding"),
        Err((case, said)) => {
            println!("finding: --seed {seed} --case {case}: {said}");
            std::process::exit(1);
        }
    }
}

#[test]
fn ten_seconds_without_a_finding() {
    let seed = rand::random();
    if let Err((case, said)) = fuzz(seed, Duration::from_secs(10)) {
        panic!("fuzz --seed {seed} --case {case}: {said}");
    }
}
