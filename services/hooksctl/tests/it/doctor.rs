//! `doctor`: what is well, what is not, and what to do.

use hooks_testkit::db::TestDb;
use hooks_testkit::port;
use hooks_testkit::process::Output;
use serde_json::Value;

use crate::support::Relay;

/// The findings by the name of their check.
fn findings(output: &Output) -> std::collections::BTreeMap<String, (String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    output
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line))
        .map(|finding| (text(&finding["check"]), (text(&finding["state"]), text(&finding["detail"]))))
        .collect()
}

async fn doctor(relay: &Relay, args: &[&str], more: &[(&str, &str)]) -> Output {
    let url = relay.db.url();
    let more = [&[("HOOKS_DATABASE_URL", url.as_str())][..], more].concat();
    relay.run_with(&[&["doctor", "--json"], args].concat(), &more).await
}

#[tokio::test]
async fn a_healthy_relay_is_found_healthy() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    // The inspector is not part of this relay: its place is taken by ingest.
    let output = doctor(&relay, &[], &[("HOOKS_INSPECTOR", &relay.ingest_url)]).await;
    let found = findings(&output);
    for name in
        ["config", "database", "writable", "clock", "listen", "schema", "timeline", "ingest", "subscribe"]
    {
        assert_eq!(found.get(name).map(|(state, _)| state.as_str()), Some("ok"), "{name}: {output:?}");
    }
    assert_eq!(found["stream"].0, "ok", "{output:?}");
    assert_eq!(found["same config"].0, "ok", "{output:?}");
    assert_eq!(found["alive: ingest"].0, "ok", "{output:?}");
    assert_eq!(found["alive: push-worker"].0, "warn", "{output:?}");
    assert_eq!(output.code(), 0, "{output:?}");
}

#[tokio::test]
async fn an_empty_source_is_judged_by_its_keepalive() {
    let relay = Relay::start().await;
    let output = doctor(&relay, &["--source", "demo"], &[("HOOKS_INSPECTOR", &relay.ingest_url)]).await;
    assert_eq!(findings(&output)["stream"].0, "ok", "{output:?}");
}

#[tokio::test]
async fn what_is_away_is_5_and_what_is_wrong_is_1() {
    let relay = Relay::start().await;
    let nowhere = format!("http://127.0.0.1:{}", port::free());
    let output = doctor(&relay, &[], &[("HOOKS_INSPECTOR", &nowhere)]).await;
    assert_eq!(findings(&output)["inspector"].0, "away");
    assert_eq!(output.code(), 5, "{output:?}");
    relay.db.execute("insert into schema_versions (version, oldest_build) values (1000, 1000)", &[]).await;
    let output = doctor(&relay, &[], &[("HOOKS_INSPECTOR", &relay.ingest_url)]).await;
    let (state, detail) = &findings(&output)["schema"];
    assert!(state == "bad" && detail.contains("newer build"), "{output:?}");
    assert_eq!(output.code(), 1);
}

#[tokio::test]
async fn a_read_only_database_and_a_promotion_are_told() {
    let relay = Relay::start().await;
    let database = relay.db.name();
    relay.db.execute("update log_state set timeline = '000000FF'", &[]).await;
    let set = format!("alter database {database} set default_transaction_read_only = on");
    relay.db.execute(&set, &[]).await;
    let output = doctor(&relay, &[], &[("HOOKS_INSPECTOR", &relay.ingest_url)]).await;
    let found = findings(&output);
    assert_eq!(found["writable"].0, "bad", "{output:?}");
    assert_eq!(found["timeline"].0, "warn", "{output:?}");
    assert!(found["timeline"].1.contains("--after-failover"), "{output:?}");
}

#[tokio::test]
async fn after_a_failover_every_number_is_raised() {
    let relay = Relay::start().await;
    relay.store("one", b"1").await;
    let output = doctor(&relay, &["--after-failover"], &[("HOOKS_INSPECTOR", &relay.ingest_url)]).await;
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(findings(&output)["timeline"].1.contains("1,000,000"), "{output:?}");
    assert_eq!(relay.store("two", b"2").await, 1_000_002);
}

#[tokio::test]
async fn raising_without_a_database_is_no_success() {
    let db = TestDb::create().await;
    drop(db);
    let args = ["doctor", "--after-restore", "--config", "/nowhere.yaml"];
    let output = hooks_testkit::process::run("hooksctl", &args, &[], b"").await;
    crate::support::assert_says(&output, 2, &["HOOKS_DATABASE_URL is not set"]);
}

/// Answers the list route, and on the stream gives the head and then nothing, as a proxy that buffers does.
async fn buffering_server() -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let page = r#"{"events":[{"sequence":1}],"next":null}"#;
    let list = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{page}",
        page.len()
    );
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Hooks-Keepalive: 0.4\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).await.unwrap_or(0);
            let is_stream = String::from_utf8_lossy(&request[..read]).contains("?since=");
            let answer = if is_stream { head } else { &list };
            let _ = stream.write_all(answer.as_bytes()).await;
            held.push(stream);
        }
    });
    address
}

#[tokio::test]
async fn a_proxy_that_buffers_is_found_out() {
    let relay = Relay::start().await;
    let server = format!("http://{}", buffering_server().await);
    let more = [("HOOKS_INSPECTOR", relay.ingest_url.as_str()), ("HOOKS_SERVER", &server)];
    let output = doctor(&relay, &["--source", "demo"], &more).await;
    let (state, detail) = &findings(&output)["stream"];
    assert!(state == "bad" && detail.contains("buffer"), "{output:?}");
}

#[tokio::test]
async fn services_with_different_configurations_are_told() {
    let relay = Relay::start().await;
    let other = "update service_instances set config_hash = 'other' where service = 'ingest'";
    relay.db.execute(other, &[]).await;
    let output = doctor(&relay, &[], &[("HOOKS_INSPECTOR", &relay.ingest_url)]).await;
    let (state, detail) = &findings(&output)["same config"];
    assert!(state == "warn" && detail.contains("ingest other"), "{output:?}");
}
