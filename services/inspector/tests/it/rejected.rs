//! Refused requests: for administrators, with what the doctor found.

use crate::desk::{As, Desk};
use hooks_shared::event::encode_headers;
use serde_json::json;

async fn keep(desk: &Desk, source: &str, verdict: &str) {
    let headers = encode_headers(&[(b"X-Sig".to_vec(), b"***".to_vec()), (b"x-sig".to_vec(), b"b".to_vec())]);
    desk.db
        .execute(
            "insert into rejected_requests (source, verdict, status, certain, reasons, method, target, headers, \
             remote_addr, body, body_bytes) values ($1, $2, 401, true, '{why,more}', 'POST', '/ingest/x?a=1&access%5Ftoken=b', $3, \
             '192.0.2.7', 'body', 70000)",
            &[&source, &verdict, &headers],
        )
        .await;
}

#[tokio::test]
async fn refused_requests_are_listed_and_shown_to_administrators() {
    let desk = Desk::open().await;
    let admin = desk.admin_token().await;
    let member = desk.person("member", "mem@example.com", &["alpha"]).await;
    for verdict in ["stale", "bad_signature"] {
        keep(&desk, "alpha", verdict).await;
    }
    keep(&desk, "beta", "malformed").await;
    let list = desk.get(As::Token(&admin), "/api/sources/alpha/rejected").await;
    assert_eq!(list.status, 200, "{}", list.text());
    let list = list.json()["rejected"].clone();
    let verdicts: Vec<_> = list.as_array().unwrap().iter().map(|one| one["verdict"].clone()).collect();
    assert_eq!(verdicts, ["bad_signature", "stale"]);
    let path = format!("/api/sources/alpha/rejected/{}", list[1]["id"]);
    let one = desk.get(As::Token(&admin), &path).await.json();
    assert_eq!((&one["verdict"], &one["reasons"]), (&json!("stale"), &json!(["why", "more"])));
    assert_eq!(one["headers"], json!([["X-Sig", "***"], ["x-sig", "b"]]));
    let target = "/ingest/x?a=1&access%5Ftoken=••••••••";
    assert_eq!((&one["target"], &one["remote_addr"]), (&json!(target), &json!("192.0.2.7")));
    assert_eq!((&one["body_base64"], &one["body_bytes"]), (&json!("Ym9keQ=="), &json!(70000)));
    let newest = desk.get(As::Token(&admin), "/api/sources/alpha/rejected/latest").await.json();
    assert_eq!(newest["verdict"], "bad_signature");
    // Another source's, one that is not there, and what is no number.
    for id in [list[0]["id"].as_i64().unwrap() + 1, 0] {
        let path = format!("/api/sources/alpha/rejected/{id}");
        assert_eq!(desk.get(As::Token(&admin), &path).await.status, 404);
    }
    assert_eq!(desk.get(As::Token(&admin), "/api/sources/alpha/rejected/x").await.status, 404);
    assert_eq!(desk.get(As::Browser(&member), &path).await.status, 403);
}

#[tokio::test]
async fn a_source_that_keeps_no_refused_requests_says_so() {
    let sources =
        "sources:\n  quiet: {verifier: github, record_rejected: false}\n  alpha: {verifier: github}\n";
    let desk = Desk::open_with(sources).await;
    let admin = desk.admin_token().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    for (source, off) in [("quiet", true), ("alpha", false)] {
        let none = desk.get(As::Token(&admin), &format!("/api/sources/{source}/rejected/latest")).await;
        let page = desk.get(As::Browser(&ada), &format!("/sources/{source}")).await;
        assert_eq!((none.status, page.status), (404, 200), "{}", page.text());
        for said in [none.text(), page.text()] {
            assert_eq!(said.contains("record_rejected: false"), off, "{source}: {said}");
        }
    }
    // What was kept before it was turned off is shown.
    keep(&desk, "quiet", "stale").await;
    let newest = desk.get(As::Token(&admin), "/api/sources/quiet/rejected/latest").await;
    assert_eq!(newest.status, 200, "{}", newest.text());
}
