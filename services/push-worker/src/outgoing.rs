//! The request that goes out: the stored bytes and headers, less what belongs to the connection they came on, plus
//! the relay's own.

use crate::signing::{self, Signing};
use hooks_shared::Secret;
use hooks_shared::event::{Event, Header};
use hooks_shared::hop::passed_on;
use hooks_shared::http1::{Request, target_of};
use hooks_shared::verify::Message;
use time::OffsetDateTime;
use url::Url;

const CREDENTIALS: [&str; 2] = ["cookie", "authorization"];
/// A provider's signature in the standard form; a fresh one replaces it.
const STANDARD: [&str; 6] =
    ["webhook-id", "webhook-timestamp", "webhook-signature", "svix-id", "svix-timestamp", "svix-signature"];

/// What of a subscription shapes its requests.
#[derive(Debug, Clone)]
pub struct Shape {
    pub signing: Signing,
    /// Newest first; two during a rotation.
    pub secrets: Vec<Secret>,
    pub preserve_method: bool,
    pub forward_credentials: bool,
    /// Headers of this event's source that hold a credential.
    pub credential_headers: Vec<String>,
}

/// Which attempt of which delivery it is.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    pub delivery: &'a str,
    /// Of the delivery's whole life, from 1. A late attempt of somebody else may take the number first; the history
    /// is numbered when it is recorded.
    pub attempt: i32,
    pub replay: bool,
}

/// A request ready to be sent.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Where it goes. The request's own target can differ in its query.
    pub url: Url,
    pub request: Request,
}

/// Builds the request. The error says which part cannot be sent, and holds no value.
pub fn build(
    url: &Url,
    shape: &Shape,
    event: &Event,
    label: Label<'_>,
    now: OffsetDateTime,
) -> Result<Outgoing, String> {
    let mut request = Request {
        method: if shape.preserve_method { event.method.clone() } else { "POST".to_owned() },
        target: target_of(url),
        headers: stored_headers(shape, event),
        body: event.body.clone(),
    };
    sign(&mut request, url, shape, event, now)?;
    set_own(&mut request, event, label);
    let value =
        signing::hooks_signature(&shape.secrets, now.unix_timestamp(), &event.event_id, &request.body);
    request.set("X-Hooks-Signature", &value);
    request.check()?;
    Ok(Outgoing { url: url.clone(), request })
}

fn set_own(request: &mut Request, event: &Event, label: Label<'_>) {
    request.set("X-Hooks-Source", &event.source);
    request.set("X-Hooks-Sequence", &event.sequence.to_string());
    request.set("X-Hooks-Delivery-Id", event.delivery_id());
    request.set("X-Hooks-Event-Id", &event.event_id);
    request.set("X-Hooks-Push-Id", label.delivery);
    request.set("X-Hooks-Attempt", &label.attempt.to_string());
    if label.replay {
        request.set("X-Hooks-Replay", "1");
    }
    if !request.has("User-Agent") {
        request.add("User-Agent", concat!("hooks/", env!("CARGO_PKG_VERSION")));
    }
}

fn sign(
    request: &mut Request,
    url: &Url,
    shape: &Shape,
    event: &Event,
    now: OffsetDateTime,
) -> Result<(), String> {
    match &shape.signing {
        Signing::Hooks => {}
        Signing::StandardWebhooks => {
            for name in STANDARD {
                request.remove(name);
            }
            let unix = now.unix_timestamp();
            let value = signing::standard_signature(&shape.secrets, unix, &event.event_id, &request.body);
            request.set("Webhook-Id", &event.event_id);
            request.set("Webhook-Timestamp", &unix.to_string());
            request.set("Webhook-Signature", &value);
        }
        Signing::Preset(signer) => {
            let message = Message {
                method: &request.method,
                url: url.as_str(),
                body: &request.body,
                id: &event.event_id,
                event_type: event.event_type.as_deref(),
                now,
            };
            let signed = signer.sign(&message)?;
            request.take(signed, url);
        }
    }
    Ok(())
}

/// The stored headers that go out, spelled and ordered as they came.
fn stored_headers(shape: &Shape, event: &Event) -> Vec<Header> {
    let goes = |name: &[u8]| shape.forward_credentials || !is_credential(name, shape);
    passed_on(&event.headers).filter(|(name, _)| goes(name)).cloned().collect()
}

fn is_credential(name: &[u8], shape: &Shape) -> bool {
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    CREDENTIALS.into_iter().any(is) || shape.credential_headers.iter().any(|known| is(known))
}

