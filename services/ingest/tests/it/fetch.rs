//! Keys from providers over HTTPS, against a server that has the providers' names and a certificate that only these
//! tests trust; and a subscription at Amazon from its first message to its first event.

use crate::stage::PATIENCE;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hooks_ingest::app::{self, Running, Seams};
use hooks_ingest::fetch::HttpFetch;
use hooks_shared::config::{Service, parse};
use hooks_shared::verify::{Fetch, FetchRequest, KeyStore, Parts, Settings, Verifier, Wanted};
use hooks_testkit::db::TestDb;
use hooks_testkit::http::{RawResponse, exchange, request};
use hooks_testkit::receiver::{Certificate, Receiver, Script};
use hooks_testkit::until;
use rcgen::{CertificateParams, KeyPair};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;

const AMAZON: &str = "sns.eu-west-1.amazonaws.com";
const PLAID: &str = "production.plaid.com";
const NAMES: [&str; 2] = [AMAZON, PLAID];
const TOPIC: &str = "arn:aws:sns:eu-west-1:123456789012:orders";

/// A server that stands for every provider.
struct Providers {
    server: Receiver,
    pem: String,
}

impl Deref for Providers {
    type Target = Receiver;

    fn deref(&self) -> &Receiver {
        &self.server
    }
}

async fn providers() -> Providers {
    let certificate = Certificate::self_signed(&NAMES);
    let pem = certificate.pem();
    Providers { server: Receiver::start_tls(certificate).await, pem }
}

/// Finds providers at that server, and trusts it if `pem` is its certificate.
fn fetcher(server: &Receiver, pem: &str, time_out: Duration) -> HttpFetch {
    let root = reqwest::Certificate::from_pem(pem.as_bytes()).expect("a certificate");
    let hosts = [AMAZON, PLAID, "sns.other-name.amazonaws.com"];
    let builder = || {
        let builder = reqwest::Client::builder().tls_certs_only([root]);
        hosts.iter().fold(builder, |builder, host| builder.resolve(host, server.address()))
    };
    HttpFetch::over(builder, time_out).expect("a client")
}

fn trusting(server: &Providers) -> HttpFetch {
    fetcher(server, &server.pem, PATIENCE)
}

async fn get(fetch: &HttpFetch, url: String) -> Result<Vec<u8>, String> {
    fetch.fetch(FetchRequest { url, json: None }).await
}

fn at(host: &str, path: &str) -> String {
    format!("https://{host}{path}")
}

/// RSA, of which ring makes no keys; it signs nothing outside these tests.
const SIGNING_KEY: &[u8] = include_bytes!("signing_key.der");

fn signing_certificate() -> String {
    let key = KeyPair::try_from(SIGNING_KEY).expect("a key");
    let params = CertificateParams::new(vec![AMAZON.to_owned()]).expect("a name");
    params.self_signed(&key).expect("signed").pem()
}

