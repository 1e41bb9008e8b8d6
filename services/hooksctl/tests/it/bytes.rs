//! Nasty requests come out of `forward` and `replay` as they went in.

use hooks_testkit::http::RawConnection;
use hooks_testkit::nasty::Nasty;
use hooks_testkit::receiver::{Receiver, Request};
use hooks_testkit::sign;

use crate::support::{PATIENCE, Relay, SECRET};

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
        nasty.assert_arrived(request);
    }
}
