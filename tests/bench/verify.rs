//! What verification costs beside a bare HMAC of the same bytes, in one process and interleaved.
//!
//! The promise is about a bare HMAC as anyone would write it: key in, what stands in front of the body, the body, MAC
//! out; that it is the MAC which the request carries is asserted. Printed beside it are the ratio to
//! a MAC whose key is prepared, that of a verifier that takes its id from a header and reads no event type (finding
//! those in a body is work that a bare HMAC does not do), and that of the quietest samples: a hash waits for its own
//! rounds and hardly feels a neighbour on the core, the steps around it do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use hooks_shared::Secret;
use hooks_shared::verify::{Message, Parts, Settings, Signer, Verdict, Verifier};
use serde_json::{Value, json};
use sha2::Sha256;
use std::hint::black_box;
use std::time::Instant;
use time::OffsetDateTime;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Body bytes, and the ratio that is promised.
const SIZES: [(usize, Option<f64>); 3] =
    [(1 << 10, Some(1.3)), (64 << 10, Some(1.05)), (1 << 20, Some(1.05))];
/// Schemes, and what they sign in front of the body; `{t}` is the time.
const PRESETS: [(&str, &str); 4] =
    [("standard_webhooks", "msg_1.{t}."), ("github", ""), ("slack", "v0:{t}:"), ("stripe", "{t}.")];
/// Samples of a round. Short ones side by side: what else runs on the machine slows both.
const SLICES: usize = 40;
/// The share of samples that counts as quiet.
const QUIET: f64 = 0.05;

/// Prints, for each scheme and size, the medians of all samples of `rounds`. True if every promise is kept.
pub fn run(rounds: usize) -> bool {
    let mut kept = true;
    println!(
        "{:<18} {:>8} {:>10} {:>10} {:>7} {:>9} {:>8} {:>8}",
        "scheme", "bytes", "bare HMAC", "verify", "ratio", "prepared", "no read", "quiet"
    );
    for (preset, front) in PRESETS {
        for (size, most) in SIZES {
            let costs = compare(preset, front, size, rounds);
            let [bare, prepared, verify, no_read] = costs.each_ref().map(|sorted| at(sorted, 0.5));
            let [quiet_bare, .., quiet_verify, _] = costs.each_ref().map(|sorted| at(sorted, QUIET));
            let ratio = verify / bare;
            let fits = most.is_none_or(|most| ratio <= most);
            kept &= fits;
            let mark = if fits { "" } else { "  over the limit" };
            println!(
                "{preset:<18} {size:>8} {:>7.2} us {:>7.2} us {ratio:>7.3} {:>9.3} {:>8.3} {:>8.3}{mark}",
                bare * 1e6,
                verify * 1e6,
                verify / prepared,
                no_read / bare,
                quiet_verify / quiet_bare,
            );
        }
    }
    kept
}

/// Seconds for one request, in order: a bare HMAC, one with its key prepared, a verification, one that reads neither id
/// nor type.
type Costs = [Vec<f64>; 4];

fn compare(preset: &str, front: &str, size: usize, rounds: usize) -> Costs {
    let now = OffsetDateTime::now_utc();
    let body = body(size);
    let parts = signed(preset, &body, now);
    let whole = verifier(preset.into());
    // Standard Webhooks signs its id. Without any, schemes with a time hash the signed text once more.
    let without = if preset == "standard_webhooks" {
        json!({"preset": preset, "event_type": null})
    } else {
        json!({"preset": preset, "id": "header:X-Request-Id", "event_type": null})
    };
    let without = verifier(without);
    let request = parts.request();
    let front = front.replace("{t}", &now.unix_timestamp().to_string());
    let key = match preset {
        "standard_webhooks" => STANDARD.decode(&SECRET["whsec_".len()..]).expect("base64"),
        _ => SECRET.as_bytes().to_vec(),
    };
    let prepared = Hmac::<Sha256>::new_from_slice(&key).expect("any key length");
    let finish = |mut mac: Hmac<Sha256>| {
        mac.update(black_box(front.as_bytes()));
        mac.update(black_box(&body));
        mac.finalize().into_bytes()
    };
    let mac = finish(prepared.clone());
    let written = [hex::encode(mac), STANDARD.encode(mac)];
    let carried = |value: &[u8]| written.iter().any(|mac| value.ends_with(mac.as_bytes()));
    assert!(parts.headers.iter().any(|(_, value)| carried(value)), "{preset}: it is another MAC");
    let repeats = ((1 << 20) / (size + 2048)).max(1);
    let verify = |verifier: &Verifier| {
        let verdict = verifier.verify(black_box(&request), now);
        assert!(matches!(black_box(&verdict), Verdict::Ok(_)));
    };
    let mut samples = Costs::default();
    for _ in 0..rounds.max(3) * SLICES {
        samples[0].push(timed(repeats, || {
            let mac = Hmac::<Sha256>::new_from_slice(black_box(&key)).expect("any key length");
            black_box(finish(mac));
        }));
        samples[1].push(timed(repeats, || {
            black_box(finish(black_box(&prepared).clone()));
        }));
        samples[2].push(timed(repeats, || verify(&whole)));
        samples[3].push(timed(repeats, || verify(&without)));
    }
    samples.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
    samples
}

fn verifier(verifier: Value) -> Verifier {
    let settings = Settings { verifier, secrets: vec![Secret::from(SECRET)], ..Settings::default() };
    Verifier::compile(&settings).expect("the preset compiles").verifier
}

/// The sample below which this share of them lies.
fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[(sorted.len() as f64 * share) as usize]
}

/// The mean time of one run, in seconds.
fn timed(repeats: usize, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        work();
    }
    start.elapsed().as_secs_f64() / repeats as f64
}

/// A JSON object of about this many bytes, its id and type in front as providers have them.
fn body(size: usize) -> Vec<u8> {
    let head = r#"{"id":"evt_1","type":"deploy_ended","event_id":"Ev1","event":{"type":"deploy_ended"},"data":{"text":""#;
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
    // As the server hands them on.
    headers.iter_mut().for_each(|(name, _)| name.make_ascii_lowercase());
    Parts {
        method: "POST".into(),
        target: "/ingest/test".into(),
        headers,
        body: body.to_vec(),
        remote_addr: None,
    }
}
