//! What every test starts from: a database, a running inspector, and callers of all kinds.

use hooks_inspector::app::{self, Running, Seams};
use hooks_inspector::moment::Moment;
use hooks_shared::Secret;
use hooks_shared::config::{Config, Service, parse};
use hooks_shared::sealed::Keyring;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawConnection, RawResponse, exchange, request};
use hooks_testkit::until;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use time::OffsetDateTime;
use uuid::Uuid;

pub const PASSWORD: &str = "correct horse battery";

const SOURCES: &str = "sources:\n  alpha: {verifier: github}\n  beta: {verifier: github}\n";

/// `extra` stands before the sources, or brings its own.
pub fn config(db: &TestDb, extra: &str) -> Config {
    let sources = if extra.contains("sources:") { "" } else { SOURCES };
    let text = format!("database_url: {}\n{extra}\n{sources}", db.url_for("inspector"));
    parse("hooks.yaml", &text, Path::new("."), Service::Inspector, &|_| None).expect("a good file")
}

/// A database and an inspector on it.
#[derive(Debug)]
pub struct Desk {
    pub db: TestDb,
    pub running: Running,
    /// What ages are counted from, so that what is stored at one age is as old as the other, however long it takes.
    pub began: OffsetDateTime,
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
        Self::on(TestDb::create().await, extra).await
    }

    /// An inspector on a database that is there already.
    pub async fn on(db: TestDb, extra: &str) -> Self {
        Self::with(db, extra, Seams::default()).await
    }

    /// One with something put in the place of the real thing.
    pub async fn with(db: TestDb, extra: &str, seams: Seams) -> Self {
        let keyring = Keyring::parse(&Keyring::mint("k1")).expect("a key");
        let seams = Seams { keyring: Some(keyring), ..seams };
        let running = app::build(config(&db, extra), "127.0.0.1:0", "127.0.0.1:0", seams)
            .await
            .expect("the inspector starts");
        let began = OffsetDateTime::now_utc().replace_nanosecond(0).expect("a whole second");
        Self { db, running, began }
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

    /// The head of an answer whose body does not end, as a response without one.
    pub async fn open_stream(&self, who: As<'_>, path: &str) -> RawResponse {
        let host = ("Host".to_owned(), self.address().to_string());
        let own: Vec<_> = self.headers(&who).into_iter().chain([host]).collect();
        let own: Vec<_> = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut connection = RawConnection::connect(self.address()).await;
        connection.send(&request("HEAD", path, &own, b"")).await.expect("sent");
        let patience = std::time::Duration::from_secs(20);
        connection.recv_within(patience, hooks_testkit::http::Body::None).await.expect("a head")
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

    /// Stores events of a source that arrived so long ago, each a millisecond after the one before, in the way of ingest.
    pub async fn store(&self, source: &str, age: &str, events: &[Stored<'_>]) {
        let client = self.db.client().await;
        let began = Moment(self.began);
        let prepare = format!(
            "set role hooks_owner;
             select create_events_partition(((timestamptz '{began}' - interval '{age}') at time zone 'UTC')::date);
             insert into source_heads (source) values ('{source}') on conflict do nothing; reset role"
        );
        client.batch_execute(&prepare).await.expect("a partition");
        for (n, event) in events.iter().enumerate() {
            let sql = "with head as (
                     update source_heads set last_sequence = last_sequence + 1,
                         last_received_at = $9::timestamptz - $8::text::interval + make_interval(secs => $1::float8 / 1000)
                     where source = $2 returning last_sequence, last_received_at
                 ), day as (
                     insert into event_days (source, day, first_sequence)
                     select $2, (last_received_at at time zone 'UTC')::date, last_sequence from head
                     on conflict do nothing
                 ), closed as (
                     update event_days d set last_sequence = head.last_sequence - 1 from head
                     where d.source = $2 and d.day < (last_received_at at time zone 'UTC')::date
                         and d.last_sequence is null
                 )
                 insert into events (source, sequence, received_at, event_id, dedupe_key, delivery_id, event_type, method,
                     target, headers, exact, remote_addr, body, body_sha256)
                 select $2, last_sequence, last_received_at, 'evt_' || substr(md5(random()::text), 1, 26), '\\x00', $3, $4, 'POST',
                     $5, $6, true, '203.0.113.9', $7, sha256($7) from head";
            let headers = hooks_shared::event::encode_headers(event.headers);
            let target = format!("/ingest/{source}?token=s3cret&n={n}").into_bytes();
            let millis = n as f64;
            client
                .execute(
                    sql,
                    &[
                        &millis,
                        &source,
                        &event.id,
                        &event.kind,
                        &target,
                        &headers,
                        &event.body,
                        &age,
                        &self.began,
                    ],
                )
                .await
                .unwrap_or_else(|error| panic!("store an event: {error:?}"));
        }
        client.batch_execute(&format!("select pg_notify('hooks', '{source}')")).await.expect("a hint");
    }

    /// Waits until the search index has all there is.
    pub async fn indexed(&self) {
        until(std::time::Duration::from_secs(20), "the search index", async || {
            let behind: i64 = self
                .db
                .query_one(
                    "select coalesce(sum(h.last_sequence - coalesce(p.sequence, 0)), 0)::bigint from source_heads h
                     left join event_search_progress p using (source)",
                    &[],
                )
                .await
                .get(0);
            if behind == 0 { Ok(()) } else { Err(format!("{behind} events are not indexed")) }
        })
        .await;
    }

    /// The actions in the audit with their outcomes, oldest first.
    pub async fn audited(&self) -> Vec<(String, String)> {
        let rows = self.db.query("select action, outcome from audit order by id", &[]).await;
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }
}

/// An event to be stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stored<'a> {
    pub id: Option<&'a str>,
    pub kind: Option<&'a str>,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
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
