//! `push`: subscriptions as operators make and keep them.

use hooks_testkit::port;
use hooks_testkit::process::run;
use hooks_testkit::receiver::Receiver;
use serde_json::json;

use crate::operators::{ADMIN, KEYS, Operators, yaml};
use crate::support::{PATIENCE, assert_says};

/// The path of the README: receiver down, why, receiver up, it arrives.
#[tokio::test]
async fn a_receiver_that_is_down_is_told_and_gets_its_events_when_it_is_up() {
    let desk =
        Operators::start("  retry: {initial: 500ms, factor: 1, max_attempts: 100, cap: 500ms}\n").await;
    let address = format!("127.0.0.1:{}", port::free());
    let secret = desk.add("shop", &format!("http://{address}/hook"), &[]).await;
    assert!(secret.starts_with("whsec_"), "{secret}");
    desk.relay.store("one", b"{\"n\":1}").await;
    let id = desk.wait_for("shop", "pending", 1, 1).await.remove(0);
    let why = desk.why(&id).await;
    for part in [&id, "pending", "waiting", "network error", "demo 1", "shop", "refused"] {
        assert!(why.to_lowercase().contains(part), "no {part:?} in: {why}");
    }
    assert!(!why.contains('\u{1b}'), "{why:?}");
    let receiver = Receiver::start_on(address.parse().expect("an address")).await;
    let arrived = receiver.wait_for(1, PATIENCE).await;
    assert_eq!(arrived[0].body, b"{\"n\":1}");
    desk.wait_for("shop", "delivered", 1, 2).await;
    let why = desk.why(&id).await;
    assert!(why.contains("delivered") && why.contains("succeeded, status 200"), "{why}");
}

#[tokio::test]
async fn a_subscription_lives_its_life() {
    let desk = Operators::start("").await;
    let receiver = Receiver::start().await;
    let url = receiver.url("/a");
    let secret = desk.add("a", &url, &["--max-in-flight", "3", "--rate", "50"]).await;
    let list = desk.run(&["push", "list"]).await.expect_success().stdout;
    assert!(list.starts_with("sub_") && list.contains("active") && list.contains(&url), "{list}");
    let made = desk.json(&["push", "show", "a"]).await.remove(0);
    assert_eq!((&made["max_in_flight"], &made["rate"]), (&json!(3), &json!(50.0)));
    desk.run(&["push", "pause", "a", "--reason", "moving house"]).await.expect_success();
    let shown = desk.run(&["push", "show", "a"]).await.expect_success().stdout;
    assert!(shown.contains("paused") && shown.contains("moving house"), "{shown}");
    let args = ["push", "update", "a", "--name", "b", "--no-rate", "--ordered"];
    desk.run(&args).await.expect_success();
    let changed = desk.json(&["push", "show", "b"]).await.remove(0);
    assert_eq!((&changed["rate"], &changed["ordered"]), (&json!(null), &json!(true)));
    let rotated = desk.run(&["push", "rotate-secret", "b"]).await.expect_success();
    assert!(rotated.stdout.starts_with("whsec_") && rotated.stdout.trim() != secret, "{rotated:?}");
    assert!(!rotated.stderr.contains("whsec_"), "{rotated:?}");
    desk.run(&["push", "resume", "b"]).await.expect_success();
    let delivery = desk.run(&["push", "test", "b"]).await.expect_success().stdout.trim().to_owned();
    let arrived = receiver.wait_for(1, PATIENCE).await;
    assert_eq!(arrived[0].header("x-hooks-source"), Some("hooks.system"));
    assert_eq!(arrived[0].header("x-hooks-push-id"), Some(delivery.as_str()));
    assert_says(&desk.run(&["push", "rm", "b"]).await, 2, &["nothing was done", "--yes"]);
    desk.run(&["push", "rm", "b", "--yes"]).await.expect_success();
    let none = desk.run(&["push", "list"]).await.expect_success();
    assert!(none.stdout.is_empty() && none.stderr.contains("push add"), "{none:?}");
    let logs = desk.inspector.logs();
    assert!(!logs.contains("whsec_") && !logs.contains(ADMIN), "a secret is logged");
}