#[tokio::test]
async fn an_answer_is_fetched_by_name_from_whom_it_is_trusted_to_be() {
    let server = providers().await;
    server.respond("/cert.pem", Script::status(200).body("the answer"));
    let fetch = trusting(&server);
    assert_eq!(get(&fetch, at(AMAZON, "/cert.pem")).await, Ok(b"the answer".to_vec()));
    let posted = FetchRequest { url: at(PLAID, "/cert.pem"), json: Some("{\"a\":1}".into()) };
    assert_eq!(fetch.fetch(posted).await, Ok(b"the answer".to_vec()));
    let requests = server.requests();
    assert_eq!((requests[0].method(), requests[0].header("host")), ("GET", Some(AMAZON)));
    assert_eq!((requests[1].method(), requests[1].json()), ("POST", json!({"a": 1})));
    assert_eq!(requests[1].header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn nothing_is_taken_from_a_server_that_cannot_prove_its_name() {
    let server = providers().await;
    server.respond_elsewhere(Script::status(200).body("not to be read"));
    let fetch = trusting(&server);
    assert!(
        get(&fetch, at("sns.other-name.amazonaws.com", "/")).await.is_err(),
        "a name it has no certificate for"
    );
    let stranger = Certificate::self_signed(&NAMES).pem();
    let distrusting = fetcher(&server, &stranger, PATIENCE);
    assert!(get(&distrusting, at(AMAZON, "/")).await.is_err(), "an authority that nobody trusts");
    let plain = Receiver::start().await;
    let unencrypted = format!("http://{AMAZON}:{}/", plain.address().port());
    assert!(get(&fetch, unencrypted).await.is_err(), "without TLS");
    assert!(server.requests().is_empty() && plain.requests().is_empty());
}

#[tokio::test]
async fn redirects_refusals_and_long_answers_are_errors_that_tell_no_address() {
    let server = providers().await;
    let fetch = trusting(&server);
    server.respond("/moved", Script::redirect(at(AMAZON, "/elsewhere")));
    server.respond("/gone", Script::status(404).body("no"));
    server.respond("/fits", Script::status(200).body(vec![b'x'; 64 * 1024]));
    server.respond("/long", Script::status(200).body(vec![b'x'; 64 * 1024 + 1]));
    server.respond("/endless", Script::endless("chunk of an answer", Duration::ZERO));
    server.respond("/broken", Script::close());
    for (path, words) in [
        ("/moved", "302"),
        ("/gone", "404"),
        ("/long", "too long"),
        ("/endless", "too long"),
        ("/broken", ""),
    ] {
        let error = get(&fetch, at(AMAZON, &format!("{path}?Token=s3cret"))).await.expect_err(path);
        assert!(error.contains(words) && !error.contains("s3cret"), "{path}: {error}");
    }
    assert_eq!(get(&fetch, at(AMAZON, "/fits")).await.map(|body| body.len()), Ok(64 * 1024));
    assert!(server.requests_to("/elsewhere").is_empty(), "the redirect was followed");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let server = providers().await;
    server.respond_elsewhere(Script::hang());
    let fetch = fetcher(&server, &server.pem, Duration::from_millis(300));
    assert!(get(&fetch, at(AMAZON, "/")).await.is_err());
    server.wait_for(1, PATIENCE).await;
}

fn sns(keys: &Arc<KeyStore>) -> Verifier {
    let settings = Settings {
        verifier: json!({"preset": "sns", "topic_arns": [TOPIC]}),
        keys: Some(keys.clone()),
        ..Settings::default()
    };
    Verifier::compile(&settings).expect("compiles").verifier
}

/// A message of Amazon's as it is sent: signed over the named fields in this order.
fn message(kind: &str, more: &[(&str, &str)], signed: &[&str]) -> Parts {
    let mut message = json!({
        "Type": kind,
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": TOPIC,
        "Message": "Zoë's order",
        "Timestamp": "2023-11-14T22:13:20.123Z",
        "SignatureVersion": "2",
        "SigningCertURL": at(AMAZON, "/SimpleNotificationService-1.pem"),
    });
    for (name, value) in more {
        message[name] = json!(value);
    }
    let text: String = signed
        .iter()
        .map(|name| format!("{name}\n{}\n", message[name].as_str().unwrap_or_default()))
        .collect();
    let key = RsaKeyPair::from_pkcs8(SIGNING_KEY).expect("a key");
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).expect("signed");
    message["Signature"] = json!(STANDARD.encode(&signature));
    Parts {
        method: "POST".into(),
        target: "/ingest/orders".into(),
        headers: vec![(b"Content-Type".to_vec(), b"text/plain; charset=UTF-8".to_vec())],
        body: message.to_string().into_bytes(),
        remote_addr: None,
    }
}

fn notification() -> Parts {
    message("Notification", &[], &["Message", "MessageId", "Timestamp", "TopicArn", "Type"])
}

fn confirmation(subscribe_url: &str) -> Parts {
    let more = [("Token", "t0ken"), ("SubscribeURL", subscribe_url)];
    let signed = ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
    message("SubscriptionConfirmation", &more, &signed)
}

const PEM: &str = "/SimpleNotificationService-1.pem";

#[tokio::test]
async fn a_certificate_is_fetched_once_a_day_and_outlives_an_outage() {
    let server = providers().await;
    server.respond(PEM, Script::status(200).body(signing_certificate()));
    let fetch = trusting(&server);
    let keys = Arc::new(KeyStore::new());
    let verifier = sns(&keys);
    let sent = notification();
    let now = OffsetDateTime::now_utc();
    assert_eq!(verifier.verify(&sent.request(), now).word(), "config_error");
    let wanted = verifier.wants(&sent.request()).expect("a certificate");
    assert_eq!(wanted, Wanted::Certificate { url: at(AMAZON, PEM) });
    for hours in [0, 1, 23] {
        keys.fill(&wanted, &fetch, now + time::Duration::hours(hours)).await;
        assert_eq!(verifier.verify(&sent.request(), now).word(), "ok");
    }
    assert_eq!(server.requests_to(PEM).len(), 1);
    server.respond(PEM, Script::status(503));
    keys.fill(&wanted, &fetch, now + time::Duration::hours(25)).await;
    assert_eq!(server.requests_to(PEM).len(), 2);
    assert_eq!(verifier.verify(&sent.request(), now).word(), "ok");
}

#[tokio::test]
async fn a_failure_is_remembered_for_a_minute() {
    let server = providers().await;
    for failure in [Script::status(500), Script::status(200).body("no certificate")] {
        let keys = Arc::new(KeyStore::new());
        let (verifier, sent, fetch) = (sns(&keys), notification(), trusting(&server));
        let wanted = verifier.wants(&sent.request()).expect("a certificate");
        let now = OffsetDateTime::now_utc();
        server.clear();
        server.respond(PEM, failure);
        for seconds in [0, 30, 59] {
            keys.fill(&wanted, &fetch, now + time::Duration::seconds(seconds)).await;
        }
        assert_eq!(server.requests_to(PEM).len(), 1);
        assert_eq!(verifier.verify(&sent.request(), now).word(), "config_error");
        server.respond(PEM, Script::status(200).body(signing_certificate()));
        keys.fill(&wanted, &fetch, now + time::Duration::seconds(61)).await;
        assert_eq!(verifier.verify(&sent.request(), now).word(), "ok");
    }
}

/// A key pair of P-256 and its public half as Plaid's API hands it out.
fn plaid_key() -> (EcdsaKeyPair, Value) {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
    let key =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).expect("a key");
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    let public = json!({
        "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "key-1",
        "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y), "created_at": 1, "expired_at": null,
    });
    (key, json!({"key": public, "request_id": "r"}))
}

