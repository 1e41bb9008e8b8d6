//! Pairing a command line.

use crate::desk::{As, Browser, Desk, PASSWORD};
use serde_json::{Value, json};

async fn start(desk: &Desk, body: Value) -> Value {
    let answer = desk.call(As::Nobody, "POST", "/api/auth/device/start", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn poll(desk: &Desk, started: &Value) -> (u16, Value) {
    let answer = desk
        .call(As::Nobody, "POST", "/api/auth/device/poll", json!({"device_code": started["device_code"]}))
        .await;
    (answer.status, answer.json())
}

async fn approve(desk: &Desk, browser: &Browser, started: &Value, password: &str, scopes: Value) -> u16 {
    let body = json!({"user_code": started["user_code"], "password": password, "granted_scopes": scopes});
    desk.call(As::Browser(browser), "POST", "/api/auth/device/approve", body).await.status
}

#[tokio::test]
async fn a_command_line_gets_what_the_person_grants() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let started = start(&desk, json!({"scopes": ["alpha"], "admin": true})).await;
    assert_eq!((&started["interval"], &started["expires_in"]), (&json!(5), &json!(900)));
    assert!(started["verification_uri"].as_str().is_some_and(|uri| uri.ends_with("/device")));
    assert_eq!(poll(&desk, &started).await, (202, json!({"status": "pending"})));
    assert_eq!(approve(&desk, &ada, &started, "wrong", json!(["alpha"])).await, 401);
    assert_eq!(approve(&desk, &ada, &started, PASSWORD, json!([])).await, 422);
    assert_eq!(approve(&desk, &ada, &started, PASSWORD, json!(["beta"])).await, 403);
    assert_eq!(approve(&desk, &ada, &started, PASSWORD, json!(["alpha"])).await, 200);
    assert_eq!(approve(&desk, &ada, &started, PASSWORD, json!(["alpha"])).await, 409);
    let (status, token) = poll(&desk, &started).await;
    assert_eq!(
        (status, &token["scopes"], &token["name"]),
        (200, &json!(["alpha"]), &json!("device-pairing"))
    );
    assert_eq!(poll(&desk, &started).await.0, 410);
    let text = token["token"].as_str().expect("a token");
    assert_eq!(desk.get(As::Token(text), "/api/tokens").await.status, 403);
    let leaks: i64 = desk
        .db
        .query_one("select count(*) from pairings p where p::text like '%' || $1 || '%'", &[&text])
        .await
        .get(0);
    assert_eq!(leaks, 0);
}

#[tokio::test]
async fn two_polls_at_once_fetch_one_token() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let started = start(&desk, json!({})).await;
    assert_eq!(approve(&desk, &ada, &started, PASSWORD, json!(["account"])).await, 200);
    let (one, two) = tokio::join!(poll(&desk, &started), poll(&desk, &started));
    let mut statuses = [one.0, two.0];
    statuses.sort();
    assert_eq!(statuses, [200, 410]);
    let (token, _) = if one.0 == 200 { (one.1, two) } else { (two.1, one) };
    let text = token["token"].as_str().expect("a token");
    assert_eq!(desk.get(As::Token(text), "/api/me").await.json()["email"], "ada@example.com");
}

#[tokio::test]
async fn nobody_grants_more_than_they_hold() {
    let desk = Desk::open().await;
    let mem = desk.person("member", "mem@example.com", &["alpha"]).await;
    let started = start(&desk, json!({"scopes": ["alpha", "beta"], "admin": true})).await;
    assert_eq!(approve(&desk, &mem, &started, PASSWORD, json!(["admin"])).await, 403);
    assert_eq!(approve(&desk, &mem, &started, PASSWORD, json!(["beta"])).await, 403);
    let deny = desk
        .call(As::Browser(&mem), "POST", "/api/auth/device/deny", json!({"user_code": started["user_code"]}))
        .await;
    assert_eq!(deny.status, 204);
    assert_eq!(poll(&desk, &started).await.0, 403);
}

#[tokio::test]
async fn a_code_is_void_after_a_while() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let started = start(&desk, json!({})).await;
    desk.db.execute("update pairings set expires_at = now()", &[]).await;
    assert_eq!(poll(&desk, &started).await.0, 410);
    assert_eq!(approve(&desk, &ada, &started, PASSWORD, json!(["account"])).await, 410);
    assert_eq!(poll(&desk, &json!({"device_code": "x"})).await.0, 404);
}