#[tokio::test]
async fn what_is_wrong_is_said_with_its_own_exit_code() {
    let desk = Operators::start("").await;
    let url = "http://127.0.0.1:9/hook";
    desk.add("a", url, &[]).await;
    assert_says(&desk.run(&["push", "add", "demo", url, "--name", "a"]).await, 4, &["name is taken"]);
    assert_says(&desk.run(&["push", "add", "nosuch", url]).await, 4, &["nosuch"]);
    assert_says(&desk.run(&["push", "add", "demo", "http://10.0.0.1/"]).await, 4, &["url", "private"]);
    assert_says(&desk.run(&["push", "add", "demo", "http://169.254.169.254/"]).await, 4, &["url"]);
    assert_says(
        &desk.run(&["push", "add", "demo", url, "--signing", "morse"]).await,
        4,
        &["signing", "morse"],
    );
    assert_says(&desk.run(&["push", "add", "demo", url, "--retry", "soon"]).await, 2, &["--retry", "JSON"]);
    assert_says(&desk.run(&["push", "update", "a"]).await, 2, &["nothing to change"]);
    assert_says(&desk.run(&["push", "show", "nosuch"]).await, 3, &["nosuch", "push list"]);
    assert_says(&desk.run(&["push", "pause", "sub_00000000000000000000000000"]).await, 3, &["sub_0000"]);
    assert_says(&desk.run(&["deliveries", "show", "dlv_nosuch"]).await, 3, &["dlv_nosuch"]);
    let nobody = desk.run_with(&["push", "list"], &[("HOOKS_TOKEN", "hk_wrong")]).await;
    assert_says(&nobody, 4, &["401", "scope admin"]);
    let away = format!("http://127.0.0.1:{}", port::free());
    let away = desk.run_with(&["push", "list"], &[("HOOKS_INSPECTOR", &away)]).await;
    assert_says(&away, 5, &["inspector", "HOOKS_INSPECTOR"]);
}

#[tokio::test]
async fn declared_subscriptions_are_planned_then_made() {
    let desk = Operators::start("").await;
    let receiver = Receiver::start().await;
    let declare = |more: &str| {
        let (a, b) = (receiver.url("/a"), receiver.url("/b"));
        let two = format!(
            "  subscriptions:\n    a: {{source: demo, url: '{a}', start: 0{more}}}\n    \
             b: {{source: demo, url: '{b}', secret: '${{B_SECRET:-a-secret-of-sixteen}}'}}\n"
        );
        // A provider's secret that is not set here is none of this command's business.
        desk.relay.config.rewrite(&yaml(&two).replace("secret: whsec", "secret: ${NOT_SET_HERE} # whsec"));
    };
    desk.add("old", &receiver.url("/old"), &[]).await;
    declare("");
    let plan = desk.run(&["push", "apply", "--dry-run"]).await;
    assert_eq!(plan.code(), 1, "{plan:?}");
    for part in ["+ a: demo to", "+ b: demo to", "old", "left alone"] {
        assert!(plan.stdout.contains(part), "no {part:?} in {}", plan.stdout);
    }
    assert_says(&desk.run(&["push", "apply"]).await, 2, &["nothing was done", "--yes"]);
    let done = desk.run(&["push", "apply", "--yes"]).await.expect_success();
    assert_eq!(done.stdout.matches("whsec_").count(), 1, "only the secret that was made: {}", done.stdout);
    assert!(!done.stdout.contains("sixteen") && !done.stderr.contains("sixteen"), "{done:?}");
    assert_says(&desk.run(&["push", "apply"]).await, 0, &["nothing to do"]);
    declare(", max_in_flight: 2");
    let done = desk.run(&["push", "apply", "--yes", "--prune"]).await.expect_success();
    assert!(done.stdout.contains("~ a: max_in_flight 2"), "{}", done.stdout);
    let all = desk.json(&["push", "list"]).await;
    let names: Vec<_> = all.iter().map(|one| (&one["name"], &one["max_in_flight"])).collect();
    assert_eq!(names, [(&json!("a"), &json!(2)), (&json!("b"), &json!(10))]);
    desk.relay.config.rewrite(&yaml("  subscriptions:\n    c: {source: demo, url: x, speed: 9}\n"));
    assert_says(&desk.run(&["push", "apply"]).await, 1, &["push.subscriptions.c", "speed"]);
}

#[tokio::test]
async fn secrets_move_to_a_new_key_and_need_the_old_one_no_more() {
    let desk = Operators::start("").await;
    let receiver = Receiver::start().await;
    desk.add("a", &receiver.url("/a"), &[]).await;
    let both = format!("k2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=,{KEYS}");
    let url = desk.relay.db.url();
    let reencrypt = async |keys: &str| {
        let env = [("HOOKS_DATABASE_URL", url.as_str()), ("HOOKS_SECRET_KEYS", keys)];
        run("hooksctl", &["secrets", "reencrypt"], &env, b"").await
    };
    assert_says(&reencrypt("").await, 2, &["HOOKS_SECRET_KEYS"]);
    let other = reencrypt(both.split_once(',').expect("two").0).await;
    assert_says(&other, 1, &["cannot be read", "HOOKS_SECRET_KEYS"]);
    assert_says(&reencrypt(&both).await, 0, &["1 encrypted anew"]);
    assert_says(&reencrypt(&both).await, 0, &["0 encrypted anew"]);
    let new = both.split_once(',').expect("two").0;
    assert_says(&reencrypt(new).await, 0, &["0 encrypted anew"]);
    assert_says(&reencrypt(KEYS).await, 1, &["cannot be read"]);
}
