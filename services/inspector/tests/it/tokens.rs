//! Tokens over the API.

use crate::desk::{As, Desk};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn an_administrator_makes_lists_and_ends_tokens() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let made = desk
        .call(
            As::Token(&admin),
            "POST",
            "/api/tokens",
            json!({"name": "ci", "scopes": ["alpha, beta", "nosuch"]}),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    assert_eq!(made["scopes"], json!(["alpha", "beta", "nosuch"]));
    assert_eq!((&made["kind"], &made["unknown_sources"]), (&json!("listener"), &json!(["nosuch"])));
    assert!(made["plaintext"].as_str().is_some_and(|text| text.starts_with("hk_")));
    let list = desk.get(As::Token(&admin), "/api/tokens").await.json();
    assert_eq!(list["tokens"][0]["name"], "ci");
    assert!(!list.to_string().contains(made["plaintext"].as_str().expect("text")));
    let id = made["id"].as_str().expect("an id");
    let revoke = format!("/api/tokens/{id}/revoke");
    assert_eq!(desk.call(As::Token(&admin), "POST", &revoke, json!(null)).await.status, 204);
    assert_eq!(desk.call(As::Token(&admin), "POST", &revoke, json!(null)).await.status, 404);
    let list = desk.get(As::Token(&admin), "/api/tokens").await.json();
    assert!(!list.to_string().contains(id));
    let list = desk.get(As::Token(&admin), "/api/tokens?include_revoked=1").await.json();
    assert!(list.to_string().contains(id));
}

#[tokio::test]
async fn pages_of_tokens_lead_to_each_other() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    for n in 0..5 {
        desk.token("listener", &[&format!("s{n}")], None).await;
    }
    let mut path = "/api/tokens?limit=2".to_owned();
    let mut seen = Vec::new();
    loop {
        let page = desk.get(As::Token(&admin), &path).await.json();
        let names = page["tokens"].as_array().expect("a list").iter();
        seen.extend(names.map(|token| token["name"].as_str().unwrap_or_default().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(
        seen,
        ["listener s4", "listener s3", "listener s2", "listener s1", "listener s0", "pat admin"]
    );
    assert_eq!(desk.get(As::Token(&admin), "/api/tokens?cursor=x").await.status, 400);
    assert_eq!(desk.get(As::Token(&admin), "/api/tokens?limit=501").await.status, 400);
    assert_eq!(desk.get(As::Token(&admin), "/api/tokens?nosuch=1").await.status, 400);
}

#[tokio::test]
async fn the_same_creation_sent_twice_creates_once() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k-1")];
    let body = json!({"name": "once", "scopes": ["alpha"]}).to_string();
    let first = desk.send(As::Token(&admin), "POST", "/api/tokens", &headers, body.as_bytes()).await;
    let second = desk.send(As::Token(&admin), "POST", "/api/tokens", &headers, body.as_bytes()).await;
    assert_eq!((first.status, second.status), (201, 201), "{}", second.text());
    assert_eq!(first.json(), second.json());
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    let other = json!({"name": "other", "scopes": ["alpha"]}).to_string();
    let mismatch = desk.send(As::Token(&admin), "POST", "/api/tokens", &headers, other.as_bytes()).await;
    assert_eq!(
        (mismatch.status, mismatch.json()["error"]["code"].clone()),
        (422, json!("idempotency_mismatch"))
    );
    // Another caller's key is another key, and the kept answer tells the database nothing.
    let somebody = desk.admin_token().await;
    let third = desk.send(As::Token(&somebody), "POST", "/api/tokens", &headers, body.as_bytes()).await;
    assert_ne!(first.json()["id"], third.json()["id"]);
    let count: i64 = desk.db.query_one("select count(*) from tokens where name = 'once'", &[]).await.get(0);
    assert_eq!(count, 2);
    let text = first.json()["plaintext"].as_str().expect("text").as_bytes().to_vec();
    let leaks: i64 = desk
        .db
        .query_one("select count(*) from idempotency_keys where position($1 in answer) > 0", &[&text])
        .await
        .get(0);
    assert_eq!(leaks, 0);
}

#[tokio::test]
async fn a_person_gives_no_more_than_they_hold() {
    let desk = Desk::open().await;
    let member = desk.person("member", "mem@example.com", &["alpha"]).await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    let make = |scopes: serde_json::Value, kind: &str| json!({"name": "t", "scopes": scopes, "kind": kind});
    let path = "/api/me/tokens";
    for (scopes, kind, status) in [
        (json!(["alpha"]), "listener", 201),
        (json!(["beta"]), "listener", 403),
        (json!(["admin"]), "pat", 403),
        (json!([]), "pat", 400),
        (json!(["alpha"]), "bearer", 400),
    ] {
        let answer = desk.call(As::Browser(&member), "POST", path, make(scopes.clone(), kind)).await;
        assert_eq!(answer.status, status, "{scopes} {kind}: {}", answer.text());
    }
    let pat = desk.call(As::Browser(&admin), "POST", path, make(json!(["alpha"]), "pat")).await.json();
    assert_eq!(pat["scopes"], json!(["alpha", "account"]));
    // A personal token without `admin` does not become one by making another.
    let pat = pat["plaintext"].as_str().expect("text");
    assert_eq!(desk.call(As::Token(pat), "POST", path, make(json!(["admin"]), "pat")).await.status, 403);
    assert_eq!(desk.call(As::Token(pat), "POST", path, make(json!(["beta"]), "listener")).await.status, 201);
}

#[tokio::test]
async fn a_token_can_end_itself_and_only_its_owner_s() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let mem = desk.person("member", "mem@example.com", &["alpha"]).await;
    let pat = desk.token("pat", &["account"], Some(mem.user_id)).await;
    let of_ada = desk
        .call(As::Browser(&ada), "POST", "/api/me/tokens", json!({"name": "a", "scopes": ["account"]}))
        .await
        .json();
    let foreign = format!("/api/me/tokens/{}/revoke", of_ada["id"].as_str().expect("an id"));
    assert_eq!(desk.call(As::Token(&pat), "POST", &foreign, json!(null)).await.status, 404);
    assert_eq!(
        desk.call(As::Browser(&mem), "POST", "/api/me/tokens/self/revoke", json!(null)).await.status,
        400
    );
    assert_eq!(
        desk.call(As::Token(&pat), "POST", "/api/me/tokens/self/revoke", json!(null)).await.status,
        204
    );
    assert_eq!(desk.get(As::Token(&pat), "/api/me").await.status, 401);
}

