//! `replay`: any stored event, whatever its age.

use hooks_testkit::port;
use hooks_testkit::receiver::{Receiver, Script};

use crate::support::{Relay, assert_says};

async fn with_old_events(count: usize) -> (Relay, Receiver) {
    let (relay, receiver) = (Relay::start().await, Receiver::start().await);
    for n in 1..=count {
        relay.store(&format!("id-{n}"), n.to_string().as_bytes()).await;
    }
    relay.age_everything().await;
    (relay, receiver)
}

fn bodies(receiver: &Receiver) -> Vec<String> {
    receiver.requests().iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect()
}

#[tokio::test]
async fn one_a_range_a_time_and_a_delivery_id_are_found_in_order() {
    let (relay, receiver) = with_old_events(5).await;
    let to = receiver.url("/hook");
    let replay = async |which: &[&str]| {
        receiver.clear();
        let args = [&["replay", "demo"][..], which, &["--to", &to]].concat();
        relay.run(&args).await.expect_success();
        bodies(&receiver)
    };
    assert_eq!(replay(&["3"]).await, ["3"]);
    assert_eq!(replay(&["2..4"]).await, ["2", "3", "4"]);
    assert_eq!(replay(&["4..99"]).await, ["4", "5"]);
    assert_eq!(replay(&["--last", "1h"]).await, ["1", "2", "3", "4", "5"]);
    assert_eq!(replay(&["--delivery-id", "id-2"]).await, ["2"]);
}

#[tokio::test]
async fn a_long_range_is_fetched_page_by_page() {
    let (relay, receiver) = with_old_events(120).await;
    let output = relay.run(&["replay", "demo", "1..120", "--to", &receiver.url("/hook"), "--json"]).await;
    let output = output.expect_success();
    assert_eq!(output.stdout.lines().count(), 120);
    let expected: Vec<String> = (1..=120).map(|n| n.to_string()).collect();
    assert_eq!(bodies(&receiver), expected);
    assert!(output.stderr.contains("replayed 120"), "{}", output.stderr);
}

#[tokio::test]
async fn what_is_not_there_is_3() {
    let (relay, receiver) = with_old_events(1).await;
    let to = receiver.url("/hook");
    assert_says(&relay.run(&["replay", "demo", "9", "--to", &to]).await, 3, &["no event 9"]);
    assert_says(&relay.run(&["replay", "demo", "7..9", "--to", &to]).await, 3, &["no event from 7 to 9"]);
    let output = relay.run(&["replay", "demo", "--delivery-id", "gone", "--to", &to]).await;
    assert_says(&output, 3, &["delivery id gone"]);
    assert_says(&relay.run(&["replay", "nosuch", "1", "--to", &to]).await, 3, &["nosuch"]);
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn events_that_are_not_accepted_are_listed_and_the_rest_is_sent() {
    let (relay, receiver) = with_old_events(3).await;
    receiver.respond_with("/hook", |request| Script::status(if request.body == b"2" { 422 } else { 200 }));
    let to = receiver.url("/hook");
    let output = relay.run(&["replay", "demo", "1..3", "--to", &to, "--max-attempts", "2"]).await;
    assert_says(&output, 1, &["replayed 2, not accepted: 2", "1 event was not accepted"]);
    assert_eq!(bodies(&receiver), ["1", "2", "2", "3"]);
    let output =
        relay.run(&["replay", "demo", "1..3", "--to", &to, "--max-attempts", "1", "--exit-on-error"]).await;
    assert_says(&output, 1, &["event 2 was answered with 422"]);
}

#[tokio::test]
async fn a_target_that_is_not_there_stops_it_and_what_is_left_is_said() {
    let (relay, _receiver) = with_old_events(3).await;
    let to = format!("http://127.0.0.1:{}/hook", port::free());
    let output = relay.run(&["replay", "demo", "1..3", "--to", &to, "--max-attempts", "2"]).await;
    assert_says(&output, 5, &["refuses connections", "what is left is 1 to 3"]);
}
