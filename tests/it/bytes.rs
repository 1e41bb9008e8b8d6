//! What was sent to ingest comes out of every reading end, and arrives at a receiver of push, as it was. (`forward` and `replay` have the same test beside
//! hooksctl.)

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hooks_testkit::config::ConfigFile;
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawConnection, get};
use hooks_testkit::nasty::Nasty;
use hooks_testkit::receiver::Receiver;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::relay::{PATIENCE, Pushing, SOURCES, TOKEN, listen, make_token, signed, start};

/// Names and values of a `header_list`, as bytes.
fn header_list(data: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = data["header_list"].as_array().expect("a list").iter();
    let value = |value: &Value| match value {
        Value::String(text) => text.clone().into_bytes(),
        other => STANDARD.decode(other["base64"].as_str().expect("base64")).expect("base64"),
    };
    pairs.map(|pair| (pair[0].as_str().expect("a name").into(), value(&pair[1]))).collect()
}

fn assert_same(nasty: &Nasty, data: &Value, body: &[u8]) {
    let name = nasty.name;
    assert_eq!(data["delivery_id"], format!("nasty {name}"));
    assert_eq!(data["method"], nasty.method, "{name}");
    assert_eq!(data["path"].as_str().map(str::as_bytes), Some(&nasty.target[..]), "{name}");
    assert!(header_list(data) == nasty.headers, "{name}: {data}");
    assert!(body == nasty.body, "{name}: body");
    assert_eq!(data["body_sha256"], hex::encode(Sha256::digest(&nasty.body)), "{name}");
}

#[tokio::test]
async fn nasty_requests_come_out_of_the_stream_and_the_fetch_routes_as_they_were_sent() {
    let db = TestDb::create().await;
    make_token(&db).await;
    let config = ConfigFile::write(SOURCES);
    let ingest = start("ingest", &config, &db.url_for("ingest")).await;
    let subscribe = start("subscribe", &config, &db.url_for("subscribe")).await;
    let (ingest, subscribe) = (ingest.address().await, subscribe.address().await);
    let all = Nasty::all("/ingest/one", signed);
    assert!(all.len() >= 60, "{}", all.len());
    let mut live = listen(subscribe, "one", 0).await;
    let authorization = format!("Bearer {TOKEN}");
    let bearer = [("Authorization", authorization.as_str())];
    for nasty in &all {
        let mut connection = RawConnection::connect(ingest).await;
        let answer =
            nasty.send(&mut connection).await.unwrap_or_else(|error| panic!("{}: {error}", nasty.name));
        assert_eq!(answer.status, 200, "{}: {}", nasty.name, answer.text());
        let message = live.next_message(PATIENCE).await;
        let data = message.json();
        let path = format!("/subscribe/one/events/{}", message.sequence());
        let fetched = get(subscribe, &format!("{path}/body"), &bearer).await;
        assert_eq!(fetched.status, 200, "{}", nasty.name);
        let body = match data["body"].as_str().expect("a body") {
            "@ref" => {
                assert_eq!(data["body_ref"], format!("{path}/body"), "{}", nasty.name);
                assert_eq!(data["body_bytes"], nasty.body.len(), "{}", nasty.name);
                fetched.body.clone()
            }
            inline => STANDARD.decode(inline).expect("base64"),
        };
        assert_same(nasty, &data, &body);
        assert!(fetched.body == nasty.body, "{}: the body route", nasty.name);
        assert_eq!(fetched.header("content-encoding"), None, "{}: it is bytes, not content", nasty.name);
        let mut item = get(subscribe, &path, &bearer).await.json();
        item.as_object_mut().expect("an object").remove("push");
        assert_eq!(item, data, "{}: the fetch route", nasty.name);
    }
    // Once more from the log instead of the ring.
    let mut again = listen(subscribe, "one", 0).await;
    for (nasty, message) in all.iter().zip(again.collect_until(all.len(), PATIENCE).await) {
        let inline = message.json()["body"].as_str().and_then(|body| STANDARD.decode(body).ok());
        assert_same(nasty, &message.json(), inline.as_deref().unwrap_or(&nasty.body));
    }
}

#[tokio::test]
async fn nasty_requests_are_pushed_as_they_were_sent() {
    let receiver = Receiver::start().await;
    let add = [&receiver.url("/hook"), "--preserve-method", "--forward-credentials"];
    let relay = Pushing::start("", &add, &[]).await;
    let all = Nasty::all("/ingest/one", signed);
    for nasty in &all {
        let mut connection = RawConnection::connect(relay.ingest.address().await).await;
        let answer = nasty.send(&mut connection).await.unwrap_or_else(|e| panic!("{}: {e}", nasty.name));
        assert_eq!(answer.status, 200, "{}: {}", nasty.name, answer.text());
    }
    let mut got = receiver.wait_for(all.len(), PATIENCE).await;
    assert_eq!(got.len(), all.len());
    // Several are under way at once.
    got.sort_by_key(|one| one.header("x-hooks-sequence").and_then(|text| text.parse::<u64>().ok()));
    for (nasty, request) in all.iter().zip(&mut got) {
        // Set where the provider had none.
        request.head.headers.retain(|(name, value)| name != "User-Agent" || !value.starts_with(b"hooks/"));
        nasty.assert_arrived(request);
        assert!(request.head.headers.iter().any(|(name, _)| name == "X-Hooks-Event-Id"), "{}", nasty.name);
    }
}
