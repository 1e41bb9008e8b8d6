//! The pages: who sees what, what strangers' bytes become, where forms lead.

use crate::desk::{As, Browser, Desk, PASSWORD, Stored};
use hooks_testkit::http::RawResponse;

const LOOPBACK: &str = "push: {allow_destinations: [loopback]}";
const EVIL: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>";

fn is_safe(page: &RawResponse) {
    let text = page.text();
    assert!(
        !text.contains("<script>alert") && !text.contains("<img src=x") && !text.contains("<svg/onload"),
        "{text}"
    );
    assert!(!text.contains("style=\"") && !text.contains("onclick"), "{text}");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
}

fn cookie_of(answer: &RawResponse) -> String {
    answer.header("set-cookie").expect("a cookie").split(';').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn every_page_opens_for_an_administrator_and_is_well_formed() {
    let desk = Desk::open_with(LOOPBACK).await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let one = Stored { kind: Some("push"), body: b"{\"a\":1}", ..Stored::default() };
    desk.store("alpha", "1 hour", &[one; 3]).await;
    let made = desk
        .form(
            Some(&ada),
            "/push",
            &[("source", "alpha"), ("url", "http://127.0.0.1:9/?key=s3cret"), ("name", "ci")],
        )
        .await;
    assert!(made.text().contains("whsec_"), "{}", made.text());
    let id: String = desk.db.query_one("select id from push_subscriptions", &[]).await.get(0);
    let test = desk.form(Some(&ada), &format!("/push/{id}/test"), &[]).await;
    let delivery = test.header("location").expect("a place").to_owned();
    let paths = [
        "/",
        "/?span=day",
        "/events",
        "/events?q=a%3D1",
        "/events?q=%3D",
        "/events?push=failed",
        "/events?delivery_id=x&from=2026-05-09T14:00",
        "/events/alpha/1",
        "/events/alpha/1?view=hex",
        "/deliveries",
        &format!("/deliveries?subscription={id}"),
        &delivery,
        "/sources",
        "/sources/alpha",
        "/sources/alpha?span=hour",
        "/listeners",
        "/push",
        &format!("/push/{id}"),
        "/tokens",
        "/users",
        "/audit",
        "/me",
        "/device",
        "/device?user_code=AAAA-AAAA",
        "/login",
        "/signup?code=x",
    ];
    for path in paths {
        let page = desk.get(As::Browser(&ada), path).await;
        let expected = if path == "/login" { 303 } else { 200 };
        assert_eq!(page.status, expected, "{path}: {}", page.text());
        is_safe(&page);
        assert!(!page.text().contains("s3cret"), "{path}");
        let text = page.text();
        for tag in ["table", "form", "div", "main", "nav", "tr", "td"] {
            let (opened, closed) =
                (text.matches(&format!("<{tag}")).count(), text.matches(&format!("</{tag}>")).count());
            let more_specific = if tag == "td"
                || tag == "tr"
                || tag == "main"
                || tag == "nav"
                || tag == "div"
                || tag == "form"
                || tag == "table"
            {
                0
            } else {
                1
            };
            assert!(
                opened.abs_diff(closed) <= more_specific + text.matches("<track").count(),
                "{path}: {opened} <{tag}> and {closed} ends"
            );
        }
    }
}

#[tokio::test]
async fn bytes_from_strangers_never_run() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", EVIL_ADDRESS, &[]).await;
    let json = format!("{{\"x\":{}}}", serde_json::Value::from(EVIL));
    let headers = [("X-Evil", EVIL), (EVIL_NAME, "1"), ("Content-Type", "text/html")];
    for body in [EVIL.as_bytes(), json.as_bytes(), b"\x00\x01<script>alert(1)</script>"] {
        desk.store(
            "alpha",
            "1 hour",
            &[Stored { id: Some(EVIL), kind: Some(EVIL), headers: &headers, body }],
        )
        .await;
    }
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let svg = [("Content-Type", "image/svg+xml")];
    let encoded =
        format!("{}={}", "%3Cscript%3Ealert(1)%3C/script%3E", "%3Cimg%20src=x%20onerror=alert(2)%3E");
    desk.store(
        "alpha",
        "1 hour",
        &[Stored { headers: &form, body: encoded.as_bytes(), ..Stored::default() }],
    )
    .await;
    desk.store(
        "alpha",
        "1 hour",
        &[Stored {
            headers: &svg,
            body: b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
            ..Stored::default()
        }],
    )
    .await;
    for n in 1..=5 {
        is_safe(&desk.get(As::Browser(&ada), &format!("/events/alpha/{n}")).await);
        let raw = desk.get(As::Browser(&ada), &format!("/events/alpha/{n}/body?inline=1")).await;
        assert_eq!(raw.header("content-type"), Some("application/octet-stream"), "{n}");
        assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
        assert!(raw.header("content-security-policy").is_some_and(|policy| policy.contains("sandbox")));
    }
    is_safe(&desk.get(As::Browser(&ada), "/events").await);
    let query = EVIL.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    for path in [
        "/events?q=",
        "/events?source=",
        "/audit?actor=",
        "/login?next=",
        "/signup?code=",
        "/device?user_code=",
        "/?done=",
        "/?done=replayed&n=",
        "/events?type=",
        "/events?from=",
        "/deliveries?source=",
        "/events/alpha/1?view=",
    ] {
        is_safe(&desk.get(As::Browser(&ada), &format!("{path}{query}")).await);
        if path.starts_with("/login") || path.starts_with("/signup") {
            is_safe(&desk.get(As::Nobody, &format!("{path}{query}")).await);
        }
    }
    let accept = [("Accept", "text/html")];
    is_safe(&desk.send(As::Nobody, "GET", &format!("/{query}"), &accept, b"").await);
}

