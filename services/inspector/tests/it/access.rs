//! Every route of the table against every kind of caller. A route that this test cannot place fails it.

use crate::desk::{As, Browser, Desk};
use hooks_inspector::access::Access;
use hooks_inspector::routes::{Method, Route, table};
use uuid::Uuid;

/// The callers, and what an answer of the gate to each is; None is "let in", whatever the handler then says.
struct Callers {
    expired: String,
    revoked: String,
    listener: String,
    listener_admin: String,
    pat_without_scope: String,
    pat_source: String,
    pat_account: String,
    pat_admin: String,
    pat_admin_of_member: String,
    token_of_deactivated: String,
    member: Browser,
    admin: Browser,
}

async fn callers(desk: &Desk) -> Callers {
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    let member = desk.person("member", "mem@example.com", &["alpha"]).await;
    let gone = desk.person("member", "gone@example.com", &["alpha"]).await;
    let expired = desk.token("pat", &["admin", "account"], Some(admin.user_id)).await;
    let revoked = desk.token("pat", &["admin", "account"], Some(admin.user_id)).await;
    let of_gone = desk.token("pat", &["account"], Some(gone.user_id)).await;
    desk.db
        .execute(
            "update tokens set expires_at = now() - interval '1 second' where secret_hash = $1",
            &[&hooks_shared::token::hash(&expired)],
        )
        .await;
    desk.db
        .execute(
            "update tokens set revoked_at = now() where secret_hash = $1",
            &[&hooks_shared::token::hash(&revoked)],
        )
        .await;
    desk.db.execute("update people set deactivated_at = now() where email = 'gone@example.com'", &[]).await;
    Callers {
        expired,
        revoked,
        listener: desk.token("listener", &["alpha"], Some(admin.user_id)).await,
        listener_admin: desk.token("listener", &["admin"], None).await,
        pat_without_scope: desk.token("pat", &[], Some(admin.user_id)).await,
        pat_source: desk.token("pat", &["alpha"], Some(member.user_id)).await,
        pat_account: desk.token("pat", &["account"], Some(member.user_id)).await,
        pat_admin: desk.token("pat", &["admin"], None).await,
        pat_admin_of_member: desk.token("pat", &["admin"], Some(member.user_id)).await,
        token_of_deactivated: of_gone,
        member,
        admin,
    }
}

/// What the gate says: a status, or that it lets the caller in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    In,
    Status(u16),
}
use Gate::{In, Status};

/// What is expected of a route's gate, caller by caller.
fn expected(route: &Route) -> Vec<(&'static str, Gate)> {
    // Pages send nobody to the sign-in page; the API and changes answer 401.
    let nobody = match (route.is_page(), route.method) {
        (true, Method::Get) => Status(303),
        _ => Status(401),
    };
    let bad = nobody;
    let (listener, listener_admin, bare, source, account, admin_pat, admin_of_member, member, admin) =
        match route.access {
            Access::Public => return EVERYBODY.iter().map(|name| (*name, In)).collect(),
            Access::Browser => (403, 403, 403, 403, 403, 403, 403, 0, 0),
            Access::Person => (403, 403, 403, 403, 0, 403, 403, 0, 0),
            Access::Reader => (403, 0, 403, 0, 0, 0, 403, 0, 0),
            Access::Admin => (403, 0, 403, 403, 403, 0, 403, 403, 0),
        };
    let gate = |status: u16| if status == 0 { In } else { Status(status) };
    // A cookie without the CSRF token only matters where something changes.
    let missing_csrf = if route.method.changes() { Status(403) } else { In };
    vec![
        ("nobody", nobody),
        ("nonsense", bad),
        ("expired", bad),
        ("revoked", bad),
        ("deactivated", bad),
        ("listener", gate(listener)),
        ("listener admin", gate(listener_admin)),
        ("pat without scope", gate(bare)),
        ("pat source", gate(source)),
        ("pat account", gate(account)),
        ("pat admin", gate(admin_pat)),
        ("pat admin of a member", gate(admin_of_member)),
        ("member", gate(member)),
        ("admin", gate(admin)),
        ("admin without csrf", missing_csrf),
        ("admin with a wrong csrf", missing_csrf),
    ]
}

const EVERYBODY: &[&str] = &["nobody", "listener", "pat account", "member", "admin"];

