//! What every test starts from: a database, a running inspector, and callers of all kinds.

use hooks_inspector::app::{self, Running, Seams};
use hooks_shared::Secret;
use hooks_shared::config::{Config, Service, parse};
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawResponse, exchange, request};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use uuid::Uuid;

pub const PASSWORD: &str = "correct horse battery";

/// `extra` stands before the sources.
pub fn config(db: &TestDb, extra: &str) -> Config {
    let text = format!(
        "database_url: {}\n{extra}\nsources:\n  alpha: {{verifier: github}}\n  beta: {{verifier: github}}\n",
        db.url_for("inspector")
    );
    parse("hooks.yaml", &text, Path::new("."), Service::Inspector, &|_| None).expect("a good file")
}

/// A database and an inspector on it.
#[derive(Debug)]
pub struct Desk {
    pub db: TestDb,
    pub running: Running,
}

/// A signed-in browser.
#[derive(Debug, Clone)]
pub struct Browser {
    pub cookie: String,
    pub csrf: String,
    pub user_id: Uuid,
}

/// With what a request is sent.
#[derive(Debug, Clone, Default)]
pub enum As<'a> {
    #[default]
    Nobody,
    Token(&'a str),
    Browser(&'a Browser),
    /// The cookie alone, as another site could make a browser send it.
    BrowserWithoutCsrf(&'a Browser),
}

impl Desk {
    pub async fn open() -> Self {
        Self::open_with("").await
    }

    pub async fn open_with(extra: &str) -> Self {
        let db = TestDb::create().await;
        let running = app::build(config(&db, extra), "127.0.0.1:0", "127.0.0.1:0", Seams::default())
            .await
            .expect("the inspector starts");
        Self { db, running }
    }

    pub fn address(&self) -> SocketAddr {
        self.running.address
    }

    fn headers(&self, who: &As<'_>) -> Vec<(String, String)> {
        let origin = ("Origin".to_owned(), format!("http://{}", self.address()));
        match who {
            As::Nobody => Vec::new(),
            As::Token(token) => vec![("Authorization".into(), format!("Bearer {token}"))],
            As::Browser(browser) => vec![
                origin,
                ("Cookie".into(), browser.cookie.clone()),
                ("X-Hooks-CSRF".into(), browser.csrf.clone()),
            ],
            As::BrowserWithoutCsrf(browser) => vec![origin, ("Cookie".into(), browser.cookie.clone())],
        }
    }

    /// Sends a request with these further headers.
    pub async fn send(
        &self,
        who: As<'_>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> RawResponse {
        let host = ("Host".to_owned(), self.address().to_string());
        let close = ("Connection".to_owned(), "close".to_owned());
        let own = [host, close].into_iter().chain(self.headers(&who)).collect::<Vec<_>>();
        let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let own = own.iter().filter(|(name, _)| !given(name));
        let all: Vec<(&str, &str)> =
            own.map(|(name, value)| (name.as_str(), value.as_str())).chain(headers.iter().copied()).collect();
        exchange(self.address(), &request(method, path, &all, body)).await
    }

    pub async fn get(&self, who: As<'_>, path: &str) -> RawResponse {
        self.send(who, "GET", path, &[], b"").await
    }

    /// Sends JSON.
    pub async fn call(&self, who: As<'_>, method: &str, path: &str, body: Value) -> RawResponse {
        let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.send(who, method, path, &[("Content-Type", "application/json")], &text).await
    }

    /// Sends a form as a page does.
    pub async fn form(&self, browser: Option<&Browser>, path: &str, fields: &[(&str, &str)]) -> RawResponse {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        if let Some(browser) = browser {
            body.append_pair("csrf_token", &browser.csrf);
        }
        let who = browser.map_or(As::Nobody, As::BrowserWithoutCsrf);
        let origin = format!("http://{}", self.address());
        let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", origin.as_str())];
        self.send(who, "POST", path, &headers, body.finish().as_bytes()).await
    }

    /// Stores a token and gives its text.
    pub async fn token(&self, kind: &str, scopes: &[&str], owner: Option<Uuid>) -> String {
        let text = hooks_shared::token::mint();
        self.store_token(&text, kind, scopes, owner).await;
        text.expose().to_owned()
    }

    async fn store_token(&self, text: &Secret, kind: &str, scopes: &[&str], owner: Option<Uuid>) {
        self.db
            .execute(
                "insert into tokens (id, name, kind, scopes, secret_hash, owner_id) values ($1, $2, $3, $4, $5, $6)",
                &[
                    &Uuid::new_v4(),
                    &format!("{kind} {}", scopes.join(" ")),
                    &kind,
                    &scopes,
                    &hooks_shared::token::hash(text.expose()),
                    &owner,
                ],
            )
            .await;
    }

    pub async fn admin_token(&self) -> String {
        self.token("pat", &["admin"], None).await
    }

    /// Invites, signs up and signs in: the way every person goes.
    pub async fn person(&self, role: &str, email: &str, sources: &[&str]) -> Browser {
        let admin = self.admin_token().await;
        let invite = self
            .call(As::Token(&admin), "POST", "/api/invites", json!({"role": role, "default_scopes": sources}))
            .await;
        assert_eq!(invite.status, 201, "{}", invite.text());
        let code = invite.json()["code"].as_str().expect("a code").to_owned();
        let wish = json!({"code": code, "email": email, "name": "Somebody", "password": PASSWORD});
        let made = self.call(As::Nobody, "POST", "/api/auth/signup", wish).await;
        assert_eq!(made.status, 201, "{}", made.text());
        self.sign_in(email).await
    }

    pub async fn sign_in(&self, email: &str) -> Browser {
        let wish = json!({"email": email, "password": PASSWORD});
        let answer = self.call(As::Nobody, "POST", "/api/auth/login", wish).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        browser_of(&answer)
    }

    /// The actions in the audit with their outcomes, oldest first.
    pub async fn audited(&self) -> Vec<(String, String)> {
        let rows = self.db.query("select action, outcome from audit order by id", &[]).await;
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

/// What a sign-in gives a browser.
pub fn browser_of(answer: &RawResponse) -> Browser {
    let cookie = answer.header("set-cookie").expect("a cookie").split(';').next().unwrap_or_default();
    let json = answer.json();
    Browser {
        cookie: cookie.to_owned(),
        csrf: json["csrf_token"].as_str().expect("a token").to_owned(),
        user_id: json["user_id"].as_str().and_then(|id| id.parse().ok()).expect("an id"),
    }
}