#[tokio::test]
async fn a_key_of_plaid_is_asked_for_by_its_id_with_the_accounts_credentials() {
    let server = providers().await;
    let (key, answer) = plaid_key();
    let path = "/webhook_verification_key/get";
    server.respond(path, Script::status(200).body(answer.to_string()));
    let keys = Arc::new(KeyStore::new());
    let settings = Settings {
        verifier: json!({"preset": "plaid", "key_api": {"client_id": "the-client", "client_secret": "the-secret"}}),
        keys: Some(keys.clone()),
        ..Settings::default()
    };
    let verifier = Verifier::compile(&settings).expect("compiles").verifier;
    let now = OffsetDateTime::now_utc();
    let body = b"{\"webhook_type\":\"ITEM\"}";
    let claims =
        json!({"iat": now.unix_timestamp(), "request_body_sha256": hex::encode(Sha256::digest(body))});
    let header = json!({"alg": "ES256", "kid": "key-1", "typ": "JWT"});
    let input = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(header.to_string()),
        URL_SAFE_NO_PAD.encode(claims.to_string())
    );
    let signature = key.sign(&SystemRandom::new(), input.as_bytes()).expect("signed");
    let token = format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature));
    let sent = Parts {
        method: "POST".into(),
        target: "/".into(),
        headers: vec![(b"Plaid-Verification".to_vec(), token.into_bytes())],
        body: body.to_vec(),
        remote_addr: None,
    };
    assert_eq!(verifier.verify(&sent.request(), now).word(), "config_error");
    let wanted = verifier.wants(&sent.request()).expect("a key");
    keys.fill(&wanted, &trusting(&server), now).await;
    assert_eq!(verifier.verify(&sent.request(), now).word(), "ok");
    let asked = server.requests_to(path);
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (asked[0].header("host"), asked[0].json()),
        (Some(PLAID), json!({"client_id": "the-client", "secret": "the-secret", "key_id": "key-1"}))
    );
    let debug = format!("{wanted:?}");
    assert!(!debug.contains("the-secret"), "{debug}");
}

