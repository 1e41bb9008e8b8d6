//! Invites and administering people.

use crate::desk::{As, Desk, PASSWORD};
use serde_json::json;

#[tokio::test]
async fn an_invite_is_used_once() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let invite = desk
        .call(As::Token(&admin), "POST", "/api/invites", json!({"role": "user", "default_scopes": ["alpha"]}))
        .await
        .json();
    assert_eq!(invite["role"], "member");
    let code = invite["code"].as_str().expect("a code");
    let stored: i64 = desk
        .db
        .query_one("select count(*) from invites where code_hash::text like '%' || $1 || '%'", &[&code])
        .await
        .get(0);
    assert_eq!(stored, 0);
    let wish = |email: &str, password: &str| json!({"code": code.to_lowercase(), "email": email, "name": "N", "password": password});
    let signup = "/api/auth/signup";
    assert_eq!(desk.call(As::Nobody, "POST", signup, wish("n@example.com", "short")).await.status, 422);
    let two = [wish("n@example.com", PASSWORD), wish("m@example.com", PASSWORD)];
    let [one, two] = two.map(|wish| desk.call(As::Nobody, "POST", signup, wish));
    let (one, two) = tokio::join!(one, two);
    let mut statuses = [one.status, two.status];
    statuses.sort();
    assert_eq!(statuses, [201, 409], "{} {}", one.text(), two.text());
    assert_eq!(
        desk.call(
            As::Nobody,
            "POST",
            signup,
            json!({"code": "AAAA", "email": "x@example.com", "name": "N", "password": PASSWORD})
        )
        .await
        .status,
        404
    );
    let delete = format!("/api/invites/{}", invite["id"].as_str().expect("an id"));
    assert_eq!(desk.call(As::Token(&admin), "DELETE", &delete, json!(null)).await.status, 409);
}

#[tokio::test]
async fn an_invite_can_be_taken_back_and_expires() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    for by in ["id", "code"] {
        let invite =
            desk.call(As::Token(&admin), "POST", "/api/invites", json!({"role": "member"})).await.json();
        let path = format!("/api/invites/{}", invite[by].as_str().expect("a name"));
        assert_eq!(desk.call(As::Token(&admin), "DELETE", &path, json!(null)).await.status, 204);
        let wish =
            json!({"code": invite["code"], "email": "n@example.com", "name": "N", "password": PASSWORD});
        assert_eq!(desk.call(As::Nobody, "POST", "/api/auth/signup", wish).await.status, 410);
    }
    let list = desk.get(As::Token(&admin), "/api/invites?consumed=false").await.json();
    assert_eq!(list["invites"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn deactivating_ends_everything_at_once_but_never_the_last_administrator() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let mem = desk.person("member", "mem@example.com", &["alpha"]).await;
    let pat = desk.token("pat", &["account"], Some(mem.user_id)).await;
    let path = format!("/api/users/{}/deactivate", mem.user_id);
    assert_eq!(desk.call(As::Browser(&ada), "POST", &path, json!({"confirm": "x"})).await.status, 400);
    let done = desk.call(As::Browser(&ada), "POST", &path, json!({"confirm": "MEM@example.com"})).await;
    assert_eq!((done.status, done.json()), (200, json!({"tokens_revoked": 1, "sessions_ended": 1})));
    assert_eq!(desk.get(As::Browser(&mem), "/api/me").await.status, 401);
    assert_eq!(desk.get(As::Token(&pat), "/api/me").await.status, 401);
    assert_eq!(
        desk.call(As::Browser(&ada), "POST", &path, json!({"confirm": "mem@example.com"})).await.status,
        409
    );
    let login = json!({"email": "mem@example.com", "password": PASSWORD});
    assert_eq!(desk.call(As::Nobody, "POST", "/api/auth/login", login.clone()).await.status, 403);
    let own = format!("/api/users/{}/deactivate", ada.user_id);
    let refused = desk.call(As::Browser(&ada), "POST", &own, json!({"confirm": "ada@example.com"})).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (409, json!("last_admin")));
    let demote = desk
        .call(As::Browser(&ada), "PATCH", &format!("/api/users/{}", ada.user_id), json!({"role": "member"}))
        .await;
    assert_eq!(demote.status, 409);
    let back = format!("/api/users/{}/reactivate", mem.user_id);
    assert_eq!(desk.call(As::Browser(&ada), "POST", &back, json!(null)).await.status, 204);
    assert_eq!(desk.call(As::Nobody, "POST", "/api/auth/login", login).await.status, 200);
}

