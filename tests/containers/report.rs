//! Lines of scenarios that run beside each other: each begins with its scenario's name.

use std::fmt::Display;

tokio::task_local! {
    static SCENARIO: &'static str;
}

/// Runs `scenario`, whose lines then bear its name.
pub async fn named<T>(name: &'static str, scenario: impl Future<Output = T>) -> T {
    SCENARIO.scope(name, scenario).await
}

/// One line of the scenario that calls.
pub fn say(line: impl Display) {
    println!("{}: {line}", name());
}

/// Panics are reported with the name of their scenario, too.
pub fn name_panics() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{}: {panic}", name())));
}

fn name() -> &'static str {
    SCENARIO.try_with(|name| *name).unwrap_or("containers")
}
