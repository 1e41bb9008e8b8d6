//! The stream reader sees frames, comments, chunk boundaries and the manner of the end.

use std::time::Duration;

use hooks_testkit::receiver::{Receiver, Script};
use hooks_testkit::sse::{End, Item, Next, Stream};

const PATIENCE: Duration = Duration::from_secs(10);
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunked(chunks: &[&str]) -> String {
    chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).collect()
}

#[tokio::test]
async fn messages_and_comments_come_in_order_however_they_are_chunked() {
    let receiver = Receiver::start().await;
    let frames = ["id:7\nevent:a\ndata:{\"x\":1}\n\n", ": keep", "alive\n\ndata:two\n", "data:lines\n\n", ""];
    receiver.respond("/s", Script::bytes(format!("{HEAD}{}", chunked(&frames))));
    let mut stream = Stream::open(receiver.address(), "/s", "hk_token").await;
    let first = stream.next_message(PATIENCE).await;
    assert_eq!(
        (first.sequence(), first.event.as_deref(), first.json()["x"].as_i64()),
        (7, Some("a"), Some(1))
    );
    assert!(first.alone_in_chunk);
    assert_eq!(first.raw, frames[0].as_bytes());
    assert_eq!(stream.next(PATIENCE).await, Item::Comment("keepalive".into()));
    let second = stream.next_message(PATIENCE).await;
    assert_eq!((second.data.as_str(), second.alone_in_chunk, second.id), ("two\nlines", false, None));
    assert_eq!(stream.to_end(PATIENCE).await, (vec![], End::Clean));
    assert_eq!(receiver.requests()[0].header("authorization"), Some("Bearer hk_token"));
}

#[tokio::test]
async fn a_cut_stream_and_a_silent_one_are_told_apart() {
    let receiver = Receiver::start().await;
    receiver.respond("/cut", Script::bytes(format!("{HEAD}{}", chunked(&[": x\n\n"]))));
    let mut stream = Stream::open(receiver.address(), "/cut", "t").await;
    assert_eq!(stream.to_end(PATIENCE).await, (vec![Item::Comment("x".into())], End::Cut));
    receiver.respond("/silent", Script::endless(": ", Duration::from_secs(60)));
    let mut stream = Stream::open(receiver.address(), "/silent", "t").await;
    assert_eq!(stream.try_next(Duration::from_millis(30)).await, Next::Nothing);
}

#[tokio::test]
async fn a_refusal_comes_back_whole() {
    let receiver = Receiver::start().await;
    receiver.respond("/s", Script::status(403).body("forbidden"));
    let refused = Stream::connect(receiver.address(), "/s", &[]).await.expect_err("no stream");
    assert_eq!((refused.status, refused.text()), (403, "forbidden".into()));
}