/// Scheme, host, port and path, for the history: no query, no user, bounded.
pub fn without_query(url: &str) -> String {
    let shown = match Url::parse(url) {
        Ok(mut url) => {
            url.set_query(None);
            url.set_fragment(None);
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.to_string()
        }
        Err(_) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
    };
    shown.chars().filter(|c| !c.is_control()).take(2000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2026-05-09 14:00 UTC);

    fn event(headers: &[(&str, &str)]) -> Event {
        Event {
            source: "render".into(),
            sequence: 7,
            received_at: NOW,
            event_id: "evt_1".into(),
            provider_id: Some("msg_1".into()),
            event_type: None,
            provider_timestamp: None,
            method: "PUT".into(),
            target: b"/ingest/render".to_vec(),
            headers: headers.iter().map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())).collect(),
            exact: true,
            remote_addr: None,
            body: bytes::Bytes::from_static(b"{}"),
            body_sha256: Vec::new(),
        }
    }

    fn shape() -> Shape {
        Shape {
            signing: Signing::Hooks,
            secrets: vec![Secret::new("s")],
            preserve_method: false,
            forward_credentials: false,
            credential_headers: Vec::new(),
        }
    }

    fn built(shape: &Shape, event: &Event) -> Result<Outgoing, String> {
        let url = Url::parse("https://example.com/in?x=1").expect("a URL");
        build(&url, shape, event, Label { delivery: "dlv_1", attempt: 2, replay: false }, NOW)
    }

    fn text<'a>(outgoing: &'a Outgoing, name: &str) -> Vec<&'a str> {
        let headers = outgoing.request.headers.iter();
        let named = headers.filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| std::str::from_utf8(value).expect("text")).collect()
    }

    #[test]
    fn stored_headers_go_out_less_those_of_the_connection() {
        let event = event(&[
            ("Host", "relay"),
            ("Connection", "close, X-Hop"),
            ("X-Hop", "1"),
            ("Content-Length", "9"),
            ("Accept-Encoding", "gzip"),
            ("Proxy-Authorization", "x"),
            ("Cookie", "c"),
            ("Authorization", "a"),
            ("X-Hooks-Event-Id", "forged"),
            ("X-Twice", "1"),
            ("x-twice", "2"),
            ("Webhook-Id", "msg_1"),
            ("Content-Type", "application/json"),
        ]);
        let outgoing = built(&shape(), &event).expect("sendable");
        for gone in
            ["host", "connection", "x-hop", "content-length", "accept-encoding", "proxy-authorization"]
        {
            assert!(!outgoing.request.has(gone), "{gone}");
        }
        assert!(text(&outgoing, "cookie").is_empty() && text(&outgoing, "authorization").is_empty());
        assert_eq!(text(&outgoing, "x-twice"), ["1", "2"]);
        assert_eq!(text(&outgoing, "x-hooks-event-id"), ["evt_1"]);
        assert_eq!(text(&outgoing, "webhook-id"), ["msg_1"]);
        assert_eq!(outgoing.request.method, "POST");
        let sent: Vec<_> = outgoing.request.headers.iter().take(4).map(|(name, _)| &name[..]).collect();
        assert_eq!(
            sent,
            [&b"X-Twice"[..], b"x-twice", b"Webhook-Id", b"Content-Type"],
            "spelled as they came"
        );
        let shape = Shape { forward_credentials: true, preserve_method: true, ..shape() };
        let outgoing = built(&shape, &event).expect("sendable");
        assert_eq!((text(&outgoing, "cookie"), outgoing.request.method.as_str()), (vec!["c"], "PUT"));
    }

    #[test]
    fn the_relays_own_headers_are_set_once_each() {
        let outgoing = built(&shape(), &event(&[])).expect("sendable");
        for (name, value) in [
            ("x-hooks-source", "render"),
            ("x-hooks-sequence", "7"),
            ("x-hooks-delivery-id", "msg_1"),
            ("x-hooks-event-id", "evt_1"),
            ("x-hooks-push-id", "dlv_1"),
            ("x-hooks-attempt", "2"),
        ] {
            assert_eq!(text(&outgoing, name), [value]);
        }
        assert!(text(&outgoing, "x-hooks-replay").is_empty());
        assert!(text(&outgoing, "x-hooks-signature")[0].starts_with("t=1778335200,v1="));
    }

    #[test]
    fn a_standard_signature_replaces_the_providers() {
        let shape = Shape { signing: Signing::StandardWebhooks, ..shape() };
        let event =
            event(&[("webhook-id", "msg_1"), ("Svix-Signature", "v1,old"), ("webhook-signature", "v1,old")]);
        let outgoing = built(&shape, &event).expect("sendable");
        assert_eq!(text(&outgoing, "webhook-id"), ["evt_1"]);
        assert_eq!(text(&outgoing, "webhook-timestamp"), ["1778335200"]);
        assert!(
            text(&outgoing, "webhook-signature")[0].starts_with("v1,")
                && text(&outgoing, "svix-signature").is_empty()
        );
    }

    #[test]
    fn a_presets_signature_verifies_where_that_provider_is_expected() {
        use hooks_shared::verify::{self, Settings, Verdict, Verifier};
        let secret = Secret::new("a-secret-of-some-length");
        let signing = Signing::read("github", &secret).expect("a preset that can sign");
        let shape = Shape { signing, ..shape() };
        let outgoing = built(&shape, &event(&[("X-Hub-Signature-256", "sha256=old")])).expect("sendable");
        assert_eq!(text(&outgoing, "x-hub-signature-256").len(), 1);
        let settings = Settings { verifier: "github".into(), secrets: vec![secret], ..Settings::default() };
        let verifier = Verifier::compile(&settings).expect("compiles").verifier;
        let headers = outgoing.request.headers;
        let request = verify::Request {
            method: "POST",
            target: "/in?x=1",
            headers: &headers,
            body: &outgoing.request.body,
            remote_addr: None,
        };
        assert!(matches!(verifier.verify(&request, NOW), Verdict::Ok(_)), "{headers:?}");
        assert!(Signing::read("morse", &Secret::new("x")).is_err());
    }

    #[test]
    fn a_header_that_will_not_encode_is_named_but_not_shown() {
        let error = built(&shape(), &event(&[("X-Odd", "hunter2\u{1}")])).expect_err("unencodable");
        assert!(error.contains("X-Odd") && !error.contains("hunter2"), "{error}");
        assert!(built(&shape(), &event(&[("bad name", "x")])).is_err());
    }

    #[test]
    fn what_history_shows_of_a_url_has_no_query_and_no_user() {
        assert_eq!(without_query("https://u:p@example.com:8443/a?token=x#y"), "https://example.com:8443/a");
        assert_eq!(without_query("not a url?token=x"), "not a url");
    }
}