#[tokio::test]
async fn a_revocation_is_announced() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let target = hooks_shared::db::Target::parse(&hooks_shared::Secret::new(desk.db.url())).expect("a URL");
    let (mut hints, _state) = hooks_shared::db::listen(target, "test");
    assert_eq!(hints.recv().await, Some(hooks_shared::db::Hint::Everything));
    let made = desk
        .call(As::Token(&admin), "POST", "/api/tokens", json!({"name": "x", "scopes": ["alpha"]}))
        .await
        .json();
    let path = format!("/api/tokens/{}/revoke", made["id"].as_str().expect("an id"));
    assert_eq!(desk.call(As::Token(&admin), "POST", &path, json!(null)).await.status, 204);
    let hint = tokio::time::timeout(Duration::from_secs(10), hints.recv()).await;
    assert_eq!(hint, Ok(Some(hooks_shared::db::Hint::Tokens)));
}

#[tokio::test]
async fn a_token_changes_hands() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let mem = desk.person("member", "mem@example.com", &["alpha"]).await;
    let made = desk
        .call(As::Token(&admin), "POST", "/api/tokens", json!({"name": "x", "scopes": ["alpha"]}))
        .await
        .json();
    let path = format!("/api/tokens/{}", made["id"].as_str().expect("an id"));
    for (body, status) in [
        (json!({"owner_user_id": mem.user_id}), 204),
        (json!({"owner_user_id": null}), 204),
        (json!({"owner_user_id": "system"}), 204),
        (json!({}), 400),
        (json!({"owner_user_id": 5}), 400),
        (json!({"owner_user_id": uuid::Uuid::new_v4()}), 422),
    ] {
        assert_eq!(desk.call(As::Token(&admin), "PATCH", &path, body.clone()).await.status, status, "{body}");
    }
}

/// Rows of refused tokens in the audit: their reasons, oldest first.
async fn refused(desk: &Desk) -> Vec<String> {
    let sql = "select details->>'reason' as reason from audit where action = 'token.use' and outcome = 'refused' order by id";
    desk.db.query(sql, &[]).await.iter().map(|row| row.get("reason")).collect()
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_told_once_a_minute() {
    let desk = Desk::open().await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    let gone = desk.person("member", "gone@example.com", &["alpha"]).await;
    let [revoked, expired] =
        [desk.token("pat", &["admin"], None).await, desk.token("pat", &["admin"], None).await];
    let of_gone = desk.token("pat", &["account"], Some(gone.user_id)).await;
    for (sql, token) in [
        ("update tokens set revoked_at = now() where secret_hash = $1", &revoked),
        ("update tokens set expires_at = now() where secret_hash = $1", &expired),
    ] {
        desk.db.execute(sql, &[&hooks_shared::token::hash(token)]).await;
    }
    desk.db.execute("update people set deactivated_at = now() where email = 'gone@example.com'", &[]).await;
    let strangers: Vec<String> = (0..3).map(|_| hooks_shared::token::mint().expose().to_owned()).collect();
    let bad = [&revoked, &expired, &of_gone].into_iter().chain(&strangers);
    let bad: Vec<&String> = bad.collect();
    let try_all = async || {
        for token in &bad {
            assert_eq!(desk.get(As::Token(token), "/api/tokens").await.status, 401);
            // Where anybody may come, a bad token is nobody, and told of all the same.
            assert_eq!(desk.get(As::Token(token), "/api/openapi.json").await.status, 200);
        }
    };
    try_all().await;
    let once = ["revoked", "expired", "owner_deactivated", "unknown"];
    assert_eq!(refused(&desk).await, once);
    // A minute later.
    let later = "update rate_limits set full_at = full_at - interval '1 minute'";
    desk.db.execute(later, &[]).await;
    try_all().await;
    assert_eq!(refused(&desk).await, [once, once].concat());
    let rows = desk.get(As::Browser(&admin), "/api/audit?action=token.use").await;
    assert!(rows.text().contains("token pat admin") && rows.text().contains("127.0.0.1"), "{}", rows.text());
    for token in bad {
        assert!(!rows.text().contains(token.as_str()), "a token stands in the audit");
        let hash = hex::encode(hooks_shared::token::hash(token));
        assert!(!rows.text().contains(&hash), "what is stored of a token stands in the audit");
    }
}

/// However many addresses a stranger has.
#[tokio::test]
async fn unknown_tokens_from_everywhere_do_not_fill_the_audit() {
    let desk = Desk::open_with("trusted_proxies: [127.0.0.1]").await;
    let token = hooks_shared::token::mint();
    for n in 0..40 {
        let address = format!("192.0.2.{n}");
        let headers = [("X-Forwarded-For", address.as_str())];
        let answer = desk.send(As::Token(token.expose()), "GET", "/api/tokens", &headers, b"").await;
        assert_eq!(answer.status, 401, "{}", answer.text());
    }
    let told = refused(&desk).await.len();
    assert!((30..40).contains(&told), "{told}");
}
