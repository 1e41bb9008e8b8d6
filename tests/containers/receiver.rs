//! A webhook receiver for the containers: `receiver <address:port>`. It answers every request 200 and keeps a line of
//! each for `GET /ledger`. `PUT /control?delay=<milliseconds>&status=<code>` changes how the next ones are answered.

use hooks_testkit::receiver::{Receiver, Request, Script};
use serde_json::json;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug)]
struct Manner {
    delay_ms: AtomicU64,
    status: AtomicU16,
}

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).expect("usage: receiver <address:port>");
    let receiver = Receiver::start_on(address.parse().expect("an address and port")).await;
    let manner = Arc::new(Manner { delay_ms: AtomicU64::new(0), status: AtomicU16::new(200) });
    let ledger = Arc::new(Mutex::new(String::new()));
    let kept = ledger.clone();
    receiver.respond_elsewhere_with(move |request| match (request.method(), request.path()) {
        ("GET", "/ledger") => Script::status(200).body(lock(&kept).clone()),
        ("PUT", "/control") => control(&manner, request),
        _ => {
            lock(&kept).push_str(&line(request));
            let status = manner.status.load(Ordering::Relaxed);
            Script::status(status).delay(Duration::from_millis(manner.delay_ms.load(Ordering::Relaxed)))
        }
    });
    std::future::pending::<()>().await;
}

fn lock(ledger: &Mutex<String>) -> std::sync::MutexGuard<'_, String> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn control(manner: &Manner, request: &Request) -> Script {
    let (_, query) = request.target().split_once('?').unwrap_or_default();
    for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match key {
            "delay" => manner.delay_ms.store(value.parse().unwrap_or(0), Ordering::Relaxed),
            "status" => manner.status.store(value.parse().unwrap_or(200), Ordering::Relaxed),
            _ => return Script::status(400),
        }
    }
    Script::status(200)
}

fn line(request: &Request) -> String {
    let header = |name: &str| request.header(name).unwrap_or_default();
    let entry = json!({
        "path": request.path(),
        "event": header("x-hooks-event-id"),
        "sequence": header("x-hooks-sequence"),
        "push": header("x-hooks-push-id"),
        "attempt": header("x-hooks-attempt"),
        "traceparent": header("traceparent"),
        "tracestate": header("tracestate"),
    });
    format!("{entry}\n")
}