/// A path with its parts filled with things that are not there, so that no handler does anything.
fn concrete(route: &Route) -> String {
    route
        .path
        .replace("{source}", "nosuch")
        .replace("{sequence}", "1")
        .replace("{name}", "nosuch")
        .replace("{code}", &Uuid::nil().to_string())
        .replace("{id}", &Uuid::nil().to_string())
}

/// The gate's own codes; anything else comes from a handler.
fn gate_of(answer: &hooks_testkit::http::RawResponse) -> Gate {
    let to_sign_in = answer.header("location").is_some_and(|to| to.starts_with("/login?next="));
    if answer.status == 303 && to_sign_in {
        return Status(303);
    }
    // The answer to HEAD has no body to tell more.
    if answer.body.is_empty() && matches!(answer.status, 401 | 403) {
        return Status(answer.status);
    }
    let code = serde_json::from_slice::<serde_json::Value>(&answer.body).ok();
    let code = code.and_then(|json| Some(json["error"]["code"].as_str()?.to_owned())).unwrap_or_default();
    match (answer.status, code.as_str()) {
        (401, "unauthorized") => Status(401),
        (403, "forbidden" | "csrf") => Status(403),
        _ => In,
    }
}

#[tokio::test]
async fn every_route_lets_in_exactly_those_it_says() {
    let desk = Desk::open().await;
    let callers = callers(&desk).await;
    let mut wrong_csrf = callers.admin.clone();
    wrong_csrf.csrf = callers.member.csrf.clone();
    let mut faults = Vec::new();
    // Signing out ends the session that the other rows need, so it comes last, each time with a fresh one.
    let mut rows: Vec<&Route> = table().iter().collect();
    rows.sort_by_key(|route| route.path.ends_with("/logout"));
    for route in rows {
        for (name, gate) in expected(route) {
            let (admin, member);
            let who = match name {
                "nobody" => As::Nobody,
                "nonsense" => As::Token("hk_nonsense"),
                "expired" => As::Token(&callers.expired),
                "revoked" => As::Token(&callers.revoked),
                "deactivated" => As::Token(&callers.token_of_deactivated),
                "listener" => As::Token(&callers.listener),
                "listener admin" => As::Token(&callers.listener_admin),
                "pat without scope" => As::Token(&callers.pat_without_scope),
                "pat source" => As::Token(&callers.pat_source),
                "pat account" => As::Token(&callers.pat_account),
                "pat admin" => As::Token(&callers.pat_admin),
                "pat admin of a member" => As::Token(&callers.pat_admin_of_member),
                "member" if route.path.ends_with("/logout") => {
                    member = desk.sign_in("mem@example.com").await;
                    As::Browser(&member)
                }
                "member" => As::Browser(&callers.member),
                "admin" if route.path.ends_with("/logout") => {
                    admin = desk.sign_in("ada@example.com").await;
                    As::Browser(&admin)
                }
                "admin" => As::Browser(&callers.admin),
                "admin without csrf" => As::BrowserWithoutCsrf(&callers.admin),
                "admin with a wrong csrf" => As::Browser(&wrong_csrf),
                other => panic!("no caller `{other}`"),
            };
            let path = concrete(route);
            let answer = match route.method {
                Method::Get if route.media == ["text/event-stream"] => desk.open_stream(who, &path).await,
                Method::Get => desk.get(who, &path).await,
                method => desk.call(who, method.as_str(), &path, serde_json::Value::Null).await,
            };
            assert!(
                answer.status < 500,
                "{} {path} as {name}: {} {}",
                route.method.as_str(),
                answer.status,
                answer.text()
            );
            if gate_of(&answer) != gate {
                faults.push(format!(
                    "{} {} as {name}: expected {gate:?}, got {} {}",
                    route.method.as_str(),
                    route.path,
                    answer.status,
                    answer.text().trim()
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn what_is_not_in_the_table_is_not_served() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    for path in [
        "/api",
        "/api/",
        "/api/nothing",
        "/api/tokens/",
        "/.git/config",
        "/assets/../Cargo.toml",
        "/%2e%2e/etc/passwd",
    ] {
        let answer = desk.get(As::Token(&admin), path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
    let answer = desk.call(As::Token(&admin), "DELETE", "/api/tokens", serde_json::Value::Null).await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD, POST")), "{}", answer.text());
    assert_eq!(answer.json()["error"]["code"], "method_not_allowed");
}
