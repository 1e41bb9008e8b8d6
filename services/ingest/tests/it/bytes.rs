//! What was sent is what is stored, byte for byte.

use crate::stage::{SECRET, Stage};
use hooks_testkit::http::RawConnection;
use hooks_testkit::nasty::Nasty;
use hooks_testkit::sign;

/// Headers as they are kept: a line each.
fn packed(headers: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    headers.iter().flat_map(|(name, value)| [&name[..], b":", value, b"\n"].concat()).collect()
}

async fn assert_stored(stage: &Stage, nasty: &Nasty, sequence: i64) {
    let row = stage
        .db
        .query_one(
            "select method, target, headers, body, exact, body_sha256 = sha256(body), delivery_id
             from events where source = 'hub' and sequence = $1",
            &[&sequence],
        )
        .await;
    let name = nasty.name;
    assert_eq!(row.get::<_, &str>(6), format!("nasty {name}"));
    assert_eq!(row.get::<_, &str>(0), nasty.method, "{name}");
    let text = String::from_utf8_lossy;
    assert_eq!(text(row.get(1)), text(&nasty.target), "{name}");
    assert_eq!(text(row.get(2)), text(&packed(&nasty.headers)), "{name}");
    assert!(row.get::<_, &[u8]>(1) == nasty.target, "{name}: target");
    assert!(row.get::<_, &[u8]>(2) == packed(&nasty.headers), "{name}: headers");
    assert!(row.get::<_, &[u8]>(3) == nasty.body, "{name}: body");
    assert!(row.get::<_, bool>(4), "{name}: the raw head was not used");
    assert!(row.get::<_, bool>(5), "{name}: hash");
}

fn all() -> Vec<Nasty> {
    Nasty::all("/ingest/hub", |id, body| sign::github(SECRET, id, "push", body))
}

#[tokio::test]
async fn nasty_requests_are_stored_as_they_were_sent() {
    let stage = Stage::start().await;
    let all = all();
    assert!(all.len() >= 60, "{}", all.len());
    for (nasty, sequence) in all.iter().zip(1..) {
        let mut connection = RawConnection::connect(stage.address).await;
        let answer =
            nasty.send(&mut connection).await.unwrap_or_else(|error| panic!("{}: {error}", nasty.name));
        assert_eq!(answer.status, 200, "{}: {}", nasty.name, answer.text());
        assert_stored(&stage, nasty, sequence).await;
    }
    stage.metric_becomes("hooks_ingest_inexact_heads_total", 0.0).await;
}

#[tokio::test]
async fn nasty_requests_do_not_spoil_the_next_one_on_their_connection() {
    let stage = Stage::start().await;
    let mut connection = RawConnection::connect(stage.address).await;
    for (nasty, sequence) in all().iter().zip(1..) {
        let answer =
            nasty.send(&mut connection).await.unwrap_or_else(|error| panic!("{}: {error}", nasty.name));
        assert_eq!(answer.status, 200, "{}: {}", nasty.name, answer.text());
        assert_stored(&stage, nasty, sequence).await;
        if answer.header("connection") == Some("close") {
            connection = RawConnection::connect(stage.address).await;
        }
    }
}
