//! Signing in and staying signed in, and those who should not.

use crate::desk::{As, Desk, PASSWORD, browser_of};
use serde_json::json;

#[tokio::test]
async fn the_first_person_comes_by_an_invite_and_signs_in() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let me = desk.get(As::Browser(&ada), "/api/me").await;
    assert_eq!(me.status, 200);
    assert_eq!(me.json()["email"], "ada@example.com");
    assert_eq!(me.json()["held_scopes"], json!(["account", "admin"]));
    let out = desk.call(As::Browser(&ada), "POST", "/api/auth/logout", json!({})).await;
    assert_eq!(out.status, 204);
    assert!(out.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")));
    assert_eq!(desk.get(As::Browser(&ada), "/api/me").await.status, 401);
    let audited = desk.audited().await;
    for action in ["invite.create", "invite.consume", "user.create", "session.create", "session.delete"] {
        assert!(audited.contains(&(action.to_owned(), "done".to_owned())), "{action} in {audited:?}");
    }
}

#[tokio::test]
async fn the_cookie_is_for_this_site_alone() {
    let desk = Desk::open_with("trusted_proxies: [127.0.0.1]").await;
    desk.person("admin", "ada@example.com", &[]).await;
    let wish = json!({"email": "ADA@example.com ", "password": PASSWORD}).to_string();
    let plain = desk
        .call(
            As::Nobody,
            "POST",
            "/api/auth/login",
            json!({"email": "ADA@example.com ", "password": PASSWORD}),
        )
        .await;
    let cookie = plain.header("set-cookie").expect("a cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
    let headers = [("Content-Type", "application/json"), ("X-Forwarded-Proto", "https")];
    let behind_tls = desk.send(As::Nobody, "POST", "/api/auth/login", &headers, wish.as_bytes()).await;
    assert!(behind_tls.header("set-cookie").is_some_and(|cookie| cookie.contains("Secure")));
    assert!(behind_tls.header("strict-transport-security").is_some());
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_account_look_alike() {
    let desk = Desk::open().await;
    desk.person("admin", "ada@example.com", &[]).await;
    let mut texts = Vec::new();
    for email in ["ada@example.com", "nobody@example.com"] {
        let answer = desk
            .call(
                As::Nobody,
                "POST",
                "/api/auth/login",
                json!({"email": email, "password": "wrong wrong wrong"}),
            )
            .await;
        assert_eq!(answer.status, 401);
        texts.push((answer.json()["error"]["code"].clone(), answer.json()["error"]["message"].clone()));
    }
    assert_eq!(texts[0], texts[1]);
    let refused: Vec<_> =
        desk.audited().await.into_iter().filter(|(_, outcome)| outcome == "refused").collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
}

#[tokio::test]
async fn guessing_passwords_is_stopped_per_account_whatever_the_address() {
    let desk = Desk::open_with("trusted_proxies: [127.0.0.1]").await;
    desk.person("admin", "ada@example.com", &[]).await;
    let mut statuses = Vec::new();
    for n in 0..12 {
        let address = format!("203.0.113.{n}");
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", address.as_str())];
        let body = json!({"email": "ada@example.com", "password": format!("guess number {n}")}).to_string();
        statuses
            .push(desk.send(As::Nobody, "POST", "/api/auth/login", &headers, body.as_bytes()).await.status);
    }
    assert_eq!(statuses[..8], [401; 8], "{statuses:?}");
    assert_eq!(statuses[8..], [429; 4], "{statuses:?}");
    // Not even the right password gets through, so a guess is not told from a miss.
    let right = desk
        .call(
            As::Nobody,
            "POST",
            "/api/auth/login",
            json!({"email": "ada@example.com", "password": PASSWORD}),
        )
        .await;
    assert_eq!(right.status, 429);
    assert!(
        right
            .header("retry-after")
            .and_then(|text| text.parse::<u64>().ok())
            .is_some_and(|s| (1..=60).contains(&s))
    );
    // A minute later there is one try again.
    desk.db.execute("update rate_limits set full_at = full_at - interval '61 seconds'", &[]).await;
    let later = desk
        .call(
            As::Nobody,
            "POST",
            "/api/auth/login",
            json!({"email": "ada@example.com", "password": PASSWORD}),
        )
        .await;
    assert_eq!(later.status, 200, "{}", later.text());
}

#[tokio::test]
async fn guessing_is_stopped_per_address_over_all_accounts_and_instances() {
    let desk = Desk::open_with("trusted_proxies: [127.0.0.1]").await;
    let second = hooks_inspector::app::build(
        crate::desk::config(&desk.db, "trusted_proxies: [127.0.0.1]"),
        "127.0.0.1:0",
        "127.0.0.1:0",
        Default::default(),
    )
    .await
    .expect("a second instance");
    let second = Desk { db: hooks_testkit::db::TestDb::create().await, running: second, began: desk.began };
    let mut refused = 0;
    for n in 0..24 {
        let body =
            json!({"email": format!("user{n}@example.com"), "password": "guess guess guess"}).to_string();
        let headers = [("Content-Type", "application/json"), ("X-Forwarded-For", "198.51.100.7")];
        let instance = if n % 2 == 0 { &desk } else { &second };
        let answer = instance.send(As::Nobody, "POST", "/api/auth/login", &headers, body.as_bytes()).await;
        refused += usize::from(answer.status == 429);
    }
    assert!(refused >= 3, "{refused} of 24 were refused");
    let other = [("Content-Type", "application/json"), ("X-Forwarded-For", "198.51.100.8")];
    let body = json!({"email": "x@example.com", "password": "guess guess guess"}).to_string();
    assert_eq!(desk.send(As::Nobody, "POST", "/api/auth/login", &other, body.as_bytes()).await.status, 401);
}

#[tokio::test]
async fn a_prepared_session_is_not_taken_over() {
    let desk = Desk::open().await;
    let first = desk.person("admin", "ada@example.com", &[]).await;
    // The browser brings a session of somebody's choosing; signing in makes another and ends that one.
    let body = json!({"email": "ada@example.com", "password": PASSWORD}).to_string();
    let headers = [("Content-Type", "application/json"), ("Cookie", first.cookie.as_str())];
    let answer = desk.send(As::Nobody, "POST", "/api/auth/login", &headers, body.as_bytes()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let second = browser_of(&answer);
    assert_ne!(first.cookie, second.cookie);
    assert_eq!(desk.get(As::Browser(&first), "/api/me").await.status, 401);
    assert_eq!(desk.get(As::Browser(&second), "/api/me").await.status, 200);
    // Nor is an id that nobody made.
    let invented = format!("hooks_session={}.{}", uuid::Uuid::new_v4(), "A".repeat(43));
    assert_eq!(desk.send(As::Nobody, "GET", "/api/me", &[("Cookie", &invented)], b"").await.status, 401);
    let (id, _) = second.cookie.split_once('.').expect("id and secret");
    let guessed = format!("{id}.{}", "A".repeat(43));
    assert_eq!(desk.send(As::Nobody, "GET", "/api/me", &[("Cookie", &guessed)], b"").await.status, 401);
}

#[tokio::test]
async fn sessions_end_and_are_prolonged_by_use() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    assert!(desk.get(As::Browser(&ada), "/api/me").await.header("set-cookie").is_none());
    desk.db.execute("update sessions set last_used_at = now() - interval '2 hours', expires_at = now() + interval '1 hour'", &[]).await;
    let used = desk.get(As::Browser(&ada), "/api/me").await;
    assert!(
        used.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=2592000")),
        "the cookie is renewed"
    );
    desk.db.execute("update sessions set expires_at = now()", &[]).await;
    assert_eq!(desk.get(As::Browser(&ada), "/api/me").await.status, 401);
}

#[tokio::test]
async fn only_known_host_names_are_answered() {
    let desk = Desk::open_with("inspector: {hosts: [hooks.example.com]}").await;
    let token = desk.admin_token().await;
    for (host, status) in [
        ("hooks.example.com", 200),
        ("localhost:8082", 200),
        ("[::1]", 200),
        ("attacker.example", 421),
        ("localhost.attacker.example", 421),
        ("hooks.example.com@attacker.example", 421),
    ] {
        let answer = desk.send(As::Token(&token), "GET", "/api/tokens", &[("Host", host)], b"").await;
        assert_eq!(answer.status, status, "{host}: {}", answer.text());
    }
}

#[tokio::test]
async fn oversized_and_misshapen_bodies_are_refused() {
    let desk = Desk::open().await;
    let token = desk.admin_token().await;
    let json = [("Content-Type", "application/json")];
    let long = vec![b' '; 70_000];
    assert_eq!(desk.send(As::Token(&token), "POST", "/api/tokens", &json, &long).await.status, 413);
    assert_eq!(desk.send(As::Nobody, "POST", "/api/auth/login", &json, &long).await.status, 413);
    let answer = desk.send(As::Token(&token), "POST", "/api/tokens", &json, b"{\"name\":").await;
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (400, json!("invalid")));
    let answer = desk.send(As::Token(&token), "POST", "/api/tokens", &json, b"[1]").await;
    assert_eq!(answer.status, 400);
    assert!(!answer.text().contains("NewToken"), "{}", answer.text());
    let form = [("Content-Type", "text/plain")];
    assert_eq!(desk.send(As::Token(&token), "POST", "/api/tokens", &form, b"{}x").await.status, 415);
    let nul = json!({"name": "a\0b", "scopes": ["alpha"]}).to_string();
    assert_eq!(desk.send(As::Token(&token), "POST", "/api/tokens", &json, nul.as_bytes()).await.status, 400);
}

#[tokio::test]
async fn answers_carry_the_headers_that_keep_browsers_safe() {
    let desk = Desk::open().await;
    let answer = desk.send(As::Nobody, "GET", "/api/tokens", &[("X-Request-Id", "mine-1")], b"").await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
    assert_eq!(answer.json()["error"]["request_id"], "mine-1");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    let policy = answer.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
}