struct Subscribed {
    db: TestDb,
    running: Running,
}

impl Subscribed {
    /// Ingest with one source of Amazon's, whose keys come from `server`.
    async fn start(server: &Providers) -> Self {
        let db = TestDb::create().await;
        let text = format!(
            "database_url: {}\nsources:\n  orders: {{verifier: {{preset: aws_sns, topic_arns: ['{TOPIC}']}}}}\n",
            db.url_for("ingest")
        );
        let config =
            parse("hooks.yaml", &text, Path::new("."), Service::Ingest, &|_| None).expect("a good file");
        let seams = Seams { fetch: Some(Arc::new(trusting(server))), ..Seams::default() };
        let running = app::build(config, "127.0.0.1:0", "127.0.0.1:0", seams).await.expect("it starts");
        until(PATIENCE, "ingest to be ready", async || {
            let answer = exchange(running.admin_address, &request("GET", "/readyz", &[], b"")).await;
            if answer.status == 200 { Ok(()) } else { Err(answer.text()) }
        })
        .await;
        Self { db, running }
    }

    async fn post(&self, parts: &Parts) -> RawResponse {
        let headers = [("Content-Type", "text/plain; charset=UTF-8")];
        exchange(self.running.address, &request("POST", &parts.target, &headers, &parts.body)).await
    }

    async fn outcome_is(&self, wanted: &str) {
        let query = "select coalesce(string_agg(outcome, ';'), '') from handshakes where source = 'orders'";
        until(PATIENCE, &format!("a handshake {wanted}"), async || {
            let outcomes: String = self.db.query_one(query, &[]).await.get(0);
            if outcomes.contains(wanted) { Ok(()) } else { Err(outcomes) }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_confirmed_and_its_events_are_taken() {
    let server = providers().await;
    server.respond(PEM, Script::status(200).body(signing_certificate()));
    let subscribed = Subscribed::start(&server).await;
    let asked = subscribed.post(&confirmation(&at(AMAZON, "/?Action=ConfirmSubscription&Token=t0ken"))).await;
    assert_eq!((asked.status, asked.text()), (200, String::new()));
    subscribed.outcome_is("confirmed").await;
    let confirmed = server.requests_to("/");
    assert_eq!(confirmed.len(), 1);
    assert_eq!(confirmed[0].target(), "/?Action=ConfirmSubscription&Token=t0ken");
    assert_eq!(subscribed.post(&notification()).await.status, 200);
    let row =
        subscribed.db.query_one("select delivery_id, event_type, provider_timestamp from events", &[]).await;
    assert_eq!(row.get::<_, &str>("delivery_id"), "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324");
    assert_eq!(row.get::<_, &str>("event_type"), "Notification");
    assert_eq!(server.requests_to(PEM).len(), 1, "one certificate for both");
    subscribed.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_goes_to_amazon_only_and_says_when_it_failed() {
    let server = providers().await;
    server.respond(PEM, Script::status(200).body(signing_certificate()));
    server.respond("/", Script::status(403));
    let subscribed = Subscribed::start(&server).await;
    let elsewhere = subscribed.post(&confirmation(&format!("https://{PLAID}/?Token=t0ken"))).await;
    assert_eq!((elsewhere.status, elsewhere.text()), (401, "malformed\n".into()));
    subscribed.outcome_is("refused: SubscribeURL").await;
    assert_eq!(subscribed.post(&confirmation(&at(AMAZON, "/?Token=t0ken"))).await.status, 200);
    subscribed.outcome_is("not confirmed: it was answered with 403").await;
    let hosts: Vec<_> = server.requests_to("/").iter().map(|r| r.header("host").map(str::to_owned)).collect();
    assert_eq!(hosts, [Some(AMAZON.to_owned())]);
    let events: i64 = subscribed.db.query_one("select count(*) from events", &[]).await.get(0);
    assert_eq!(events, 0);
    subscribed.running.stop().await;
}
