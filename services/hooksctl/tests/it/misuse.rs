//! Wrong use, each with a clear message and its own exit code.

use hooks_testkit::port;
use hooks_testkit::process::run;
use hooks_testkit::receiver::{Receiver, Script};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Relay, assert_says};

#[tokio::test]
async fn sources_and_tokens_that_do_not_fit_are_told_apart() {
    let relay = Relay::start().await;
    relay.make_token("hk_pat", "pat", &["demo", "admin"]).await;
    relay.make_token("hk_other", "listener", &["other"]).await;
    let to = "http://127.0.0.1:9/";
    let forward = async |source: &str, token: &str| {
        relay.run_with(&["forward", source, "--to", to], &[("HOOKS_TOKEN", token)]).await
    };
    assert_says(&forward("nosuch", "hk_pat").await, 3, &["nosuch", "404"]);
    assert_says(&forward("demo", "hk_unknown").await, 4, &["401", "hooksctl token create"]);
    for token in ["hk_pat", "hk_other"] {
        let output = forward("demo", token).await;
        assert_says(&output, 4, &["403", "kind listener", "source `demo`"]);
        assert!(!output.stderr.contains(token), "{}", output.stderr);
    }
    assert_says(&forward("demo", "").await, 2, &["no token", "HOOKS_TOKEN"]);
}

#[tokio::test]
async fn tls_on_one_side_only_is_told_apart_from_a_service_that_is_down() {
    let relay = Relay::start().await;
    let listen = async |url: &str| {
        let env = [("HOOKS_SERVER", url), ("HOOKS_TOKEN", "hk_x")];
        run("hooksctl", &["events", "list", "demo"], &env, b"").await
    };
    let plain = relay.subscribe.address().await;
    assert_says(&listen(&format!("https://{plain}")).await, 5, &["http://", "--server"]);
    // What a TLS server says to a request without TLS: an alert, and the end.
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = server.local_addr().expect("its address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            let mut request = [0; 1];
            let _ = stream.read_exact(&mut request).await;
            let _ = stream.write_all(b"\x15\x03\x03\x00\x02\x02\x46").await;
        }
    });
    assert_says(&listen(&format!("http://{address}")).await, 5, &["https://", "--server"]);
}

#[tokio::test]
async fn arguments_are_checked_before_anything_is_asked() {
    let nowhere = format!("http://127.0.0.1:{}", port::free());
    let ctl = async |args: &[&str]| {
        run("hooksctl", args, &[("HOOKS_SERVER", &nowhere), ("HOOKS_TOKEN", "hk_x")], b"").await
    };
    let to = ["--to", "http://127.0.0.1:9/"];
    let cases: [(&[&str], &str); 12] = [
        (&["forward", "demo", "--to", "localhost:3000"], "http://localhost:3000/webhooks"),
        (&["forward", "demo", "--to", "ftp://x/"], "--to"),
        (&["forward", "demo", to[0], to[1], "--since", "newest"], "latest"),
        (&["forward", "demo", to[0], to[1], "--since", "-5"], "latest"),
        (&["forward", "demo", to[0], to[1], "--attempt-timeout", "5"], "30d"),
        (&["forward", "demo", to[0], to[1], "--sign-with", "stripe"], "--sign-with"),
        (&["replay", "demo", "9..5", to[0], to[1]], "ends before it begins"),
        (&["replay", "demo", to[0], to[1]], "required"),
        (&["tail", "demo", "--server", "localhost:8081"], "HOOKS_SERVER"),
        (&["token", "create", "--scopes", "demo", "--expires-in", "366d"], "at most 365d"),
        (&["token", "create", "--scope", "demo", "--name", "a\u{202e}b"], "--name holds U+202E"),
        (&["invite", "create", "--ttl", "91d"], "at most 90d"),
    ];
    for (args, part) in cases {
        assert_says(&ctl(args).await, 2, &[part]);
    }
}

