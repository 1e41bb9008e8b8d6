//! What the audit tells: every operator's action and every sign-in, refused ones too, and never a secret.

use crate::desk::{As, Browser, Desk, PASSWORD, Stored, browser_of};
use hooks_testkit::http::RawResponse;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What each of these was done with; none of it may be found in the audit.
#[derive(Debug, Default)]
struct Secrets(Vec<String>);

impl Secrets {
    fn note(&mut self, text: &Value) -> String {
        let text = text.as_str().expect("a secret").to_owned();
        self.0.push(text.clone());
        text
    }

    fn of_browser(&mut self, browser: &Browser) {
        let (_, cookie) = browser.cookie.split_once('=').expect("a cookie");
        self.0.extend([cookie.to_owned(), browser.csrf.clone()]);
        // `<id>.<secret>`: the id alone is what the audit does name.
        self.0.extend(cookie.split_once('.').map(|(_, secret)| secret.to_owned()));
    }
}

fn done(answer: &RawResponse) -> Value {
    assert!((200..300).contains(&answer.status), "{} {}", answer.status, answer.text());
    if answer.body.is_empty() { Value::Null } else { answer.json() }
}

struct Story {
    desk: Desk,
    ada: Browser,
    secrets: Secrets,
}

impl Story {
    async fn begin() -> Self {
        let desk = Desk::open_with("push: {allow_destinations: [loopback]}").await;
        let ada = desk.person("admin", "ada@example.com", &[]).await;
        desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }; 3]).await;
        let captured = "insert into captured_secrets (source, sealed) values ('alpha', 'sealed-bytes')";
        desk.db.execute(captured, &[]).await;
        let mut secrets = Secrets(vec![PASSWORD.to_owned(), "sealed-bytes".to_owned()]);
        secrets.of_browser(&ada);
        Self { desk, ada, secrets }
    }

    async fn act(&self, method: &str, path: &str, body: Value) -> Value {
        done(&self.desk.call(As::Browser(&self.ada), method, path, body).await)
    }

    async fn refused(&self, path: &str, body: Value, status: u16) {
        let answer = self.desk.call(As::Browser(&self.ada), "POST", path, body).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }

    /// Accounts: invited, made, changed, ended, brought back; signed in and out, rightly and wrongly.
    async fn people(&mut self) {
        let spare = self.act("POST", "/api/invites", json!({"role": "member"})).await;
        let code = self.secrets.note(&spare["code"]);
        self.act("DELETE", &format!("/api/invites/{code}"), Value::Null).await;
        let signup =
            json!({"code": code, "email": "x@example.com", "name": "X", "password": "never made, this one"});
        self.secrets.note(&signup["password"]);
        assert_ne!(self.desk.call(As::Nobody, "POST", "/api/auth/signup", signup).await.status, 201);
        let bob = self.desk.person("member", "bob@example.com", &["alpha"]).await;
        self.secrets.of_browser(&bob);
        for (email, password) in [("bob@example.com", "a wrong guess"), ("a password typed as address", "x")]
        {
            let wish = json!({"email": email, "password": password});
            assert_eq!(self.desk.call(As::Nobody, "POST", "/api/auth/login", wish).await.status, 401);
            self.secrets.0.push("a wrong guess".to_owned());
            self.secrets.0.push("a password typed as address".to_owned());
        }
        done(&self.desk.call(As::Browser(&bob), "POST", "/api/auth/logout", Value::Null).await);
        let user = format!("/api/users/{}", bob.user_id);
        self.act("PATCH", &user, json!({"default_scopes": ["alpha", "beta"]})).await;
        let reset = json!({"new_password": "quite another phrase"});
        self.secrets.note(&reset["new_password"]);
        self.act("POST", &format!("{user}/reset-password"), reset).await;
        self.act("POST", &format!("{user}/deactivate"), json!({"confirm": "bob@example.com"})).await;
        let login = json!({"email": "bob@example.com", "password": "quite another phrase"});
        assert_eq!(self.desk.call(As::Nobody, "POST", "/api/auth/login", login).await.status, 403);
        self.act("POST", &format!("{user}/reactivate"), Value::Null).await;
        let change = json!({"current_password": "not the right one", "new_password": "a phrase of her own"});
        self.secrets.note(&change["current_password"]);
        self.refused("/api/me/password", change, 401).await;
        let change = json!({"current_password": PASSWORD, "new_password": "a phrase of her own"});
        self.secrets.note(&change["new_password"]);
        self.act("POST", "/api/me/password", change).await;
    }

    /// Tokens of nobody and of one's own, and a command line that is paired or refused.
    async fn tokens(&mut self) {
        let made = self.act("POST", "/api/tokens", json!({"name": "ci", "scopes": ["alpha"]})).await;
        self.secrets.note(&made["plaintext"]);
        let path = format!("/api/tokens/{}", made["id"].as_str().expect("an id"));
        self.act("PATCH", &path, json!({"owner_user_id": self.ada.user_id})).await;
        self.act("POST", &format!("{path}/revoke"), Value::Null).await;
        let own = self.act("POST", "/api/me/tokens", json!({"name": "mine", "scopes": ["account"]})).await;
        self.secrets.note(&own["plaintext"]);
        self.act(
            "POST",
            &format!("/api/me/tokens/{}/revoke", own["id"].as_str().expect("an id")),
            Value::Null,
        )
        .await;
        let ended = own["plaintext"].as_str().expect("a token");
        assert_eq!(self.desk.get(As::Token(ended), "/api/me").await.status, 401);
        self.act("POST", "/api/sources/alpha/renew-secret", Value::Null).await;
        for answer in ["approve", "deny"] {
            let started = done(
                &self
                    .desk
                    .call(As::Nobody, "POST", "/api/auth/device/start", json!({"scopes": ["alpha"]}))
                    .await,
            );
            self.secrets.note(&started["device_code"]);
            let code = self.secrets.note(&started["user_code"]);
            let approve = "/api/auth/device/approve";
            self.refused(
                approve,
                json!({"user_code": code, "password": "x", "granted_scopes": ["alpha"]}),
                401,
            )
            .await;
            let wish = match answer {
                "deny" => json!({"user_code": code}),
                _ => {
                    json!({"user_code": code, "password": "a phrase of her own", "granted_scopes": ["alpha"]})
                }
            };
            self.act("POST", &format!("/api/auth/device/{answer}"), wish).await;
            if answer == "approve" {
                let poll = json!({"device_code": started["device_code"]});
                let token = done(&self.desk.call(As::Nobody, "POST", "/api/auth/device/poll", poll).await);
                self.secrets.note(&token["token"]);
            }
        }
    }

    /// Subscriptions through their life, and what they owe.
    async fn push(&mut self) {
        let wish =
            json!({"source": "alpha", "url": "http://127.0.0.1:9/hook?key=of-the-receiver", "since": 0});
        self.secrets.0.extend(["of-the-receiver".to_owned(), "of-another-one".to_owned()]);
        let made = self.act("POST", "/api/push-subscriptions", wish).await;
        self.secrets.note(&made["signing_secret"]);
        let path = format!("/api/push-subscriptions/{}", made["id"].as_str().expect("an id"));
        self.act("PATCH", &path, json!({"url": "http://127.0.0.1:9/other?key=of-another-one"})).await;
        self.act("POST", &format!("{path}/pause"), json!({})).await;
        self.act("POST", &format!("{path}/resume"), Value::Null).await;
        let rotated = self.act("POST", &format!("{path}/rotate-secret"), json!({})).await;
        self.secrets.note(&rotated["signing_secret"]);
        self.act("POST", &format!("{path}/test"), Value::Null).await;
        self.act("POST", "/api/events/alpha/1/replay", json!({"listeners": true, "push": "all"})).await;
        self.act("POST", "/api/deliveries/replay", json!({"subscription": made["id"]})).await;
        let list = self.desk.get(As::Browser(&self.ada), "/api/deliveries?source=alpha").await.json();
        let delivery = list["deliveries"][0]["id"].as_str().expect("a delivery").to_owned();
        self.act("POST", &format!("/api/deliveries/{delivery}/cancel"), Value::Null).await;
        self.desk
            .db
            .execute("update deliveries set state = 'failed', failure = 'x' where id = $1", &[&delivery])
            .await;
        self.act("POST", &format!("/api/deliveries/{delivery}/replay"), Value::Null).await;
        self.act("POST", "/api/deliveries/cancel", json!({"subscription": made["id"]})).await;
        self.act("DELETE", &path, Value::Null).await;
    }
}