const EVIL_ADDRESS: &str = "ada'`{}@example.com";
const EVIL_NAME: &str = "X-<script>alert(1)</script>";

#[tokio::test]
async fn a_sign_in_leads_back_and_never_away() {
    let desk = Desk::open().await;
    desk.person("admin", "ada@example.com", &[]).await;
    let asked = desk.get(As::Nobody, "/events?source=alpha").await;
    assert_eq!(
        (asked.status, asked.header("location")),
        (303, Some("/login?next=%2Fevents%3Fsource%3Dalpha"))
    );
    for (next, leads) in [
        ("/events?source=alpha", "/events?source=alpha"),
        ("//evil.example/", "/"),
        ("https://evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
    ] {
        let fields = [("email", "ada@example.com"), ("password", PASSWORD), ("next", next)];
        let answer = desk.form(None, "/login", &fields).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some(leads)), "{next}");
        assert!(cookie_of(&answer).starts_with("hooks_session="));
    }
    let wrong = desk
        .form(None, "/login", &[("email", "ada@example.com"), ("password", "wrong"), ("next", "/x")])
        .await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.text().contains("Invalid email or password.") && wrong.header("set-cookie").is_none());
    let elsewhere =
        [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", "https://evil.example")];
    let body = format!("email=ada%40example.com&password={}", PASSWORD.replace(' ', "+"));
    assert_eq!(desk.send(As::Nobody, "POST", "/login", &elsewhere, body.as_bytes()).await.status, 403);
}

#[tokio::test]
async fn an_invited_person_signs_up_on_the_page_and_sees_their_source_only() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let one = Stored { kind: Some("seen"), body: b"{}", ..Stored::default() };
    desk.store("alpha", "1 hour", &[one]).await;
    desk.store("beta", "1 hour", &[Stored { kind: Some("unseen"), ..one }]).await;
    let invite = desk.form(Some(&ada), "/users/invites", &[("role", "member"), ("scopes", "alpha")]).await;
    let text = invite.text();
    let code = text.split("/signup?code=").nth(1).and_then(|rest| rest.split('<').next()).expect("a link");
    let fields = [("code", code), ("email", "mem@example.com"), ("name", "Mem"), ("password", "short")];
    assert_eq!(desk.form(None, "/signup", &fields).await.status, 422);
    let fields = [("code", code), ("email", "mem@example.com"), ("name", "Mem"), ("password", PASSWORD)];
    let joined = desk.form(None, "/signup", &fields).await;
    assert_eq!((joined.status, joined.header("location")), (303, Some("/")), "{}", joined.text());
    let mem = desk.sign_in("mem@example.com").await;
    let list = desk.get(As::Browser(&mem), "/events").await.text();
    assert!(list.contains("seen") && !list.contains("unseen"), "{list}");
    assert!(!list.contains("/tokens") && !list.contains("/audit"), "{list}");
    for path in ["/tokens", "/users", "/audit"] {
        assert_eq!(desk.get(As::Browser(&mem), path).await.status, 403, "{path}");
    }
    assert_eq!(desk.get(As::Browser(&mem), "/events/beta/1").await.status, 404);
}