#[tokio::test]
async fn another_password_ends_the_other_sessions() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let elsewhere = desk.sign_in("ada@example.com").await;
    let wish = |current: &str, new: &str| json!({"current_password": current, "new_password": new});
    let path = "/api/me/password";
    assert_eq!(
        desk.call(As::Browser(&ada), "POST", path, wish("wrong", "another fine password")).await.status,
        401
    );
    assert_eq!(desk.call(As::Browser(&ada), "POST", path, wish(PASSWORD, "short")).await.status, 422);
    assert_eq!(
        desk.call(As::Browser(&ada), "POST", path, wish(PASSWORD, "another fine password")).await.status,
        204
    );
    assert_eq!(desk.get(As::Browser(&elsewhere), "/api/me").await.status, 401);
    assert_eq!(desk.get(As::Browser(&ada), "/api/me").await.status, 200);
    let reset = format!("/api/users/{}/reset-password", ada.user_id);
    assert_eq!(
        desk.call(As::Browser(&ada), "POST", &reset, json!({"new_password": "a third fine password"}))
            .await
            .status,
        204
    );
    assert_eq!(desk.get(As::Browser(&ada), "/api/me").await.status, 401);
}

#[tokio::test]
async fn the_audit_is_filtered_and_exported() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    desk.call(As::Browser(&ada), "POST", "/api/tokens", json!({"name": "=cmd", "scopes": ["alpha"]})).await;
    let of_ada = desk.get(As::Browser(&ada), "/api/audit?actor=ada@example.com&action=token.").await.json();
    let events = of_ada["events"].as_array().expect("a list");
    assert_eq!(events.len(), 1, "{of_ada}");
    assert_eq!((&events[0]["action"], &events[0]["target_type"]), (&json!("token.create"), &json!("token")));
    assert_eq!(events[0]["actor_user_id"], json!(ada.user_id));
    assert_eq!(events[0]["address"], "127.0.0.1");
    let csv = desk.get(As::Browser(&ada), "/api/audit/export?outcome=done").await;
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"audit.csv\""));
    let total: i64 = desk.db.query_one("select count(*) from audit", &[]).await.get(0);
    assert_eq!(csv.text().lines().count() as i64, total + 1);
    let lines = desk.get(As::Browser(&ada), "/api/audit/export?format=jsonl").await.text();
    assert_eq!(lines.lines().count() as i64, total);
    for line in lines.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    }
    assert_eq!(desk.get(As::Browser(&ada), "/api/audit?since=yesterday").await.status, 400);
    let secrets: i64 = desk.db.query_one("select count(*) from audit where details::text like '%hk!_%' escape '!' or details::text like '%horse%'", &[]).await.get(0);
    assert_eq!(secrets, 0);
}

#[tokio::test]
async fn the_first_administrator_comes_by_an_invite_made_on_the_database() {
    let desk = Desk::open().await;
    let target = hooks_shared::db::Target::parse(&hooks_shared::Secret::new(desk.db.url())).expect("a URL");
    let options = hooks_shared::db::SessionOptions::service("test");
    let session = hooks_shared::db::connect(&target, &options).await.expect("connects");
    let make = async || hooks_shared::invite::bootstrap(&session).await.expect("a statement");
    let (old, new) = (make().await.expect("an invite"), make().await.expect("another"));
    let wish =
        |code: &str, email: &str| json!({"code": code, "email": email, "name": "N", "password": PASSWORD});
    let signup = "/api/auth/signup";
    assert_eq!(
        desk.call(As::Nobody, "POST", signup, wish(old.code.expose(), "a@example.com")).await.status,
        410
    );
    let made = desk.call(As::Nobody, "POST", signup, wish(new.code.expose(), "ada@example.com")).await;
    assert_eq!((made.status, made.json()["role"].clone()), (201, json!("admin")), "{}", made.text());
    assert!(make().await.is_none());
    assert_eq!(desk.audited().await[0], ("invite.create".to_owned(), "done".to_owned()));
}
