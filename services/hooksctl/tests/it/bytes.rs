//! Nasty requests come out of `forward` and `replay` as they went in.

use hooks_testkit::http::RawConnection;
use hooks_testkit::nasty::Nasty;
use hooks_testkit::receiver::{Receiver, Request};
use hooks_testkit::sign;

use crate::support::{PATIENCE, Relay, SECRET};

/// Headers that belong to the connection to ingest, not to the event.
const ONE_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "expect",
    "accept-encoding",
];

#[tokio::test]
async fn forward_and_replay_change_no_byte() {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    let all = Nasty::all("/ingest/demo", |id, body| sign::standard_webhooks(SECRET, id, sign::now(), body));
    assert!(all.len() >= 40, "{}", all.len());
    for nasty in &all {
        let mut connection = RawConnection::connect(relay.ingest.address().await).await;
        let mut answer = nasty.send(&mut connection).await.unwrap_or_else(|e| panic!("{}: {e}", nasty.name));
        while answer.status == 100 {
            answer = connection.recv().await.expect("the answer behind an interim one");
        }
        assert_eq!(answer.status, 202, "{}: {}", nasty.name, answer.text());
    }
    let _forward = relay.ctl(&["forward", "demo", "--to", &receiver.url("/forward")]).start();
    let forwarded = receiver.wait_for(all.len(), PATIENCE).await;
    compare(&all, &forwarded);
    let range = format!("1..{}", all.len());
    relay.run(&["replay", "demo", &range, "--to", &receiver.url("/replay")]).await.expect_success();
    let replayed = receiver.requests_to("/replay");
    compare(&all, &replayed);
    assert!(replayed.iter().all(|request| request.header("x-hooks-replay") == Some("1")));
}

fn compare(sent: &[Nasty], got: &[Request]) {
    assert_eq!(sent.len(), got.len());
    for (nasty, request) in sent.iter().zip(got) {
        assert_eq!(request.method(), nasty.method, "{}", nasty.name);
        assert!(request.body == nasty.body, "{}: the body", nasty.name);
        assert_eq!(received(request), expected(nasty), "{}", nasty.name);
    }
}

/// Names and values as bytes, in order, without what the sender itself adds.
fn received(request: &Request) -> Vec<(String, Vec<u8>)> {
    let mut headers = request.head.headers.clone();
    headers.retain(|(name, _)| !belongs_to_hop(name) && !name.to_lowercase().starts_with("x-hooks-"));
    headers
}

fn expected(nasty: &Nasty) -> Vec<(String, Vec<u8>)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let pairs = nasty.headers.iter().map(|(name, value)| (text(name), value.clone()));
    pairs.filter(|(name, _)| !belongs_to_hop(name) && !bound(nasty, name)).collect()
}

fn belongs_to_hop(name: &str) -> bool {
    let name = name.to_lowercase();
    ONE_HOP.contains(&name.as_str()) || name.starts_with("proxy-")
}

/// Named in the request's own `Connection` header, or one of our names.
fn bound(nasty: &Nasty, name: &str) -> bool {
    let name = name.to_lowercase();
    let connection = nasty.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(b"connection"));
    let mut names = connection.flat_map(|(_, value)| value.split(|byte| *byte == b','));
    name.starts_with("x-hooks-")
        || names.any(|bound| bound.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}