#[tokio::test]
async fn forms_do_what_they_say_and_need_their_token() {
    let desk = Desk::open_with(LOOPBACK).await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 2]).await;
    let go = async |path: &str, fields: &[(&str, &str)]| {
        let answer = desk.form(Some(&ada), path, fields).await;
        assert_eq!(answer.status, 303, "{path}: {}", answer.text());
        answer.header("location").unwrap_or_default().to_owned()
    };
    assert_eq!(go("/events/alpha/1/replay", &[("to", "listeners")]).await, "/events/alpha/1?done=replayed");
    let token = desk
        .form(
            Some(&ada),
            "/tokens",
            &[("name", "ci"), ("scopes", "alpha"), ("kind", "listener"), ("days", "7")],
        )
        .await;
    assert!(token.text().contains("hk_"), "{}", token.text());
    let id: uuid::Uuid = desk.db.query_one("select id from tokens where name = 'ci'", &[]).await.get(0);
    assert_eq!(go(&format!("/tokens/{id}/revoke"), &[]).await, "/tokens?done=revoked");
    desk.form(
        Some(&ada),
        "/push",
        &[("source", "alpha"), ("url", "http://127.0.0.1:9/"), ("name", "p"), ("start", "0")],
    )
    .await;
    let push: String = desk.db.query_one("select id from push_subscriptions", &[]).await.get(0);
    assert_eq!(go(&format!("/push/{push}/pause"), &[]).await, format!("/push/{push}?done=paused"));
    assert_eq!(go(&format!("/push/{push}/resume"), &[]).await, format!("/push/{push}?done=resumed"));
    go("/events/alpha/1/replay", &[("to", "all")]).await;
    desk.db
        .execute("update deliveries set state = 'failed', failure = 'exhausted', completed_at = now()", &[])
        .await;
    let plan = desk.form(Some(&ada), "/deliveries/replay", &[("subscription", &push)]).await;
    assert!(plan.status == 200 && plan.text().contains("Replay 1"), "{}", plan.text());
    assert_eq!(
        go("/deliveries/replay", &[("subscription", &push), ("go", "1"), ("all", "1")]).await,
        "/deliveries?done=replayed&n=1"
    );
    let state: String = desk.db.query_one("select state from deliveries", &[]).await.get(0);
    assert_eq!(state, "pending");
    assert_eq!(go(&format!("/push/{push}/delete"), &[]).await, "/push?done=deleted");
    let forged = Browser { csrf: "x".into(), ..ada.clone() };
    assert_eq!(desk.form(Some(&forged), "/tokens", &[("name", "n"), ("scopes", "alpha")]).await.status, 403);
    let long = "x".repeat(70_000);
    assert_eq!(desk.form(Some(&ada), "/tokens", &[("name", &long), ("scopes", "alpha")]).await.status, 413);
    let out = desk.form(Some(&ada), "/logout", &[]).await;
    assert_eq!((out.status, out.header("location")), (303, Some("/login")));
    assert_eq!(desk.get(As::Nobody, "/logout").await.status, 405);
}

#[tokio::test]
async fn a_command_line_is_confirmed_on_the_page() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let started = desk
        .call(
            As::Nobody,
            "POST",
            "/api/auth/device/start",
            serde_json::json!({"scopes": ["alpha", "account"]}),
        )
        .await
        .json();
    let code = started["user_code"].as_str().expect("a code");
    let page =
        desk.get(As::Browser(&ada), &format!("/device?user_code={}", code.to_lowercase())).await.text();
    assert!(page.contains(code) && page.contains("value=\"alpha\"") && page.contains("127.0.0.1"), "{page}");
    // Un-ticking everything grants nothing.
    let none = [("user_code", code), ("password", PASSWORD), ("action", "approve")];
    assert_eq!(desk.form(Some(&ada), "/device", &none).await.status, 422);
    let some =
        [("user_code", code), ("password", PASSWORD), ("action", "approve"), ("granted_scopes", "alpha")];
    assert_eq!(
        desk.form(Some(&ada), "/device", &some).await.header("location"),
        Some("/device?done=approved")
    );
    let polled = desk
        .call(
            As::Nobody,
            "POST",
            "/api/auth/device/poll",
            serde_json::json!({"device_code": started["device_code"]}),
        )
        .await;
    assert_eq!(polled.json()["scopes"], serde_json::json!(["alpha"]));
}
