//! `signature explain SOURCE`: a request that ingest refused, and why, for administrators.

use hooks_testkit::http::{exchange, request};
use hooks_testkit::{sign, until};
use serde_json::Value;

use crate::operators::Operators;
use crate::support::{PATIENCE, SECRET, TOKEN, assert_says};

#[tokio::test]
async fn a_refused_request_is_explained_by_its_source() {
    let stage = Operators::start("").await;
    let none = stage.run(&["signature", "explain", "demo"]).await;
    assert_says(&none, 3, &["demo", "404 no such refused request"]);
    assert_says(&stage.run(&["signature", "explain", "dmeo"]).await, 3, &["dmeo", "404 no such source"]);
    let headers = sign::standard_webhooks(SECRET, "msg_1", sign::now(), b"{ \"a\": 1 }");
    let post = request("POST", "/ingest/demo", &sign::borrowed(&headers), b"{\"a\":1}");
    let answer = exchange(stage.relay.ingest.address().await, &post).await;
    assert_eq!(answer.status, 401, "{}", answer.text());
    let kept = "select id from rejected_requests where source = 'demo'";
    let id: i64 = until(PATIENCE, "the refused request is kept", async || {
        let rows = stage.relay.db.query(kept, &[]).await;
        rows.first().map(|row| row.get(0)).ok_or("none")
    })
    .await;
    for which in [&[][..], &[id.to_string().as_str()]] {
        let output = stage.run(&[&["signature", "explain", "demo"], which].concat()).await;
        assert_eq!((output.code(), output.stderr.as_str()), (1, ""), "{output:?}");
        assert!(output.stdout.starts_with("bad_signature\n"), "{}", output.stdout);
        assert!(output.stdout.contains("webhook-id: msg_1"), "{}", output.stdout);
        assert!(!output.stdout.contains(SECRET), "a secret is shown");
    }
    let output = stage.run(&["signature", "explain", "demo", "--json"]).await;
    let said: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!((&said["verdict"], &said["id"]), (&Value::from("bad_signature"), &Value::from(id)));
    let other = stage.run_with(&["signature", "explain", "demo"], &[("HOOKS_TOKEN", TOKEN)]).await;
    assert_says(&other, 4, &["refuses this token for: refused request of source `demo`", "403"]);
    assert_says(&stage.run(&["signature", "explain", "demo", "0"]).await, 3, &["0"]);
}
