//! People: the first administrator, invites, signing in at the command line, the audit.

use hooks_testkit::http::{RawResponse, exchange, request};
use hooks_testkit::process::{Launch, Output, run};
use serde_json::{Value, json};

use crate::operators::{ADMIN, Operators};
use crate::support::{PATIENCE, assert_says};

const PASSWORD: &str = "correct horse battery";
const ADA: &str = "ada@example.com";

/// Posts JSON to the inspector as a browser would.
async fn post(desk: &Operators, path: &str, headers: &[(&str, &str)], body: &Value) -> RawResponse {
    let address = desk.inspector.address().await;
    let (host, origin) = (address.to_string(), format!("http://{address}"));
    let own = [("Host", host.as_str()), ("Origin", origin.as_str()), ("Content-Type", "application/json")];
    let all = [&own[..], headers, &[("Connection", "close")]].concat();
    exchange(address, &request("POST", path, &all, body.to_string().as_bytes())).await
}

/// Makes the account of an invite's link.
async fn sign_up(desk: &Operators, link: &str, email: &str) {
    let (_, code) = link.trim().split_once("/signup?code=").unwrap_or_else(|| panic!("{link}"));
    let wish = json!({"code": code, "email": email, "name": "Somebody", "password": PASSWORD});
    let made = post(desk, "/api/auth/signup", &[], &wish).await;
    assert_eq!(made.status, 201, "{}", made.text());
}

async fn admin_init(desk: &Operators, more: &[&str]) -> Output {
    let url = desk.relay.db.url();
    let env = [("HOOKS_DATABASE_URL", url.as_str()), ("HOOKS_INSPECTOR", desk.inspector_url.as_str())];
    run("hooksctl", &[&["admin", "init"][..], more].concat(), &env, b"").await
}

#[tokio::test]
async fn the_first_administrator_comes_by_an_invite_and_invites_others() {
    let desk = Operators::start("").await;
    let init = admin_init(&desk, &[]).await.expect_success();
    assert!(init.stdout.starts_with(&desk.inspector_url) && !init.stderr.contains("code="), "{init:?}");
    let unused = admin_init(&desk, &[]).await.expect_success();
    sign_up(&desk, &init.stdout, ADA).await;
    assert_says(&admin_init(&desk, &[]).await, 4, &["invite create", "--even-so"]);
    admin_init(&desk, &["--even-so"]).await.expect_success();
    let (_, code) = unused.stdout.trim().split_once("code=").expect("a code");
    let wish = json!({"code": code, "email": "eve@example.com", "name": "Eve", "password": PASSWORD});
    let late = post(&desk, "/api/auth/signup", &[], &wish).await;
    assert_eq!(late.status, 409, "{}", late.text());

    let invite = desk.run(&["invite", "create", "--scope", "demo"]).await.expect_success();
    sign_up(&desk, &invite.stdout, "bob@example.com").await;
    let users = desk.run(&["user", "list"]).await.expect_success().stdout;
    assert!(users.contains(ADA) && users.contains("bob@example.com"), "{users}");
    desk.run(&["user", "update", "bob@example.com", "--role", "admin", "-n", "Bob"]).await.expect_success();
    let bob = desk.json(&["user", "show", "bob@example.com"]).await.remove(0);
    assert_eq!((&bob["role"], &bob["name"]), (&json!("admin"), &json!("Bob")));
    let reset = desk.run(&["user", "reset-password", "bob@example.com"]).await.expect_success();
    assert!(reset.stdout.trim().len() >= 20 && !reset.stderr.contains(reset.stdout.trim()), "{reset:?}");
    assert_says(&desk.run(&["user", "deactivate", "bob@example.com"]).await, 2, &["--yes"]);
    desk.run(&["user", "deactivate", "bob@example.com", "-y"]).await.expect_success();
    desk.run(&["user", "reactivate", "bob@example.com"]).await.expect_success();
    assert_says(&desk.run(&["user", "show", "nobody@example.com"]).await, 3, &["nobody@example.com"]);

    desk.run(&["invite", "create"]).await.expect_success();
    let open = desk.json(&["invite", "list"]).await;
    let id = open[0]["id"].as_str().expect("an id").to_owned();
    desk.run(&["invite", "revoke", &id]).await.expect_success();
    assert_says(&desk.run(&["invite", "revoke", "AAAA-BBBB-CCCC-DDDD"]).await, 3, &["no such invite"]);
}