/// Actions that the story has, with their outcome; a new kind of action gets a line here and a step there.
const TOLD: &[&str] = &[
    "delivery.cancel done",
    "delivery.cancel_many done",
    "delivery.replay done",
    "delivery.replay_many done",
    "device_pairing.approve done",
    "device_pairing.approve refused",
    "device_pairing.deny done",
    "device_pairing.start done",
    "event.replay done",
    "event.replay_to_listeners done",
    "invite.consume done",
    "invite.consume refused",
    "invite.create done",
    "invite.revoke done",
    "push.active done",
    "push.create done",
    "push.delete done",
    "push.paused done",
    "push.rotate_secret done",
    "push.test done",
    "push.update done",
    "session.create done",
    "session.create refused",
    "session.delete done",
    "source.renew_secret done",
    "token.create done",
    "token.revoke done",
    "token.transfer_owner done",
    "token.use refused",
    "user.create done",
    "user.deactivate done",
    "user.password_change done",
    "user.password_change refused",
    "user.password_reset done",
    "user.reactivate done",
    "user.update done",
];

#[tokio::test]
async fn every_action_and_every_sign_in_is_told_and_no_secret_is() {
    let mut story = Story::begin().await;
    story.people().await;
    story.tokens().await;
    story.push().await;
    let audited = story.desk.audited().await;
    let seen: BTreeSet<String> =
        audited.iter().map(|(action, outcome)| format!("{action} {outcome}")).collect();
    let told: BTreeSet<String> = TOLD.iter().map(|line| (*line).to_owned()).collect();
    assert_eq!(seen, told);
    let rows = story.desk.db.query("select a::text as row from audit a", &[]).await;
    for row in &rows {
        let row: String = row.get("row");
        for secret in &story.secrets.0 {
            assert!(!row.contains(secret.as_str()), "{secret} stands in {row}");
        }
    }
    // Whoever was signed in is named by ids, and everything has an address and a request.
    let bare = "select count(*) from audit where address is null or request_id is null";
    assert_eq!(story.desk.db.query_one(bare, &[]).await.get::<_, i64>(0), 0);
    let again = json!({"email": "ada@example.com", "password": "a phrase of her own"});
    browser_of(&story.desk.call(As::Nobody, "POST", "/api/auth/login", again).await);
}
