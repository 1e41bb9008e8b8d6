//! Random tables of the form and random templates.

use crate::dice::Dice;
use crate::vectors::checked;
use hooks_shared::Secret;
use hooks_shared::verify::{Message, Parts, Settings, Signer, Verdict, Verifier, presets};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

const SOURCES: [&str; 12] = [
    "header:X-Sig",
    "header:X-Sig-{n}",
    "header:X-Time",
    "header:X-Id",
    "query:q",
    "form:f",
    "json:/a",
    "json:/a/b",
    "json:/list/*/a",
    "claim:iat",
    "header:",
    "json:a",
];

const PLACES: [&str; 14] = [
    "body",
    "timestamp",
    "id",
    "url",
    "path",
    "method",
    "secret",
    "body|escape_unicode",
    "url|hubspot_decode",
    "header:X-A",
    "json:/a",
    "form:f",
    "query:q",
    "nothing",
];

/// Any table: it compiles or is refused, and what compiles gives a verdict on any request.
pub fn run(dice: &mut Dice) {
    let settings = Settings {
        verifier: verifier(dice),
        secrets: (0..dice.below(3)).map(|_| Secret::from(dice.text(40))).collect(),
        base_url: dice.one_in(2).then(|| "https://relay.example".to_owned()),
        public_url: dice.one_in(4).then(|| dice.text(30)),
        verify_token: dice.one_in(3).then(|| Secret::from("token")),
        ..Settings::default()
    };
    let Ok(compiled) = Verifier::compile(&settings) else { return };
    let _ = compiled.verifier.summary();
    for _ in 0..4 {
        let request = request(dice);
        checked(&compiled.verifier, &request, moment(dice));
    }
}

