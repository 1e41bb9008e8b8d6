//! What operators do: put a proxy in front, watch, back up and restore.

use crate::engine::docker;
use crate::ledger;
use crate::load;
use crate::report::say;
use crate::stack::Stack;
use hooks_testkit::sse::Stream;
use hooks_testkit::{http, until};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Behind each of the shipped proxies all paths are one host, and a stream's events come at once.
pub async fn proxies_pass_streams_on_unbuffered() {
    let [caddy, nginx] = std::array::from_fn(|_| hooks_testkit::port::free());
    let stack =
        Stack::new(&["proxy"]).set("CADDY_PORT", &caddy.to_string()).set("NGINX_PORT", &nginx.to_string());
    stack.up(&["ingest", "subscribe", "inspector"]).await;
    stack.compose(&["up", "-d", "--no-build", "caddy", "nginx"]).await;
    let token = stack.token().await;
    for (name, port) in [("caddy", caddy), ("nginx", nginx)] {
        let proxy: SocketAddr = (Ipv4Addr::LOCALHOST, port).into();
        let accepted = async || load::send_once(proxy, &format!("{name}-warm")).await / 100 == 2;
        until(20 * SECOND, &format!("{name} to pass webhooks on"), accepted).await;
        let mut stream = Stream::open(proxy, "/subscribe/demo?since=latest", &token).await;
        // Longer than a buffer that is flushed by time would keep anything.
        let mut slowest = Duration::ZERO;
        for number in 0..5 {
            let sent = Instant::now();
            assert_eq!(load::send_once(proxy, &format!("{name}-{number}")).await, 202);
            stream.next_message(5 * SECOND).await;
            slowest = slowest.max(sent.elapsed());
        }
        say(format_args!("{name}: at most {slowest:.1?} from the request to the stream's byte"));
        assert!(slowest < 2 * SECOND, "{name} holds events back");
        for path in ["/metrics", "/readyz", "/healthz"] {
            assert_eq!(http::get(proxy, path, &[("Connection", "close")]).await.status, 404, "{name} {path}");
        }
        let unknown = http::get(proxy, "/subscribe/nobody", &[("Connection", "close")]).await;
        assert_eq!((unknown.status, unknown.text().trim()), (404, "unknown source"), "{name}");
    }
}

/// Every metric of ours that an alarm or the dashboard names is one that a service shows, and every one that a service
/// shows is explained.
pub async fn alarms_and_dashboard_name_metrics_that_exist() {
    let stack = Stack::new(&[]);
    stack.up(&[]).await;
    // Families by source or reason are shown from the first time on that they count something.
    let token = stack.token().await;
    let mut stream = Stream::open(stack.subscribe(), "/subscribe/demo", &token).await;
    load::send(stack.ingest(), "counted", 3, 1).await;
    stream.collect_until(3, 20 * SECOND).await;
    let rare = ["hooks_subscribe_cuts_total"];
    let mut shown = String::new();
    for (service, port) in [("ingest", 9080), ("subscribe", 9081), ("inspector", 9082), ("push-worker", 9083)]
    {
        shown += &stack.admin(service, port, "/metrics").await.expect("metrics");
    }
    let known: BTreeSet<&str> =
        shown.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let suffixes = ["_total", "_bucket", "_sum", "_count", ""];
    let is_known = |name: &str| {
        suffixes.iter().any(|suffix| name.strip_suffix(suffix).is_some_and(|n| known.contains(n)))
    };
    for file in [
        "deploy/prometheus/rules.yml",
        "deploy/grafana/dashboard.json",
        "deploy/kubernetes/base/autoscaling.yaml",
    ] {
        let text = std::fs::read_to_string(stack.root().join(file)).expect(file);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        // `hooks_pg_…` are the database exporter's (postgres-queries.yaml); alarms' names are not lower case.
        let ours: BTreeSet<&str> =
            words.filter(|word| word.starts_with("hooks_") && !word.starts_with("hooks_pg_")).collect();
        let unknown: Vec<_> = ours.iter().filter(|word| !is_known(word) && !rare.contains(word)).collect();
        assert!(
            !ours.is_empty() && unknown.is_empty(),
            "{file} names metrics that no service has: {unknown:?}"
        );
    }
    let explained = std::fs::read_to_string(stack.root().join("deploy/README.md")).expect("the notes");
    // A row of the table may leave out what its first name begins with: `…_claims_total`.
    let is_explained = |name: &str| {
        let short = name.splitn(3, '_').nth(2).unwrap_or(name);
        ["", "_total"].iter().any(|end| {
            explained.contains(&format!("`{name}{end}`")) || explained.contains(&format!("`…_{short}{end}`"))
        })
    };
    let ours = known.iter().filter(|name| name.starts_with("hooks_"));
    let unexplained: Vec<_> = ours.filter(|name| !is_explained(name)).collect();
    assert!(unexplained.is_empty(), "deploy/README.md does not explain {unexplained:?}");
    say(format_args!("{} families", known.len()));
}

