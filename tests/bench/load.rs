//! A closed-loop load: connections that each send a signed webhook, wait for the answer, and send the next.

use hooks_testkit::sign;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

pub const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A body of about 1.5 KB that looks like what providers send.
pub fn body(number: u64) -> Vec<u8> {
    let filler: String =
        (0..24).map(|n| format!("\"field_{n}\":\"value {number} of an ordinary event\",")).collect();
    format!("{{\"type\":\"deploy_ended\",\"data\":{{{filler}\"id\":\"evt-{number}\"}}}}").into_bytes()
}

/// One request as bytes, signed.
pub fn request(source: &str, id: &str, body: &[u8]) -> Vec<u8> {
    let mut head =
        format!("POST /ingest/{source} HTTP/1.1\r\nHost: relay\r\nContent-Type: application/json\r\n");
    for (name, value) in sign::standard_webhooks(SECRET, id, sign::now(), body) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends one request on a connection and reads the status of its answer (answers here have no body).
pub async fn exchange(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> std::io::Result<u16> {
    stream.write_all(request).await?;
    buffer.clear();
    while !buffer.windows(4).any(|window| window == b"\r\n\r\n") {
        if stream.read_buf(buffer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let status = buffer.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

/// Runs `connections` until told to stop; returns how many requests were accepted.
pub async fn closed_loop(
    address: SocketAddr,
    sources: usize,
    connections: usize,
    stop: Arc<AtomicBool>,
) -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let mut tasks = JoinSet::new();
    for connection in 0..connections {
        let stop = stop.clone();
        tasks.spawn(async move {
            let mut stream = TcpStream::connect(address).await.expect("connect to ingest");
            stream.set_nodelay(true).expect("nodelay");
            let source = format!("s{}", connection % sources);
            let mut buffer = Vec::with_capacity(1024);
            let mut accepted = 0;
            while !stop.load(Ordering::Relaxed) {
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                let request = request(&source, &format!("evt-{number}"), &body(number));
                match exchange(&mut stream, &request, &mut buffer).await.expect("an answer") {
                    200 | 202 => accepted += 1,
                    other => panic!("ingest answered {other}"),
                }
            }
            accepted
        });
    }
    let mut accepted = 0;
    while let Some(count) = tasks.join_next().await {
        accepted += count.expect("a connection's task");
    }
    accepted
}