/// The same thing is asked for by the same name everywhere, and by the original client's too.
#[tokio::test]
async fn options_are_called_alike() {
    let cases: [(&[&str], &[&str]); 7] = [
        (&["token", "create"], &["-s, --scope <", "[alias: --scopes]", "--expires-in <DURATION>"]),
        (&["invite", "create"], &["-s, --scope <", "[alias: --scopes]", "--expires-in <DURATION>", "--ttl"]),
        (&["admin", "init"], &["--expires-in <DURATION>", "--ttl"]),
        (&["user", "update"], &["-s, --scope <", "[alias: --scopes]"]),
        (&["login"], &["-s, --scope <", "[alias: --scopes]"]),
        (&["token", "list"], &["--all", "--include-revoked"]),
        (&["invite", "list"], &["--all", "--include-consumed"]),
    ];
    for (command, parts) in cases {
        let help = run("hooksctl", &[command, &["--help"]].concat(), &[], b"").await.expect_success();
        for part in parts {
            assert!(help.stdout.contains(part), "{command:?} has no `{part}`:\n{}", help.stdout);
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_is_something_else_is_named() {
    let receiver = Receiver::start().await;
    receiver.respond("/subscribe/demo/events", Script::status(200).body("<html>a page</html>"));
    let url = receiver.url("");
    let args = ["events", "list", "demo", "--server", &url, "--token", "hk_t"];
    assert_says(&run("hooksctl", &args, &[], b"").await, 1, &["not JSON", &url]);
    receiver.respond_elsewhere(Script::redirect("https://elsewhere.example/"));
    let args = ["events", "show", "demo", "1", "--server", &url, "--token", "hk_t"];
    assert_says(&run("hooksctl", &args, &[], b"").await, 1, &["https://elsewhere.example/", "--server"]);
    let nowhere = format!("http://127.0.0.1:{}", port::free());
    let args = ["events", "list", "demo", "--server", &nowhere, "--token", "hk_t"];
    assert_says(
        &run("hooksctl", &args, &[], b"").await,
        5,
        &[&nowhere, "--server", "HOOKS_SERVER", "refused"],
    );
}

#[tokio::test]
async fn a_spoilt_cursor_is_not_taken_for_zero() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    let folder = relay.config.dir().join(".local/state/hooks");
    std::fs::create_dir_all(&folder).expect("make the folder");
    let host = relay.subscribe_url.trim_start_matches("http://").replace(':', "_");
    std::fs::write(folder.join(format!("cursor-{host}-demo")), "not a number").expect("spoil it");
    let forward = relay.ctl(&["forward", "demo", "--to", "http://127.0.0.1:9/"]).start();
    let status = forward.wait_exit(crate::support::PATIENCE).await;
    assert_eq!(status.code(), Some(1));
    assert!(forward.logs().contains("--since") && forward.logs().contains("cursor-"), "{}", forward.logs());
}

#[tokio::test]
async fn help_says_what_each_command_talks_to_and_completions_come() {
    for (command, talks_to) in [
        (&["forward"][..], "the subscribe service"),
        (&["tail"], "the subscribe service"),
        (&["replay"], "the subscribe service"),
        (&["events", "list"], "the subscribe service"),
        (&["send"], "ingest"),
        (&["token", "create"], "the inspector"),
        (&["verify"], "the database"),
        (&["prune"], "the database"),
        (&["migrate"], "the database"),
        (&["sources", "check"], "nothing"),
        (&["completions"], "nothing"),
    ] {
        let help = run("hooksctl", &[command, &["--help"]].concat(), &[], b"").await.expect_success();
        let text = help.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&format!("Talks to: {talks_to}")) || text.contains(talks_to),
            "{command:?}: {text}"
        );
        assert!(text.contains("HOOKS_TOKEN"), "{command:?}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = run("hooksctl", &["completions", shell], &[], b"").await.expect_success();
        assert!(script.stdout.contains("forward"), "{shell}");
    }
}

#[tokio::test]
async fn a_configuration_is_checked_with_key_paths_and_lines() {
    let relay = Relay::start().await;
    let good = relay.run(&["sources", "check"]).await.expect_success();
    assert!(good.stdout.contains("demo") && good.stderr.contains("no faults"), "{good:?}");
    let check = async |yaml: &str| {
        let file = relay.config.beside("bad.yaml", yaml).display().to_string();
        relay.run(&["sources", "check", &file]).await
    };
    let output =
        check("sources:\n  demo:\n    verifier: standard_webhooks\n    secret: ${HOOKS_TEST_UNSET}\n").await;
    assert_says(&output, 1, &["bad.yaml:4", "sources.demo.secret", "HOOKS_TEST_UNSET"]);
    let output =
        check("sources:\n  demo:\n    verifier: standard_webhooks\n    secret: ''\n    colour: red\n").await;
    assert_says(&output, 1, &["sources.demo.secret", "empty", "sources.demo.colour"]);
    assert_says(&check("sources: [\n").await, 1, &["bad.yaml", "not valid YAML"]);
    let output = check("sources:\n  demo:\n    verifier: standard_webhooks\n    secret: not base64!\n").await;
    assert_says(&output, 1, &["sources.demo"]);
    assert!(!output.stderr.contains("not base64!"), "{}", output.stderr);
}
