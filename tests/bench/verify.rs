//! What verification costs beside a bare HMAC of the same bytes, in one process and interleaved.

use hmac::{Hmac, KeyInit, Mac};
use hooks_shared::Secret;
use hooks_shared::verify::{Message, Parts, Settings, Signer, Verdict, Verifier};
use sha2::Sha256;
use std::hint::black_box;
use std::time::{Duration, Instant};
use time::OffsetDateTime;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Body bytes, and the ratio that is promised.
const SIZES: [(usize, Option<f64>); 3] =
    [(1 << 10, Some(1.3)), (64 << 10, Some(1.05)), (1 << 20, Some(1.05))];
const PRESETS: [&str; 4] = ["standard_webhooks", "github", "slack", "stripe"];

/// Prints, for each scheme and size, the median of `rounds` ratios. True if every promise is kept.
pub fn run(rounds: usize) -> bool {
    let mut kept = true;
    println!("{:<20} {:>9} {:>12} {:>12} {:>7}", "scheme", "bytes", "bare HMAC", "verify", "ratio");
    for preset in PRESETS {
        for (size, most) in SIZES {
            let (bare, whole, ratio) = compare(preset, size, rounds);
            let fits = most.is_none_or(|most| ratio <= most);
            kept &= fits;
            let mark = if fits { "" } else { "  over the limit" };
            println!("{preset:<20} {size:>9} {bare:>10.0?} {whole:>12.0?} {ratio:>7.3}{mark}");
        }
    }
    kept
}

fn compare(preset: &str, size: usize, rounds: usize) -> (Duration, Duration, f64) {
    let now = OffsetDateTime::now_utc();
    let body = body(size);
    let parts = signed(preset, &body, now);
    let settings =
        Settings { verifier: preset.into(), secrets: vec![Secret::from(SECRET)], ..Settings::default() };
    let verifier = Verifier::compile(&settings).expect("the preset compiles").verifier;
    let request = parts.request();
    let key = SECRET.as_bytes();
    let repeats = (32 << 20) / (size + 2048);
    let mut samples = Vec::new();
    for _ in 0..rounds.max(3) {
        let bare = timed(repeats, || {
            let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any key length");
            mac.update(black_box(&body));
            black_box(mac.finalize());
        });
        let whole = timed(repeats, || {
            let verdict = verifier.verify(black_box(&request), now);
            assert!(matches!(black_box(verdict), Verdict::Ok(_)));
        });
        samples.push((bare, whole));
    }
    samples.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let middle = samples[samples.len() / 2];
    (middle.0, middle.1, ratio(&middle))
}

fn ratio((bare, whole): &(Duration, Duration)) -> f64 {
    whole.as_secs_f64() / bare.as_secs_f64()
}

/// The mean time of one run.
fn timed(repeats: usize, mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..repeats {
        work();
    }
    start.elapsed() / u32::try_from(repeats).expect("a small number")
}

/// A JSON object of about this many bytes, its id and type in front as providers have them.
fn body(size: usize) -> Vec<u8> {
    let head = r#"{"id":"evt_1","type":"deploy_ended","event_id":"Ev1","data":{"text":""#;
    let fill = size.saturating_sub(head.len() + 3);
    format!("{head}{}\"}}}}", "x".repeat(fill)).into_bytes()
}

fn signed(preset: &str, body: &[u8], now: OffsetDateTime) -> Parts {
    let signer = Signer::new(&preset.into(), &Secret::from(SECRET)).expect("the preset signs");
    let url = "https://relay.example/ingest/test";
    let message = Message { method: "POST", url, body, id: "msg_1", event_type: Some("deploy_ended"), now };
    let signed = signer.sign(&message).expect("a signature");
    // What a provider's request carries besides.
    let mut headers: Vec<(Vec<u8>, Vec<u8>)> = [
        ("Host", "relay.example"),
        ("User-Agent", "Provider/1.0"),
        ("Accept", "*/*"),
        ("Content-Type", "application/json"),
        ("Content-Length", "1024"),
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("X-Request-Id", "0123456789abcdef"),
    ]
    .iter()
    .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
    .collect();
    let own = signed.headers.iter().chain(&signed.defaults);
    headers.extend(own.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())));
    Parts {
        method: "POST".into(),
        target: "/ingest/test".into(),
        headers,
        body: body.to_vec(),
        remote_addr: None,
    }
}
