//! The request that goes out: the stored bytes and headers, less what belongs to the connection they came on, plus
//! the relay's own.

use crate::signing::{self, Signing};
use bytes::Bytes;
use hooks_shared::Secret;
use hooks_shared::event::Event;
use hooks_shared::hop::passed_on;
use hooks_shared::verify::{Message, Signer};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
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
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Builds the request. The error says which part cannot be sent, and holds no value.
pub fn build(
    url: &Url,
    shape: &Shape,
    event: &Event,
    label: Label<'_>,
    now: OffsetDateTime,
) -> Result<Outgoing, String> {
    let method = match shape.preserve_method {
        true => Method::from_bytes(event.method.as_bytes())
            .map_err(|_| format!("the method {:?} cannot be sent", event.method))?,
        false => Method::POST,
    };
    let mut outgoing = Outgoing {
        method,
        url: url.clone(),
        headers: stored_headers(shape, event)?,
        body: event.body.clone(),
    };
    outgoing.sign(shape, event, now)?;
    outgoing.label(event, label)?;
    let value =
        signing::hooks_signature(&shape.secrets, now.unix_timestamp(), &event.event_id, &outgoing.body);
    outgoing.set("x-hooks-signature", &value)?;
    Ok(outgoing)
}

impl Outgoing {
    fn label(&mut self, event: &Event, label: Label<'_>) -> Result<(), String> {
        self.set("x-hooks-source", &event.source)?;
        self.set("x-hooks-sequence", &event.sequence.to_string())?;
        self.set("x-hooks-delivery-id", event.delivery_id())?;
        self.set("x-hooks-event-id", &event.event_id)?;
        self.set("x-hooks-push-id", label.delivery)?;
        self.set("x-hooks-attempt", &label.attempt.to_string())?;
        if label.replay {
            self.set("x-hooks-replay", "1")?;
        }
        if !self.headers.contains_key("user-agent") {
            self.set("user-agent", concat!("hooks/", env!("CARGO_PKG_VERSION")))?;
        }
        Ok(())
    }

    fn sign(&mut self, shape: &Shape, event: &Event, now: OffsetDateTime) -> Result<(), String> {
        match &shape.signing {
            Signing::Hooks => Ok(()),
            Signing::StandardWebhooks => {
                for name in STANDARD {
                    self.headers.remove(name);
                }
                let unix = now.unix_timestamp();
                let value = signing::standard_signature(&shape.secrets, unix, &event.event_id, &self.body);
                self.set("webhook-id", &event.event_id)?;
                self.set("webhook-timestamp", &unix.to_string())?;
                self.set("webhook-signature", &value)
            }
            Signing::Preset(signer) => self.sign_as_provider(signer, event, now),
        }
    }

    fn sign_as_provider(
        &mut self,
        signer: &Signer,
        event: &Event,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        let message = Message {
            method: self.method.as_str(),
            url: self.url.as_str(),
            body: &self.body,
            id: &event.event_id,
            event_type: event.event_type.as_deref(),
            now,
        };
        let signed = signer.sign(&message)?;
        for name in &signed.replaces {
            self.headers.remove(name.to_ascii_lowercase());
        }
        let defaults =
            signed.defaults.iter().filter(|(name, _)| !self.headers.contains_key(name.to_ascii_lowercase()));
        let all: Vec<_> = defaults.chain(&signed.headers).cloned().collect();
        for (name, value) in all {
            let encoded = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).ok();
            let (Some(name), Ok(value)) = (encoded, HeaderValue::from_bytes(value.as_bytes())) else {
                return Err(format!("the header {name} cannot be encoded"));
            };
            self.headers.insert(name, value);
        }
        if !signed.query.is_empty() {
            let names: Vec<&str> = signed.query.iter().map(|(name, _)| name.as_str()).collect();
            let kept: Vec<(String, String)> = self
                .url
                .query_pairs()
                .filter(|(name, _)| !names.contains(&&**name))
                .map(|(n, v)| (n.into(), v.into()))
                .collect();
            self.url.query_pairs_mut().clear().extend_pairs(kept.iter().chain(&signed.query));
        }
        if let Some(body) = signed.body {
            self.body = body.into();
        }
        Ok(())
    }

    fn set(&mut self, name: &'static str, value: &str) -> Result<(), String> {
        let value = HeaderValue::from_bytes(value.as_bytes())
            .map_err(|_| format!("the header {name} cannot be encoded"))?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(())
    }
}

