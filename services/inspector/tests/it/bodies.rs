//! What a request body may hold: the described members and no others, on every route.

use crate::desk::{As, Browser, Desk, Stored};
use hooks_inspector::app::Seams;
use hooks_inspector::routes::{Route, table};
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawConnection, request};
use serde_json::{Value, json};
use std::time::Duration;

/// The names that only the original relay's client uses; they are taken, and ours are what is told.
const ORIGINAL: [&str; 2] = ["target_url", "since"];

/// The schema of a route's body; null where it takes none.
fn schema_of(document: &Value, route: &Route) -> Value {
    let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
    let reference = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let name = reference.as_str().and_then(|reference| reference.strip_prefix("#/components/schemas/"));
    name.map(|name| document["components"]["schemas"][name].clone()).unwrap_or_default()
}

/// What is wrong with how a route takes a member that it does not have.
async fn fault_of(desk: &Desk, admin: &Browser, route: &Route, schema: &Value) -> Option<String> {
    let nil = uuid::Uuid::nil().to_string();
    let path = ["{id}", "{code}"].iter().fold(route.path.to_owned(), |path, part| path.replace(part, &nil));
    let path = path.replace("{source}", "alpha").replace("{sequence}", "1");
    let mut body = json!({"no_such_member": 1});
    // Without these two a subscription is refused for the lack of them.
    if route.path == "/api/push-subscriptions" {
        body["source"] = json!("alpha");
        body["url"] = json!("https://example.com/");
    }
    let answer = desk.call(As::Browser(admin), route.method.as_str(), &path, body).await;
    let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    let known = schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
    let mut known = known.filter(|name| !ORIGINAL.contains(&name.as_str()));
    let right = answer.status == 400
        && message.starts_with("no_such_member: is not a member")
        && known.all(|name| message.contains(name.as_str()))
        && (schema.is_null() || schema["additionalProperties"] == json!(false));
    (!right).then(|| format!("{} {path}: {} {message}; {schema}", route.method.as_str(), answer.status))
}

