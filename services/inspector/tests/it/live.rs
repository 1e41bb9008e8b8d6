//! Events as they come, to pages with a filter.

use crate::desk::{As, Browser, Desk, Stored};
use hooks_testkit::http::{RawConnection, request};
use std::time::Duration;

async fn listen(desk: &Desk, browser: &Browser, path: &str) -> RawConnection {
    listen_again(desk, browser, path, &[]).await
}

async fn listen_again(desk: &Desk, browser: &Browser, path: &str, headers: &[(&str, &str)]) -> RawConnection {
    let mut connection = RawConnection::connect(desk.address()).await;
    let host = desk.address().to_string();
    let mut all = vec![("Cookie", browser.cookie.as_str()), ("Host", &host)];
    all.extend(headers);
    connection.send(&request("GET", path, &all, b"")).await.expect("sent");
    let head = connection.recv_head(Duration::from_secs(10)).await.expect("a head");
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    connection
}

/// Where the stream of this page of the list begins.
async fn begins(desk: &Desk, browser: &Browser, path: &str) -> String {
    let page = desk.get(As::Browser(browser), path).await.text();
    let after = page.split("data-live-after=\"").nth(1).and_then(|rest| rest.split('"').next());
    after.unwrap_or_else(|| panic!("no position in {page}")).to_owned()
}

/// The next messages up to one with this sequence: their kinds and sequences, and the last one's id.
async fn told(connection: &mut RawConnection, last: i64) -> (Vec<String>, String) {
    let mut all = Vec::new();
    loop {
        let text = message(connection, Duration::from_secs(20)).await;
        let text = text.unwrap_or_else(|| panic!("nothing more after {all:?}"));
        let part = |from: &str, to: char| text.split(from).nth(1).and_then(|rest| rest.split(to).next());
        let kind = part("event: ", '\n').expect("a kind");
        let sequence = part("/events/", '"').map_or("", |rest| rest.trim_end_matches('\\'));
        all.push(format!("{kind} {sequence}").trim_end().to_owned());
        if sequence.ends_with(&format!("/{last}")) {
            return (all, part("id: ", '\n').expect("an id").to_owned());
        }
    }
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
    desk.store("alpha", "1 minute", &[other, wanted, other]).await;
    let received = message(&mut open, Duration::from_secs(20)).await.expect("an event");
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
async fn what_comes_between_a_page_and_its_stream_or_between_two_streams_is_told_once() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let bob = desk.person("member", "bob@example.com", &["alpha"]).await;
    let one = Stored { body: b"{}", ..Stored::default() };
    desk.store("alpha", "9 minutes", &[one, one]).await;
    desk.store("beta", "8 minutes", &[one]).await;
    let seen = begins(&desk, &ada, "/events").await;
    assert_eq!(seen, "alpha:2,beta:1,hooks.system:0");
    assert_eq!(begins(&desk, &bob, "/events").await, "alpha:2");
    // Also the first event of a source that was not there yet.
    desk.store("gamma", "7 minutes", &[one]).await;
    desk.store("alpha", "6 minutes", &[one, one]).await;
    let path = format!("/events/live?after={seen}");
    let mut open = listen(&desk, &ada, &path).await;
    let (all, id) = told(&mut open, 4).await;
    assert_eq!(all, ["received gamma/1", "received alpha/3", "received alpha/4"]);
    assert_eq!(id, "alpha:4,beta:1,gamma:1,hooks.system:0");
    let mut bobs = listen(&desk, &bob, &path).await;
    assert_eq!(told(&mut bobs, 4).await.0, ["received alpha/3", "received alpha/4"]);
    // At once after the answer began: nothing has to be waited for.
    let mut without = listen(&desk, &ada, "/events/live").await;
    desk.store("alpha", "5 minutes", &[one]).await;
    for stream in [&mut open, &mut bobs, &mut without] {
        assert_eq!(told(stream, 5).await.0, ["received alpha/5"]);
    }
    drop((open, bobs, without));
    desk.store("alpha", "4 minutes", &[one]).await;
    // The header is the newer of the two.
    let mut again =
        listen_again(&desk, &ada, &path, &[("Last-Event-ID", "alpha:5,beta:1,gamma:1,hooks.system:0")]).await;
    assert_eq!(told(&mut again, 6).await.0, ["received alpha/6"]);
}

#[tokio::test]
async fn more_than_is_told_one_by_one_is_told_as_missed() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let one = Stored { body: b"{}", ..Stored::default() };
    desk.store("alpha", "9 minutes", &[one; 101]).await;
    let mut fits = listen(&desk, &ada, "/events/live?after=alpha:1").await;
    assert_eq!(told(&mut fits, 101).await.0.len(), 100);
    let mut over = listen(&desk, &ada, "/events/live?after=alpha:0").await;
    desk.store("alpha", "8 minutes", &[one]).await;
    assert_eq!(told(&mut over, 102).await.0, ["missed", "received alpha/102"]);
    // Two days back is further than is looked.
    desk.store("beta", "3 days", &[one]).await;
    desk.store("beta", "7 minutes", &[one]).await;
    let mut older = listen(&desk, &ada, "/events/live?source=beta&after=beta:0").await;
    desk.store("beta", "6 minutes", &[one]).await;
    assert_eq!(told(&mut older, 3).await.0, ["missed", "received beta/3"]);
}

#[tokio::test]
async fn a_log_that_lost_its_end_in_a_failover_is_followed() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let one = Stored { body: b"{}", ..Stored::default() };
    desk.store("alpha", "9 minutes", &[one; 5]).await;
    let mut open = listen(&desk, &ada, "/events/live").await;
    desk.db.execute("delete from events where sequence > 2", &[]).await;
    desk.db.execute("update source_heads set last_sequence = 2 where source = 'alpha'", &[]).await;
    let mut behind = listen(&desk, &ada, "/events/live?after=alpha:5").await;
    assert_eq!(
        message(&mut open, Duration::from_secs(20)).await.as_deref(),
        Some("event: missed\nid: alpha:2,hooks.system:0\ndata: {}\n\n")
    );
    desk.store("alpha", "8 minutes", &[one, one]).await;
    assert_eq!(told(&mut open, 4).await.0, ["received alpha/3", "received alpha/4"]);
    assert_eq!(told(&mut behind, 4).await.0, ["missed", "received alpha/3", "received alpha/4"]);
}

#[tokio::test]
async fn what_is_no_position_is_refused_by_name() {
    let desk = Desk::open().await;
    let token = desk.admin_token().await;
    let answer = desk.get(As::Token(&token), "/api/events/live?after=17").await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("after: must be a position"), "{}", answer.text());
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
