//! What was done to a request on its way: its body and its address.

use super::*;

fn changed_body(signed: &[u8], received: &[u8]) -> Diagnosis {
    let request = Parts { body: received.to_vec(), ..sent(&github(), SECRET, signed, URL) };
    examined(&settings(github(), SECRET), &request)
}

#[test]
fn a_body_that_was_written_again_is_found() {
    let value: Value = serde_json::from_slice(BODY).unwrap();
    let compact = value.to_string();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    assert_found(&changed_body(compact.as_bytes(), pretty.as_bytes()), "bad_signature", "compact form");
    assert_found(&changed_body(pretty.as_bytes(), compact.as_bytes()), "bad_signature", "indented by two");
    let python = br#"{"id": "evt_1", "list": [1, 2]}"#;
    assert_found(
        &changed_body(python, br#"{"id":"evt_1","list":[1,2]}"#),
        "bad_signature",
        "a space after each",
    );
    assert_found(&changed_body(BODY, compact.as_bytes()), "bad_signature", "non-ASCII characters escaped");
    assert_found(&changed_body(br#"{"u":"a\/b"}"#, br#"{"u":"a/b"}"#), "bad_signature", "slashes escaped");
}

#[test]
fn a_changed_line_break_is_found() {
    assert_found(&changed_body(b"{}\n", b"{}"), "bad_signature", "line break at its end, which is gone");
    assert_found(&changed_body(b"{}", b"{}\n"), "bad_signature", "without the line break");
    assert_found(&changed_body(b"a\nb", b"a\r\nb"), "bad_signature", "became CR LF");
    assert_found(&changed_body(b"a\r\nb", b"a\nb"), "bad_signature", "became LF");
}

#[test]
fn a_body_in_another_encoding_is_found() {
    assert_found(&changed_body("Zoë".as_bytes(), b"Zo\xeb"), "bad_signature", "became Latin-1");
    assert_found(&changed_body(b"Zo\xeb", "Zoë".as_bytes()), "bad_signature", "became UTF-8");
    let twice: String = "Zoë".bytes().map(char::from).collect();
    assert_found(&changed_body("Zoë".as_bytes(), twice.as_bytes()), "bad_signature", "a second time");
    assert_found(&changed_body(b"{}", b"\xef\xbb\xbf{}"), "bad_signature", "byte order mark");
}

#[test]
fn an_unpacked_body_is_found() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(BODY).unwrap();
    let packed = packer.finish().unwrap();
    assert_found(&changed_body(BODY, &packed), "bad_signature", "signed before compression");
    let mut request = Parts { body: BODY.to_vec(), ..sent(&github(), SECRET, &packed, URL) };
    request.headers.push((b"Content-Encoding".to_vec(), b"gzip".to_vec()));
    let diagnosis = examined(&settings(github(), SECRET), &request);
    assert!(diagnosis.reasons.iter().any(|reason| reason.contains("unpacked it")), "{diagnosis:?}");
}

fn address(signed: &str, relay: &str, target: &str, headers: &[(&str, &str)]) -> Diagnosis {
    let mut request = sent(&json!("square"), SECRET, BODY, signed);
    request.target = target.into();
    request.headers.extend(headers.iter().map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())));
    let settings = Settings { base_url: Some(relay.into()), ..settings(json!("square"), SECRET) };
    examined(&settings, &request)
}

#[test]
fn an_address_changed_by_a_proxy_is_found() {
    let relay = "https://relay.example";
    assert_found(
        &address("http://relay.example/in", relay, "/in", &[]),
        "bad_signature",
        "with http, not https",
    );
    assert_found(
        &address("https://relay.example/in/", relay, "/in", &[]),
        "bad_signature",
        "slash at the end",
    );
    let by_host = address("https://hooks.example/in", relay, "/in", &[("X-Forwarded-Host", "hooks.example")]);
    assert_found(&by_host, "bad_signature", "headers speak of");
    for (signed, header) in [
        ("https://hooks.example/in", ("Forwarded", "for=192.0.2.1;proto=https;host=\"hooks.example\"")),
        ("https://relay.example/given/in", ("X-Forwarded-Prefix", "/given")),
        ("https://relay.example/given?a=1", ("X-Original-URI", "/given?a=1")),
    ] {
        assert_found(&address(signed, relay, "/in", &[header]), "bad_signature", "headers speak of");
    }
    let port = address("https://relay.example:443/in", relay, "/in", &[]);
    assert_found(&port, "bad_signature", "its port written out");
    let stripped = address("https://relay.example/in", relay, "/prefix/in", &[]);
    assert_found(&stripped, "bad_signature", "first parts of its path");
    let queried = address("https://relay.example/in", relay, "/in?added=1", &[]);
    assert_found(&queried, "bad_signature", "without the query");
}

/// An address without a path, in letters that are no ASCII.
#[test]
fn an_address_may_be_nothing_but_a_host() {
    let short = json!({"preset": "square", "url": "https://relä"});
    let request = sent(&json!("square"), SECRET, BODY, "http://relä");
    assert_found(&examined(&settings(short, SECRET), &request), "bad_signature", "with http, not https");
    let prefixed = json!({"preset": "square", "url": "https://relay.example"});
    let mut request = sent(&json!("square"), SECRET, BODY, "https://relay.example/given");
    request.headers.push((b"X-Original-URI".to_vec(), b"/given".to_vec()));
    assert_found(&examined(&settings(prefixed, SECRET), &request), "bad_signature", "headers speak of");
}

#[test]
fn the_address_that_a_verifier_names_is_the_one_that_is_compared() {
    let own = json!({"preset": "square", "url": "https://own.example/hooks"});
    let request = sent(&json!("square"), SECRET, BODY, "https://own.example/hooks/");
    let diagnosis = examined(&settings(own, SECRET), &request);
    assert_found(&diagnosis, "bad_signature", "slash at the end");
    assert!(diagnosis.reasons[0].contains("verifier's `url`"), "{diagnosis:?}");
}
