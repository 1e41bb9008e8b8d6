//! What a newcomer does first, and what an operator must not do.

use crate::engine::try_docker;
use crate::report::say;
use crate::stack::Stack;
use hooks_testkit::process::Launch;
use hooks_testkit::receiver::Receiver;
use serde_json::Value;
use std::time::{Duration, Instant};

const SERVICES: [&str; 4] = ["ingest", "subscribe", "push-worker", "inspector"];

/// `docker compose up`, the profile `demo`, and `hooksctl forward` on this machine, pointed at subscribe.
pub async fn a_fresh_stack_is_healthy_and_a_demo_event_reaches_a_laptop() {
    let stack = Stack::new(&[]);
    let began = Instant::now();
    stack.up(&[]).await;
    say(format_args!("healthy after {:.1} s", began.elapsed().as_secs_f64()));
    let token = stack.token().await;

    let laptop = Receiver::start().await;
    let forward = Launch::binary("hooksctl")
        .args(["forward", "demo", "--to", &laptop.url("/hook")])
        .env("HOOKS_SERVER", format!("http://{}", stack.subscribe()))
        .env("HOOKS_TOKEN", token)
        .start();
    stack.compose(&["--profile", "demo", "up", "-d", "--no-build", "--no-recreate", "demo"]).await;
    let requests = laptop.wait_for(3, Duration::from_secs(30)).await;
    for (request, sequence) in requests.iter().zip(1..) {
        assert_eq!(request.header("x-hooks-sequence"), Some(format!("{sequence}").as_str()));
        assert!(request.header("webhook-signature").is_some(), "the provider's own headers come along");
        assert_eq!(request.json()["type"], "demo.greeting");
    }
    drop(forward);
    measure_rest(&stack).await;
}

/// What the stack costs while nothing happens: for the README, printed and not judged.
async fn measure_rest(stack: &Stack) {
    stack.compose(&["--profile", "demo", "stop", "demo"]).await;
    let queries = "select sum(xact_commit + xact_rollback) from pg_stat_database";
    let before: f64 = stack.psql(queries).await.parse().unwrap_or_default();
    let began = Instant::now();
    let mut lines = Vec::new();
    for _ in 0..3 {
        let ids = stack.compose(&["ps", "-q"]).await;
        let mut args = vec!["stats", "--no-stream", "--format", "{{.Name}} {{.CPUPerc}} {{.MemUsage}}"];
        args.extend(ids.lines());
        lines.push(try_docker(&args, &[]).await.unwrap_or_default());
    }
    let after: f64 = stack.psql(queries).await.parse().unwrap_or_default();
    say(format_args!("at rest: {:.1} transactions/s", (after - before) / began.elapsed().as_secs_f64()));
    for line in lines.last().into_iter().flat_map(|text| text.lines()) {
        say(format_args!("at rest: {line}"));
    }
}

/// With `HOOKS_ENVIRONMENT=production` nothing starts as long as one shipped default is left. With secrets of one's own
/// everything does, and logs JSON.
pub async fn production_refuses_the_development_secrets() {
    let stack = Stack::new(&[]).set("HOOKS_ENVIRONMENT", "production");
    let error = stack.try_compose(&["run", "--rm", "-T", "migrate"]).await.expect_err("migrate refuses");
    for name in ["HOOKS_BOOTSTRAP_TOKEN", "HOOKS_DATABASE_URL", "HOOKS_INGEST_PASSWORD"] {
        assert!(error.contains(name), "{name} is named: {error}");
    }
    for service in SERVICES {
        let refused = stack.try_compose(&["run", "--rm", "-T", "--no-deps", service]).await;
        let error = refused.expect_err("a service refuses");
        assert!(error.contains("DATABASE_URL"), "{service} names its database URL: {error}");
        assert!(!error.contains("postgres://"), "{service} shows no secret: {error}");
    }
    let hardened = [
        ("POSTGRES_PASSWORD", "a"),
        ("HOOKS_INGEST_PASSWORD", "correct-horse-1"),
        ("HOOKS_SUBSCRIBE_PASSWORD", "correct-horse-2"),
        ("HOOKS_PUSH_WORKER_PASSWORD", "correct-horse-3"),
        ("HOOKS_INSPECTOR_PASSWORD", "correct-horse-4"),
        ("HOOKS_MAINTENANCE_PASSWORD", "correct-horse-5"),
        ("HOOKS_BOOTSTRAP_TOKEN", "hk_a-token-of-somebody-s-own"),
        ("HOOKS_SECRET_KEYS", "k1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="),
        ("DEMO_WEBHOOK_SECRET", "whsec_c29tZWJvZHktcy1vd24tc2VjcmV0"),
        ("GITHUB_WEBHOOK_SECRET", "somebody's own"),
    ];
    let mut stack = Stack::new(&[]).set("HOOKS_ENVIRONMENT", "production").set("HOOKS_LOG_FORMAT", "json");
    for (name, value) in hardened {
        stack = stack.set(name, value);
    }
    stack.up(&SERVICES).await;
    for service in SERVICES {
        let said = stack.compose(&["logs", "--no-log-prefix", "--no-color", service]).await;
        assert!(!said.is_empty(), "{service} says nothing");
        // Compose clears each line of a terminal first, also where there is none.
        for line in said.lines().map(|line| line.trim_start_matches("\u{1b}[2K")) {
            let record: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{service}: {error}: {line}"));
            for field in ["time", "level", "service", "message"] {
                assert!(record[field].is_string(), "{service}: no {field} in {line}");
            }
        }
    }
}
