//! Events as they come, to pages with a filter.

use crate::desk::{As, Browser, Desk, Stored};
use hooks_testkit::http::{RawConnection, request};
use std::time::Duration;

async fn listen(desk: &Desk, browser: &Browser, path: &str) -> RawConnection {
    let mut connection = RawConnection::connect(desk.address()).await;
    let host = desk.address().to_string();
    let get = request("GET", path, &[("Cookie", &browser.cookie), ("Host", &host)], b"");
    connection.send(&get).await.expect("sent");
    let head = connection.recv_head(Duration::from_secs(10)).await.expect("a head");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    connection
}

/// The next message of the stream that is no comment, if one comes in this time.
async fn message(connection: &mut RawConnection, patience: Duration) -> Option<String> {
    let next = async {
        loop {
            let chunk = connection.recv_chunk().await.expect("a chunk");
            let text = String::from_utf8(chunk).expect("text");
            if !text.starts_with(':') {
                return text;
            }
        }
    };
    tokio::time::timeout(patience, next).await.ok()
}

#[tokio::test]
async fn a_filter_holds_for_what_comes_and_its_pushes_are_told_later() {
    let desk = Desk::open_with("push: {allow_destinations: [loopback]}").await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let made = [("source", "alpha"), ("url", "http://127.0.0.1:9/"), ("name", "p"), ("start", "latest")];
    desk.store("alpha", "2 minutes", &[Stored { body: b"{}", ..Stored::default() }]).await;
    desk.form(Some(&ada), "/push", &made).await;
    let mut open = listen(&desk, &ada, "/events/live?source=alpha&q=data.kind%20%3D%20wanted").await;
    let other = Stored { kind: Some("other"), body: br#"{"data":{"kind":"other"}}"#, ..Stored::default() };
    let wanted = Stored { kind: Some("wanted"), body: br#"{"data":{"kind":"wanted"}}"#, ..other };
    let mut received = None;
    // The reader has to have seen the heads before something new counts as new.
    for _ in 0..100 {
        desk.store("alpha", "1 minute", &[other, wanted, other]).await;
        received = message(&mut open, Duration::from_secs(2)).await;
        if received.is_some() {
            break;
        }
    }
    let received = received.expect("an event");
    assert!(received.starts_with("event: received\n") && received.contains(">wanted<"), "{received}");
    let sequence = received.split("/events/alpha/").nth(1).and_then(|rest| rest.split('\\').next());
    let path = format!("/events/alpha/{}/replay", sequence.expect("a sequence"));
    let again = desk.form(Some(&ada), &path, &[("to", "all")]).await;
    assert_eq!(again.status, 303, "{}", again.text());
    let mut seen = Vec::new();
    while let Some(text) = message(&mut open, Duration::from_secs(20)).await {
        assert!(!text.contains(">other<"), "{text}");
        if text.starts_with("event: changed\n") {
            assert!(text.contains("pending"), "{text}");
            return;
        }
        seen.push(text);
    }
    panic!("no change was told: {seen:?}");
}

#[tokio::test]
async fn a_live_filter_that_cannot_be_read_is_refused() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let answer = desk.get(As::Browser(&ada), "/events/live?q=%3D%20x").await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let unknown = desk.get(As::Token(&desk.admin_token().await), "/api/events/live?push=failed").await;
    assert_eq!(unknown.status, 400, "{}", unknown.text());
}

#[tokio::test]
async fn who_loses_a_source_or_the_session_loses_the_open_page_too() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    for change in ["scopes", "session", "nothing"] {
        let member = desk.person("member", &format!("{change}@example.com"), &["alpha"]).await;
        let mut open = listen(&desk, &member, "/events/live").await;
        let person = "select id::text from people where email = $1";
        let person = desk.db.query_one(person, &[&format!("{change}@example.com")]).await;
        let path = format!("/api/users/{}", person.get::<_, String>(0));
        let done = match change {
            "scopes" => {
                let wish = serde_json::json!({"default_scopes": ["beta"]});
                desk.call(As::Token(&admin), "PATCH", &path, wish).await
            }
            "session" => {
                let null = serde_json::json!(null);
                desk.call(As::Browser(&member), "POST", "/api/auth/logout", null).await
            }
            _ => desk.get(As::Token(&admin), &path).await,
        };
        assert!(done.status < 300, "{change}: {}", done.text());
        let end = async { while !open.recv_chunk().await.expect("a chunk or the end").is_empty() {} };
        let patience = Duration::from_secs(if change == "nothing" { 5 } else { 60 });
        let ended = tokio::time::timeout(patience, end).await.is_ok();
        assert_eq!(ended, change != "nothing", "{change}");
    }
}

#[tokio::test]
async fn stopping_ends_open_pages_at_once_and_cleanly() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let mut open = listen(&desk, &ada, "/events/live").await;
    assert!(open.recv_chunk().await.expect("a chunk").starts_with(b":"));
    let Desk { db: _db, running, .. } = desk;
    // A stream that had to be cut when the drain is over would end with an error.
    let ((), end) = tokio::join!(running.stop(), open.recv_chunk());
    assert_eq!(end.expect("a clean end"), b"");
}