#[tokio::test]
async fn every_body_refuses_a_member_it_does_not_have_and_names_those_it_has() {
    let desk = Desk::open().await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    let document: Value =
        serde_json::from_str(&hooks_inspector::api::openapi::text()).expect("a description");
    let mut faults = Vec::new();
    for route in table().iter().filter(|route| !route.is_page() && route.method.changes()) {
        let schema = schema_of(&document, route);
        faults.extend(fault_of(&desk, &admin, route, &schema).await);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The bodies as the original relay's client writes them.
#[tokio::test]
async fn the_originals_bodies_are_taken() {
    let desk = Desk::open().await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    let pat = desk.token("pat", &["admin", "account"], Some(admin.user_id)).await;
    // A subscription begins at the head of its source.
    desk.store("alpha", "1 minute", &[Stored::default()]).await;
    let listener = json!({"name": "hooksctl-forward-alpha", "scopes": ["alpha"], "kind": "listener",
        "ephemeral": true});
    let subscription =
        json!({"source": "alpha", "target_url": "https://example.com/", "name": "theirs", "since": "0"});
    for (path, body, status) in [
        ("/api/tokens", json!({"name": "a", "scopes": ["alpha,beta"]}), 201),
        ("/api/me/tokens", listener, 201),
        ("/api/me/tokens", json!({"name": "a", "scopes": ["alpha"], "kind": "pat", "ephemeral": false}), 201),
        ("/api/push-subscriptions", subscription, 201),
        ("/api/invites", json!({"role": "user", "default_scopes": ["alpha"], "ttl_seconds": 604_800}), 201),
        ("/api/auth/device/start", json!({"scopes": null, "admin": true}), 200),
        ("/api/auth/device/poll", json!({"device_code": "none"}), 404),
        ("/api/me/tokens/self/revoke", json!({}), 204),
    ] {
        let answer = desk.call(As::Token(&pat), "POST", path, body).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
}

/// Which of two would be taken, nobody could know.
#[tokio::test]
async fn a_member_given_in_both_names_is_refused() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let both = json!({"source": "alpha", "url": "https://a.example/", "target_url": "https://b.example/"});
    let answer = desk.call(As::Token(&admin), "POST", "/api/push-subscriptions", both).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("target_url: means the same as `url`"), "{}", answer.text());
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_told_so() {
    let seams = Seams { body_time: Duration::from_millis(300), ..Seams::default() };
    let desk = Desk::with(TestDb::create().await, "", seams).await;
    let host = desk.address().to_string();
    let head = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let whole =
        request("POST", "/api/auth/login", &head, b"{\"email\": \"a@example.com\", \"password\": \"b\"}");
    let mut connection = RawConnection::connect(desk.address()).await;
    connection.send(&whole[..whole.len() - 1]).await.expect("sent but for a byte");
    let answer = connection.recv().await.expect("an answer");
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (408, &json!("slow_body")),
        "{}",
        answer.text()
    );
    assert!(connection.closed_within(Duration::from_secs(20)).await, "what is left of the body is not read");
}

/// A name that turns the direction of writing, or steers a terminal, looks like another one in a list.
#[tokio::test]
async fn names_that_do_not_look_like_what_they_are_are_refused() {
    let desk = Desk::open().await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    desk.store("alpha", "1 minute", &[Stored::default()]).await;
    let url = "https://example.com/";
    let subscription = json!({"source": "alpha", "url": url, "name": "receiver"});
    let made = desk.call(As::Browser(&admin), "POST", "/api/push-subscriptions", subscription).await.json();
    let subscription = format!("/api/push-subscriptions/{}", made["id"].as_str().expect("an id"));
    let user = format!("/api/users/{}", admin.user_id);
    for odd in ["a\u{202e}gnp", "a\u{2066}", "a\u{200b}", "a\nb", "a\u{1b}[2J"] {
        for (method, path, body, field) in [
            ("POST", "/api/tokens", json!({"name": odd, "scopes": ["alpha"]}), "name"),
            ("POST", "/api/me/tokens", json!({"name": odd, "scopes": ["account"]}), "name"),
            ("PATCH", "/api/me", json!({"name": odd}), "name"),
            ("PATCH", &user, json!({"name": odd}), "name"),
            ("POST", "/api/push-subscriptions", json!({"source": "alpha", "url": url, "name": odd}), "name"),
            ("PATCH", &subscription, json!({"name": odd}), "name"),
            ("POST", &format!("{subscription}/pause"), json!({"reason": odd}), "reason"),
        ] {
            let answer = desk.call(As::Browser(&admin), method, path, body).await;
            let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
            let refused = matches!(answer.status, 400 | 422);
            assert!(
                refused && message.starts_with(field) && message.contains("U+"),
                "{method} {path}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn times_that_would_be_changed_without_a_word_are_refused() {
    let desk = Desk::open().await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    for seconds in [0, -1] {
        for (path, body, field) in [
            (
                "/api/tokens",
                json!({"name": "a", "scopes": ["alpha"], "expires_in_seconds": seconds}),
                "expires_in_seconds: ",
            ),
            (
                "/api/me/tokens",
                json!({"name": "a", "scopes": ["account"], "expires_in_seconds": seconds}),
                "expires_in_seconds: ",
            ),
            ("/api/invites", json!({"role": "member", "ttl_seconds": seconds}), "ttl_seconds: "),
        ] {
            let answer = desk.call(As::Browser(&admin), "POST", path, body).await;
            assert_eq!(answer.status, 400, "{path}: {}", answer.text());
            assert!(answer.text().contains(field), "{path}: {}", answer.text());
        }
    }
    // An administrator is invited by role; as a scope of a member the word would mean nothing.
    let wish = json!({"role": "member", "default_scopes": ["admin"]});
    let answer = desk.call(As::Browser(&admin), "POST", "/api/invites", wish).await;
    assert!(answer.status == 400 && answer.text().contains("default_scopes: "), "{}", answer.text());
    // A source may come later, but a name misspelt is worth a word.
    let wish = json!({"role": "member", "default_scopes": ["alpha", "alhpa"]});
    let made = desk.call(As::Browser(&admin), "POST", "/api/invites", wish).await.json();
    assert_eq!(made["unknown_sources"], json!(["alhpa"]), "{made}");
    desk.store("alpha", "1 minute", &[Stored::default()]).await;
    let wish = json!({"source": "alpha", "url": "https://example.com/", "name": "receiver"});
    let made = desk.call(As::Browser(&admin), "POST", "/api/push-subscriptions", wish).await.json();
    let rotate = format!("/api/push-subscriptions/{}/rotate-secret", made["id"].as_str().expect("an id"));
    for (seconds, status) in [(2_592_000, 200), (2_592_001, 400)] {
        let wish = json!({"overlap_seconds": seconds});
        let answer = desk.call(As::Browser(&admin), "POST", &rotate, wish).await;
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    // Nothing said, in both ways of saying it.
    for body in [
        json!({"name": "a", "scopes": ["account"], "expires_in_seconds": null}),
        json!({"name": "a", "scopes": ["account"]}),
    ] {
        let answer = desk.call(As::Browser(&admin), "POST", "/api/me/tokens", body).await;
        assert_eq!((answer.status, answer.json().get("expires_at")), (201, None), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_member_of_a_wrong_type_is_named() {
    let desk = Desk::open().await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    for (path, body, named) in [
        ("/api/push-subscriptions", json!({"source": 5, "url": "https://example.com/"}), "source: "),
        ("/api/push-subscriptions", json!({"source": "alpha", "url": ["x"]}), "url: "),
        (
            "/api/push-subscriptions",
            json!({"source": "alpha", "url": "https://example.com/", "max_in_flight": 1.5}),
            "max_in_flight: ",
        ),
        ("/api/tokens", json!({"name": "a", "scopes": "alpha"}), "scopes: "),
    ] {
        let answer = desk.call(As::Browser(&admin), "POST", path, body).await;
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == 400 && message.starts_with(named), "{path}: {} {message}", answer.status);
    }
}