#[tokio::test]
async fn a_person_signs_in_at_the_command_line_and_out_again() {
    let desk = Operators::start("").await;
    let init = admin_init(&desk, &[]).await.expect_success();
    sign_up(&desk, &init.stdout, ADA).await;
    let home = tempfile::tempdir().expect("a folder");
    let ctl = |args: &[&str]| {
        let launch = Launch::binary("hooksctl").args(args.iter().copied());
        launch.dir(home.path()).home(home.path()).env("HOOKS_INSPECTOR", desk.inspector_url.clone())
    };
    let login = ctl(&["login", "--admin"]).start();
    let said = login.wait_log("and confirm the code", PATIENCE).await;
    let code = said.trim().rsplit(' ').next().expect("a code").to_owned();
    let signed_in = post(&desk, "/api/auth/login", &[], &json!({"email": ADA, "password": PASSWORD})).await;
    let cookie = signed_in.header("set-cookie").expect("a cookie").split(';').next().expect("it").to_owned();
    let csrf = signed_in.json()["csrf_token"].as_str().expect("a token").to_owned();
    let browser = [("Cookie", cookie.as_str()), ("X-Hooks-CSRF", csrf.as_str())];
    let wish = json!({"user_code": code, "password": PASSWORD, "granted_scopes": ["account", "admin"]});
    let approved = post(&desk, "/api/auth/device/approve", &browser, &wish).await;
    assert_eq!(approved.status, 200, "{}", approved.text());
    assert!(login.wait_exit(PATIENCE).await.success(), "{}", login.logs());
    assert!(login.stdout().contains(ADA) && !login.logs().contains("hk_"), "{}", login.logs());
    let kept = home.path().join(".config/hooks/logins");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&kept).expect("the file"));
    assert_eq!(mode & 0o777, 0o600);

    let run = async |args: &[&str]| {
        let service = ctl(args).start();
        let status = service.wait_exit(PATIENCE).await;
        (status.code(), service.stdout(), service.logs())
    };
    let (code, out, _) = run(&["whoami"]).await;
    assert!(code == Some(0) && out.contains(ADA) && out.contains("admin"), "{out}");
    assert_eq!(run(&["push", "list"]).await.0, Some(0), "the token is used by itself");
    assert_eq!(run(&["logout"]).await.0, Some(0));
    assert!(!std::fs::read_to_string(&kept).expect("the file").contains("hk_"));
    let (code, _, logs) = run(&["whoami"]).await;
    assert!(code == Some(2) && logs.contains("no token"), "{logs}");
    assert_says(&desk.run(&["whoami"]).await, 4, &["speaks for no person", "hooksctl login"]);
}

#[tokio::test]
async fn the_audit_is_filtered_and_exported() {
    let desk = Operators::start("").await;
    desk.add("a", "http://127.0.0.1:9/", &[]).await;
    desk.run(&["push", "pause", "a", "-r", "quiet"]).await.expect_success();
    let pushes = desk.json(&["audit", "--action", "push."]).await;
    let actions: Vec<_> = pushes.iter().map(|row| &row["action"]).collect();
    assert_eq!(actions, ["push.paused", "push.create"]);
    assert!(pushes[0]["actor"].as_str().is_some_and(|actor| actor.contains("token")), "{pushes:?}");
    let text = desk.run(&["audit", "-n", "1"]).await.expect_success();
    assert!(text.stdout.contains("push.paused") && text.stdout.contains("quiet"), "{}", text.stdout);
    assert!(text.stderr.contains("there is more"), "{}", text.stderr);
    let csv = desk.run(&["audit", "--export", "csv"]).await.expect_success().stdout;
    assert!(csv.starts_with("id,at,actor") && csv.lines().count() >= 3, "{csv}");
    let lines = desk.run(&["audit", "--export", "jsonl", "--action", "push.create"]).await.expect_success();
    assert_eq!(lines.stdout.lines().count(), 1);
    assert!(![&csv, &lines.stdout].iter().any(|text| text.contains("whsec_") || text.contains(ADMIN)));
}
