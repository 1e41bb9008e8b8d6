//! Sizes: of one body, of all bodies together, of a head.

use crate::stage::{PATIENCE, Stage, hub, post, sequence};
use hooks_testkit::http::{RawConnection, exchange, request};
use hooks_testkit::sign::borrowed;

const SMALL: &str = "
sources:
  small: {verifier: github, secret: s3cret-of-the-tests, body_size_limit: 1KiB}
  roomy: {verifier: github, secret: s3cret-of-the-tests, body_size_limit: 4MiB}
  usual: {verifier: {preset: github, body_size_limit: 1MiB}, secret: s3cret-of-the-tests}
  hub: {verifier: github, secret: s3cret-of-the-tests}
ingest: {byte_budget: 2MiB}
";

fn chunked(source: &str, id: &str, body: &[u8], size: usize) -> Vec<u8> {
    let mut headers = hub(id, body);
    headers.push(("Transfer-Encoding".into(), "chunked".into()));
    let mut bytes = request("POST", &format!("/ingest/{source}"), &borrowed(&headers), b"");
    for chunk in body.chunks(size) {
        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
        bytes.extend([chunk, b"\r\n"].concat());
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_its_declared_length_before_it_is_sent() {
    let stage = Stage::with(SMALL).await;
    let mut connection = RawConnection::connect(stage.address).await;
    connection
        .send(b"DELETE /ingest/small HTTP/1.1\r\nHost: x\r\nContent-Length: 1025\r\n\r\n")
        .await
        .expect("send");
    let answer = connection.recv().await.expect("an answer though no byte of the body was sent");
    assert_eq!(
        (answer.status, answer.text()),
        (413, "request body too large: this source takes at most 1024 bytes\n".into())
    );
    assert!(connection.closed_within(PATIENCE).await);
}

#[tokio::test]
async fn a_body_without_length_is_counted_while_it_streams() {
    let stage = Stage::with(SMALL).await;
    let body = vec![b'x'; 1025];
    for size in [1025, 400, 1] {
        let answer = exchange(stage.address, &chunked("small", "over", &body, size)).await;
        assert_eq!(answer.status, 413, "in chunks of {size}");
        let exact =
            exchange(stage.address, &chunked("small", &format!("d-{size}"), &body[..1024], size)).await;
        assert_eq!(exact.status, 200, "in chunks of {size}");
    }
    let mut endless = RawConnection::connect(stage.address).await;
    endless
        .send(b"POST /ingest/small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n401\r\n")
        .await
        .expect("send");
    endless.send(&body).await.expect("send");
    let answer = endless.recv().await.expect("an answer though the body goes on");
    assert_eq!(answer.status, 413);
    assert_eq!(stage.count("small").await, 3);
}

#[tokio::test]
async fn a_preset_raises_the_limit_and_the_source_has_the_last_word() {
    let stage = Stage::with(SMALL).await;
    let body = vec![b'x'; (1 << 20) + 1];
    for (source, status) in [("usual", 413), ("hub", 200), ("roomy", 200)] {
        let answer = stage.post(source, &hub("d", &body), &body).await;
        assert_eq!(answer.status, status, "{source}");
    }
    let length = stage.db.query_one("select length(body) from events where source = 'hub'", &[]).await;
    assert_eq!(length.get::<_, i32>(0), (1 << 20) + 1);
}

#[tokio::test]
async fn all_bodies_together_stay_within_the_budget_and_give_it_back() {
    let stage = Stage::with(SMALL).await;
    let body = vec![b'x'; 1_500_000];
    let whole = post("roomy", &hub("first", &body), &body);
    let (most, rest) = whole.split_at(whole.len() - 1);
    let mut first = RawConnection::connect(stage.address).await;
    first.send(most).await.expect("send");
    stage.holds(body.len() - 1).await;
    let second = post("roomy", &hub("second", &body), &body);
    let refused = exchange(stage.address, &second).await;
    assert_eq!((refused.status, refused.text()), (503, "not known to be stored, send it again\n".into()));
    assert!(refused.header("retry-after").is_some_and(|wait| wait.parse::<u32>().is_ok()));
    first.send(rest).await.expect("send");
    let answer = first.recv().await.expect("an answer");
    assert_eq!(answer.status, 200);
    let answer = exchange(stage.address, &second).await;
    assert_eq!(answer.status, 200, "there is room again: {}", answer.text());
    assert_eq!(stage.count("roomy").await, 2);
    stage.holds(0).await;
}

#[tokio::test]
async fn a_body_that_never_fits_the_budget_leaves_nothing_of_it_taken() {
    let stage = Stage::with(SMALL).await;
    let body = vec![b'x'; 2_500_000];
    for _ in 0..3 {
        assert_eq!(stage.post("roomy", &hub("big", &body), &body).await.status, 503);
    }
    let fits = vec![b'x'; 2_000_000];
    let answer = stage.post("roomy", &hub("fits", &fits), &fits).await;
    assert_eq!((answer.status, sequence(&answer)), (200, 1));
}

#[tokio::test]
async fn ninety_six_headers_pass_and_one_more_does_not() {
    let stage = Stage::with(SMALL).await;
    // With Host, Content-Length and the provider's three.
    for (count, status) in [(91, 200), (92, 431)] {
        let mut headers = hub(&format!("d-{count}"), b"1");
        headers.extend((0..count).map(|number| (format!("X-{number}"), "v".to_owned())));
        let answer = stage.post("hub", &headers, b"1").await;
        assert_eq!(answer.status, status, "{} headers", count + 5);
    }
    let row = stage.db.query_one("select exact, array_length(string_to_array(convert_from(headers, 'UTF8'), E'\\n'), 1) from events", &[]).await;
    assert_eq!((row.get::<_, bool>(0), row.get::<_, i32>(1)), (true, 97), "and all of them are kept");
}
