//! The receiver does what its script says and keeps what it got.

use std::sync::Arc;
use std::time::Duration;

use hooks_testkit::gate::Gate;
use hooks_testkit::http::{RawConnection, exchange, request};
use hooks_testkit::receiver::{Certificate, Receiver, Script};
use hooks_testkit::until;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn requests_are_kept_byte_for_byte_on_one_connection() {
    let receiver = Receiver::start().await;
    let mut connection = RawConnection::connect(receiver.address()).await;
    let first =
        b"POST /a?x=%2f HTTP/1.1\r\nhOST: h\r\nX-A:  1 \r\nx-a: \xff\r\nContent-Length: 3\r\n\r\n\x00\xffz";
    let second =
        b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    connection.send(first).await.expect("send");
    assert_eq!(connection.recv().await.expect("answer").status, 200);
    connection.send(second).await.expect("send");
    assert_eq!(connection.recv().await.expect("interim answer").status, 100);
    assert_eq!(connection.recv().await.expect("answer").status, 200);
    let requests = receiver.wait_for(2, PATIENCE).await;
    assert_eq!([&requests[0].head.raw[..], &requests[0].body].concat(), first);
    assert_eq!((requests[0].method(), requests[0].target(), requests[0].path()), ("POST", "/a?x=%2f", "/a"));
    assert_eq!(requests[0].head.header_all("x-a"), [b"1".as_slice(), b"\xff"]);
    assert_eq!(requests[1].body, b"abc");
    assert_eq!(requests[1].chunks, [b"ab".to_vec(), b"c".to_vec()]);
    assert_eq!((requests[0].connection, requests[1].connection), (1, 1));
}

#[tokio::test]
async fn answers_come_in_turn_and_the_last_repeats() {
    let receiver = Receiver::start().await;
    let scripts =
        [Script::status(500), Script::redirect("/b"), Script::status(201).body("x").header("A", "b")];
    receiver.respond_in_turn("/a", scripts);
    receiver.respond_elsewhere(Script::status(404));
    let mut seen = Vec::new();
    for _ in 0..4 {
        let answer = exchange(receiver.address(), &request("POST", "/a", &[], b"1")).await;
        seen.push((answer.status, answer.text()));
    }
    let expected =
        [(500, ""), (302, ""), (201, "x"), (201, "x")].map(|(status, body)| (status, body.to_owned()));
    assert_eq!(seen, expected);
    assert_eq!(exchange(receiver.address(), &request("GET", "/b", &[], b"")).await.status, 404);
}

#[tokio::test]
async fn a_gate_holds_answers_back_and_leaving_clients_are_counted() {
    let receiver = Receiver::start().await;
    let gate = Gate::closed();
    receiver.respond("/a", Script::status(204).after(gate.clone()));
    let mut stays = RawConnection::connect(receiver.address()).await;
    let mut leaves = RawConnection::connect(receiver.address()).await;
    for connection in [&mut stays, &mut leaves] {
        connection.send(&request("POST", "/a", &[], b"x")).await.expect("send");
    }
    until(PATIENCE, "both to stand at the gate", async || gate.waiting() == 2).await;
    assert_eq!((receiver.in_flight(), receiver.most_in_flight()), (2, 2));
    drop(leaves);
    until(PATIENCE, "the hang-up to be seen", async || receiver.hang_ups() == 1).await;
    gate.open();
    assert_eq!(stays.recv().await.expect("answer").status, 204);
    until(PATIENCE, "nothing to be in flight", async || receiver.in_flight() == 0).await;
}

#[tokio::test]
async fn answers_can_be_broken_in_every_way() {
    let receiver = Receiver::start().await;
    let ask = async |script: Script| {
        receiver.respond("/a", script);
        let mut connection = RawConnection::connect(receiver.address()).await;
        connection.send(&request("POST", "/a", &[], b"x")).await.expect("send");
        connection.recv().await
    };
    let kind = |error: std::io::Error| error.kind();
    assert_eq!(ask(Script::close()).await.map_err(kind).err(), Some(std::io::ErrorKind::ConnectionAborted));
    assert_eq!(ask(Script::reset()).await.map_err(kind).err(), Some(std::io::ErrorKind::ConnectionReset));
    assert_eq!(ask(Script::bytes("what\r\n\r\n")).await.expect("something").status, 0);
    let truncated = ask(Script::status(200).body("abc").truncated(10)).await.expect("a head");
    assert_eq!((truncated.complete, truncated.text()), (false, "abc".into()));
    let dripped =
        ask(Script::status(200).body("slow").drip(Duration::from_micros(100))).await.expect("an answer");
    assert_eq!((dripped.complete, dripped.text()), (true, "slow".into()));
    assert_eq!(ask(Script::status(413).unread()).await.expect("an answer").status, 413);
}

#[tokio::test]
async fn an_endless_answer_ends_with_its_reader_and_a_hanging_one_never_comes() {
    let receiver = Receiver::start().await;
    receiver.respond("/endless", Script::endless("tick", Duration::from_millis(1)));
    receiver.respond("/hang", Script::hang());
    let mut reader = RawConnection::connect(receiver.address()).await;
    reader.send(&request("GET", "/endless", &[], b"")).await.expect("send");
    reader.recv_head(PATIENCE).await.expect("a head");
    for _ in 0..3 {
        assert_eq!(reader.recv_chunk().await.expect("a chunk"), b"tick");
    }
    drop(reader);
    until(PATIENCE, "the reader to be missed", async || receiver.hang_ups() == 1).await;
    let mut waiting = RawConnection::connect(receiver.address()).await;
    waiting.send(&request("GET", "/hang", &[], b"")).await.expect("send");
    receiver.wait_for(2, PATIENCE).await;
    assert!(!waiting.closed_within(Duration::from_millis(50)).await);
}

#[tokio::test]
async fn behind_tls_only_those_come_who_trust_the_certificate() {
    for (certificate, comes) in [
        (Certificate::self_signed(&["localhost"]), true),
        (Certificate::self_signed(&["elsewhere.example"]), false),
        (Certificate::expired(&["localhost"]), false),
    ] {
        let mut trusted = rustls::RootCertStore::empty();
        trusted.add(certificate.der()).expect("a certificate can be trusted");
        let receiver = Receiver::start_tls(certificate).await;
        let connector = TlsConnector::from(Arc::new(client_config(trusted)));
        let tcp = TcpStream::connect(receiver.address()).await.expect("connect");
        let name = "localhost".try_into().expect("a name");
        let Ok(mut stream) = connector.connect(name, tcp).await else {
            assert!(!comes, "refused {}", receiver.url("/"));
            assert_eq!(receiver.requests().len(), 0);
            continue;
        };
        assert!(comes, "accepted {}", receiver.url("/"));
        stream.write_all(&request("POST", "/a", &[("Connection", "close")], b"x")).await.expect("send");
        receiver.wait_for(1, PATIENCE).await;
        assert!(receiver.url("/a").starts_with("https://localhost:"));
    }
}

fn client_config(trusted: rustls::RootCertStore) -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows the default versions")
        .with_root_certificates(trusted)
        .with_no_client_auth()
}