fn moment(dice: &mut Dice) -> OffsetDateTime {
    let at = *dice.pick(&[0, 1_700_000_000, -62_000_000_000, 253_402_300_799]);
    OffsetDateTime::from_unix_timestamp(at).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

fn verifier(dice: &mut Dice) -> Value {
    match dice.below(6) {
        0 => json!([table(dice), table(dice)]),
        1 => json!({"combine": *dice.pick(&["all", "any"]), "of": [table(dice), table(dice)]}),
        _ => table(dice),
    }
}

fn table(dice: &mut Dice) -> Value {
    let mut table = Map::new();
    if dice.one_in(3) {
        let names: Vec<&str> = presets().map(|preset| preset.name).collect();
        table.insert("preset".into(), json!(*dice.pick(&names)));
    } else {
        let kind =
            *dice.pick(&["hmac", "hash", "token", "basic", "ed25519", "jws", "ecdsa_p256_sha256", "ip"]);
        table.insert("type".into(), json!(kind));
        let place = if kind == "token" { "from" } else { "signature" };
        table.insert(place.into(), json!(source(dice)));
        if matches!(kind, "hmac" | "hash" | "ed25519" | "ecdsa_p256_sha256") {
            table.insert("signed".into(), json!(template(dice)));
        }
    }
    for _ in 0..dice.below(4) {
        let (key, value) = setting(dice);
        table.insert(key.into(), value);
    }
    Value::Object(table)
}

fn setting(dice: &mut Dice) -> (&'static str, Value) {
    match dice.below(13) {
        0 => ("split", json!(*dice.pick(&[" ", ",", ";", "|"]))),
        1 => ("format", json!(*dice.pick(&["{sig}", "t={timestamp},v1={sig}", "v1,{sig}", "{sig}}", "x"]))),
        2 => ("encoding", json!(*dice.pick(&["hex", "base64", "base64url", "none"]))),
        3 => ("algorithm", json!(*dice.pick(&["sha1", "sha256", "sha384", "sha512", "HS256", "ES256"]))),
        4 => ("id", json!([source(dice), source(dice)])),
        5 => ("event_type", json!(source(dice))),
        6 => ("timestamp", timestamp(dice)),
        7 => ("only_if", json!({source(dice): dice.text(8)})),
        8 => ("require", json!([{"at": source(dice), "equals": dice.text(8)}])),
        9 => (
            "key",
            json!({"strip_prefix": ["whsec_"], "encoding": *dice.pick(&["utf8", "base64", "hex", "jwk"])}),
        ),
        10 => ("id_join", json!([source(dice), source(dice)])),
        11 => ("challenge", json!([challenge(dice)])),
        _ => ("signature_any", json!(dice.one_in(2))),
    }
}

fn challenge(dice: &mut Dice) -> Value {
    let echoed = source(dice);
    json!({
        "when": {"method": *dice.pick(&["GET", "POST"])},
        "signed": dice.one_in(2),
        "accept": {echoed.clone(): *dice.pick(&["[a-z]+", ".*", "(", ""])},
        "respond": {"status": *dice.pick(&[200, 204, 500]), "body": format!("{{{echoed}}}"), "headers": {"X-Echo": format!("{{{echoed}}}")}},
    })
}

fn timestamp(dice: &mut Dice) -> Value {
    let from = if dice.one_in(3) { "signature".to_owned() } else { source(dice) };
    json!({"from": from, "unit": *dice.pick(&["s", "ms", "rfc3339", "http_date"]), "max_age": dice.one_in(2).then_some(300)})
}

fn source(dice: &mut Dice) -> String {
    if dice.one_in(12) { dice.text(12) } else { (*dice.pick(&SOURCES)).to_owned() }
}

fn template(dice: &mut Dice) -> String {
    (0..1 + dice.below(5))
        .map(|_| match dice.below(5) {
            0 => dice.text(6),
            _ => format!("{{{}}}", dice.pick(&PLACES)),
        })
        .collect()
}

fn request(dice: &mut Dice) -> Parts {
    const NAMES: [&str; 8] =
        ["X-Sig", "x-sig-1", "X-Sig-100", "X-Time", "X-Id", "Authorization", "Content-Type", "X-A"];
    let headers =
        (0..dice.below(8)).map(|_| (dice.pick(&NAMES).as_bytes().to_vec(), dice.bytes(80))).collect();
    Parts {
        method: (*dice.pick(&["GET", "POST"])).to_owned(),
        target: format!("/ingest/x?q={}", dice.text(20)),
        headers,
        body: crate::bodies::any(dice),
        remote_addr: dice.one_in(2).then_some(std::net::Ipv4Addr::LOCALHOST.into()),
    }
}

/// What is signed by a table that can be signed for verifies; with a bit of the body changed it does not.
pub fn round_trip(dice: &mut Dice) {
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let now = OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(1_700_000_000);
    let (split, format) =
        *dice.pick(&[(" ", "v1,{sig}"), (",", "t={timestamp},v1={sig}"), (";", "{sig}"), (",", "s={sig}")]);
    let time = if format.contains("{timestamp}") { "signature" } else { "header:X-Time" };
    let table = json!({
        "type": "hmac",
        "algorithm": *dice.pick(&["sha1", "sha256", "sha384", "sha512"]),
        "signature": "header:X-Sig",
        "split": split,
        "format": format,
        "encoding": *dice.pick(&["hex", "base64"]),
        "signed": *dice.pick(&["{timestamp}.{body}", "{body}{timestamp}", "{id}:{timestamp}:{body}{body}", "{method}{url}{body}{timestamp}"]),
        "timestamp": {"from": time, "unit": *dice.pick(&["s", "ms"])},
        "id": "header:X-Id",
    });
    let secret = Secret::from(SECRET);
    let settings = Settings {
        verifier: table.clone(),
        secrets: vec![secret.clone()],
        base_url: Some("https://relay.example".into()),
        ..Settings::default()
    };
    let verifier = Verifier::compile(&settings).expect("a good table").verifier;
    let signer = Signer::new(&table, &secret).expect("a signer");
    let body = crate::bodies::any(dice);
    let id = dice.word();
    let url = "https://relay.example/ingest/x";
    let message = Message { method: "POST", url, body: &body, id: &id, event_type: None, now };
    let signed = signer.sign(&message).expect("a signature");
    let bytes = |(name, value): &(String, String)| (name.clone().into_bytes(), value.clone().into_bytes());
    let headers = signed.headers.iter().chain(&signed.defaults).map(bytes).collect();
    let mut parts =
        Parts { method: "POST".into(), target: "/ingest/x".into(), headers, body, remote_addr: None };
    let verdict = checked(&verifier, &parts, now);
    assert!(matches!(verdict, Verdict::Ok(_)), "signed and refused: {table} {verdict:?}");
    if !parts.body.is_empty() {
        let at = dice.below(parts.body.len());
        parts.body[at] ^= 1 << dice.below(8);
        let verdict = checked(&verifier, &parts, now);
        assert_eq!(verdict.word(), "bad_signature", "changed and not refused: {table}");
    }
}
