//! A new build beside the old one, and then in its place.

use crate::engine::try_docker;
use crate::ledger;
use crate::load;
use crate::report::say;
use crate::stack::{Stack, tag};
use hooks_testkit::sse::Stream;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
/// The image tag of the build before the newest migration; .ci/containers makes it.
const PREVIOUS: &str = "previous";
/// In the order of the roll-out (deploy/README.md).
const SERVICES: [&str; 4] = ["ingest", "subscribe", "inspector", "push-worker"];

/// The build before the newest migration, upgraded under load in the documented order: migrate, then each service.
pub async fn an_upgrade_under_load_loses_nothing() {
    let images = try_docker(&["image", "inspect", &format!("hooks-ingest:{PREVIOUS}")], &[]).await;
    assert!(
        images.is_ok(),
        "the images of the build before the newest migration are missing; .ci/containers makes them"
    );
    let now = tag();
    let stack = Stack::new(&["upgrade"]).set("HOOKS_TAG", PREVIOUS).set("TOOLS_TAG", &now);
    stack.up(&[&SERVICES[..], &["receiver"]].concat()).await;
    let old_schema: i32 = schema(&stack).await;
    ledger::push_to_receiver(&stack, 20).await;
    let running = load::Running::start(stack.ingest(), "upgrade", 8, Duration::from_millis(30));
    running.more(200).await;

    let stack = stack.set("HOOKS_TAG", &now);
    stack.hooksctl(&["migrate"]).await;
    let new_schema = schema(&stack).await;
    say(format_args!("from schema {old_schema} to {new_schema}"));
    let same = std::env::var_os("HOOKS_UPGRADE_SAME_SCHEMA").is_some();
    assert!(new_schema > old_schema || same, "there is a migration between the two builds");
    // The old build goes on beside the new schema.
    running.more(200).await;
    for service in SERVICES {
        stack.until_healthy(service, 20 * SECOND).await;
    }
    for service in SERVICES {
        let old = stack.container(service).await;
        stack.compose(&["up", "-d", "--no-build", "--no-deps", "--wait", service]).await;
        assert_ne!(stack.container(service).await, old, "{service} is the new build's");
        running.more(200).await;
    }
    let outcome = running.finish().await;
    say(&outcome);
    let errors: usize =
        outcome.answers.iter().filter(|(status, _)| **status >= 500).map(|(_, count)| count).sum();
    assert_eq!(errors, 0, "no 5xx: ingest finishes what it has begun, and is away only while it is replaced");
    assert!(outcome.longest < 20 * SECOND, "one restart, not more");
    ledger::holds_every_accepted(&stack, "upgrade", &outcome).await;
    ledger::is_gapless(&stack).await;
    let total: usize =
        stack.psql("select count(*) from events where source = 'demo'").await.parse().expect("a number");
    ledger::until_delivered(&stack, total, 60 * SECOND).await;
    ledger::push_balances(&stack, total, 0).await;
    let token = stack.token().await;
    let mut stream = Stream::open(stack.subscribe(), "/subscribe/demo", &token).await;
    let messages = stream.collect_until(total, 60 * SECOND).await;
    assert!(messages.iter().zip(1..).all(|(message, number)| message.sequence() == number), "the whole log");
}

async fn schema(stack: &Stack) -> i32 {
    stack.psql("select max(version) from schema_versions").await.parse().expect("a number")
}