/// A dump and a base backup, each restored into another server: numbers go on past everything that was given after
/// the backup, and what was owed is delivered.
pub async fn a_backup_restores_and_numbers_and_deliveries_continue() {
    let stack = Stack::new(&["backup"]);
    stack.up(&["ingest", "push-worker", "inspector", "receiver"]).await;
    ledger::push_to_receiver(&stack, 20).await;
    load::send(stack.ingest(), "kept", 100, 8).await;
    ledger::until_delivered(&stack, 100, 60 * SECOND).await;
    ledger::receiver_answers(&stack, Duration::ZERO, 503).await;
    load::send(stack.ingest(), "owed", 50, 8).await;
    stack.until_psql(30 * SECOND, "select count(*) from deliveries", "150").await;
    let postgres = stack.container("postgres").await;
    let recipe = async |container: &str, words: &[&str]| {
        let mut args = vec!["exec", "-u", "postgres", "-e", "PGUSER=hooks", container];
        args.extend(words);
        say(docker(&args).await.lines().last().unwrap_or_default());
    };
    docker(&["exec", "-u", "root", &postgres, "chown", "postgres", "/backups"]).await;
    recipe(&postgres, &["/recipes/backup.sh", "/backups/dump"]).await;
    recipe(&postgres, &["/recipes/base-backup.sh", "/backups/base"]).await;
    load::send(stack.ingest(), "lost", 30, 8).await;
    stack.compose(&["stop", "ingest", "push-worker", "postgres"]).await;

    let mut stack = stack;
    for server in ["restored", "restored-base"] {
        stack.compose(&["--profile", "restored", "up", "-d", "--no-build", "--wait", server]).await;
        stack = stack.set("DATABASE_HOST", server).database_is(server);
        if server == "restored" {
            recipe(&stack.container(server).await, &["/recipes/restore.sh", "/backups/dump"]).await;
        }
        stack.hooksctl(&["migrate"]).await;
        // Its code says that the services are stopped, which they are.
        let said = stack.try_hooksctl(&["doctor", "--after-restore"]).await.unwrap_or_else(|error| error);
        assert!(said.contains("every source's number was raised by 1,000,000"), "{said}");
        ledger::receiver_answers(&stack, Duration::ZERO, 200).await;
        stack.compose(&["up", "-d", "--no-build", "--no-deps", "--wait", "ingest", "push-worker"]).await;
        let new = load::send(stack.ingest(), server, 20, 4).await;
        ledger::holds_every_accepted(&stack, server, &new).await;
        ledger::until_delivered(&stack, 170, 60 * SECOND).await;
        let given_twice = format!(
            "select count(*) from events where source = 'demo' and delivery_id like '{server}-%' and sequence <= 180"
        );
        assert_eq!(stack.psql(&given_twice).await, "0", "a number that was given before the restore");
        stack.hooksctl(&["verify"]).await;
        stack.compose(&["stop", "ingest", "push-worker"]).await;
        ledger::receiver_answers(&stack, Duration::ZERO, 503).await;
    }
}