fn stored_headers(shape: &Shape, event: &Event) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(event.headers.len() + 10);
    for (name, value) in passed_on(&event.headers) {
        let lower = name.to_ascii_lowercase();
        let text = String::from_utf8_lossy(&lower);
        if !shape.forward_credentials && is_credential(&text, shape) {
            continue;
        }
        let name = HeaderName::from_bytes(&lower)
            .map_err(|_| format!("the header name {text:?} cannot be encoded"))?;
        let value =
            HeaderValue::from_bytes(value).map_err(|_| format!("the header {text} cannot be encoded"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn is_credential(name: &str, shape: &Shape) -> bool {
    CREDENTIALS.contains(&name)
        || shape.credential_headers.iter().any(|given| given.eq_ignore_ascii_case(name))
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
            body: Bytes::from_static(b"{}"),
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
        outgoing.headers.get_all(name).iter().map(|v| v.to_str().expect("text")).collect()
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
            assert!(!outgoing.headers.contains_key(gone), "{gone}");
        }
        assert!(text(&outgoing, "cookie").is_empty() && text(&outgoing, "authorization").is_empty());
        assert_eq!(text(&outgoing, "x-twice"), ["1", "2"]);
        assert_eq!(text(&outgoing, "x-hooks-event-id"), ["evt_1"]);
        assert_eq!(text(&outgoing, "webhook-id"), ["msg_1"]);
        assert_eq!(outgoing.method, Method::POST);
        let shape = Shape { forward_credentials: true, preserve_method: true, ..shape() };
        let outgoing = built(&shape, &event).expect("sendable");
        assert_eq!((text(&outgoing, "cookie"), outgoing.method.as_str()), (vec!["c"], "PUT"));
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
        use hooks_shared::verify::{Request, Settings, Verdict, Verifier};
        let secret = Secret::new("a-secret-of-some-length");
        let signing = Signing::read("github", &secret).expect("a preset that can sign");
        let shape = Shape { signing, ..shape() };
        let outgoing = built(&shape, &event(&[("X-Hub-Signature-256", "sha256=old")])).expect("sendable");
        assert_eq!(text(&outgoing, "x-hub-signature-256").len(), 1);
        let settings = Settings { verifier: "github".into(), secrets: vec![secret], ..Settings::default() };
        let verifier = Verifier::compile(&settings).expect("compiles").verifier;
        let headers: Vec<(Vec<u8>, Vec<u8>)> = outgoing
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
            .collect();
        let request = Request {
            method: "POST",
            target: "/in?x=1",
            headers: &headers,
            body: &outgoing.body,
            remote_addr: None,
        };
        assert!(matches!(verifier.verify(&request, NOW), Verdict::Ok(_)), "{headers:?}");
        assert!(Signing::read("morse", &Secret::new("x")).is_err());
    }

    #[test]
    fn a_header_that_will_not_encode_is_named_but_not_shown() {
        let error = built(&shape(), &event(&[("X-Odd", "hunter2\u{1}")])).expect_err("unencodable");
        assert!(error.contains("x-odd") && !error.contains("hunter2"), "{error}");
        assert!(built(&shape(), &event(&[("bad name", "x")])).is_err());
    }

    #[test]
    fn what_history_shows_of_a_url_has_no_query_and_no_user() {
        assert_eq!(without_query("https://u:p@example.com:8443/a?token=x#y"), "https://example.com:8443/a");
        assert_eq!(without_query("not a url?token=x"), "not a url");
    }
}
