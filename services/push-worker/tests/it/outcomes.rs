//! Conformance: what answers, silence and refusals lead to (services/push-worker/README.md, "Conformance").

use crate::rig::*;
use futures_util::future::BoxFuture;
use hooks_push_worker::claim::claim;
use hooks_push_worker::context::Cut;
use hooks_push_worker::outgoing::Outgoing;
use hooks_push_worker::seams::Seams;
use hooks_push_worker::sender::{Answer, SendError, Sender};
use hooks_shared::push::definition::NewSubscription;
use hooks_shared::push::destination::{Policy, Resolver};
use hooks_shared::push::subscriptions::{self, Desk};
use hooks_testkit::receiver::{Certificate, Receiver, Script};
use hooks_testkit::{port, until};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use tokio::time::Instant;

/// So long a first wait that no second attempt comes into a test on a busy machine.
const LONG_WAIT: &str = "retry: {schedule: [300s, 300s]}";

/// Due by that wait, give or take jitter and the time the test took.
fn is_due_by_the_long_wait(row: &Delivery) -> bool {
    (150.0..=331.0).contains(&row.due_in) && row.due_because == "schedule"
}

#[tokio::test]
async fn wk1_every_other_status_is_retried_by_the_schedule() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let statuses = [500, 502, 503, 408, 425, 429, 400, 401, 404, 301];
    let mut subscriptions = Vec::new();
    for status in statuses {
        let path = format!("/{status}");
        receiver.respond(&path, Script::status(status));
        subscriptions.push(rig.subscribe(&path, &receiver.url(&path)).await);
    }
    rig.events(1).await;
    let worker = rig.worker(LONG_WAIT).await;
    for subscription in &subscriptions {
        let (id, row) = rig.settled(subscription, "pending", 1).await;
        assert_eq!(row.counts(), ("pending", 1, 1));
        assert!(is_due_by_the_long_wait(&row), "{row:?}");
        assert_eq!(rig.history(&id).await, [(1, "http_error".into(), false)]);
    }
    worker.stop().await;
    assert_eq!(receiver.requests().len(), statuses.len());
}

#[tokio::test]
async fn wk2_silence_and_broken_links_are_retried() {
    let rig = Rig::new().await;
    let plain = Receiver::start().await;
    let tls = Receiver::start_tls(Certificate::self_signed(&["localhost"])).await;
    plain.respond("/hang", Script::hang());
    plain.respond("/drip", Script::status(200).drip(Duration::from_millis(200)));
    let cases = [
        ("hang", plain.url("/hang"), "timeout"),
        ("drip", plain.url("/drip"), "timeout"),
        ("refused", format!("http://127.0.0.1:{}/", port::free()), "network_error"),
        ("certificate", tls.url("/"), "network_error"),
        ("name", "http://no-such-name.invalid/".to_owned(), "network_error"),
    ];
    let mut all = Vec::new();
    for (name, url, outcome) in &cases {
        all.push((name, rig.subscribe(name, url).await, outcome));
    }
    rig.events(1).await;
    let worker =
        rig.worker("lease: 6s, attempt_timeout: 1s, connect_timeout: 500ms, margin: 1s, drain: 2s, retry: {schedule: [300s]}").await;
    for (name, subscription, outcome) in all {
        let (id, row) = rig.settled(&subscription, "pending", 1).await;
        assert_eq!(row.counts(), ("pending", 1, 1), "{name}");
        assert_eq!(rig.history(&id).await, [(1, (*outcome).into(), false)], "{name}");
        let text: String =
            rig.db.query_one("select error from attempts where delivery_id = $1", &[&id]).await.get(0);
        assert!(!text.is_empty() && !text.contains("http"), "{name}: {text}");
    }
    worker.stop().await;
}

#[tokio::test]
async fn wk3_after_a_2xx_the_body_does_not_matter() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond("/truncated", Script::status(200).body("x").truncated(100));
    receiver.respond("/undecodable", Script::status(200).header("Content-Encoding", "gzip").body("not gzip"));
    receiver.respond("/endless", Script::endless(vec![b'x'; 1024], Duration::from_millis(1)));
    let mut subscriptions = Vec::new();
    for path in ["/truncated", "/undecodable", "/endless"] {
        subscriptions.push((path, rig.subscribe(path, &receiver.url(path)).await));
    }
    rig.events(1).await;
    let worker = rig.worker("").await;
    for (path, subscription) in &subscriptions {
        let (_, row) = rig.settled(subscription, "delivered", 1).await;
        assert_eq!(row.counts(), ("delivered", 1, 1), "{path}");
    }
    worker.stop().await;
    assert_eq!(receiver.requests().len(), 3, "once each");
}

#[tokio::test]
async fn wk4_after_a_410_the_subscription_is_disabled_and_it_is_told() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    receiver.respond("/", Script::status(410));
    let subscription = rig.subscribe("gone", &receiver.url("/")).await;
    rig.events(1).await;
    let worker = rig.worker("").await;
    let (_, row) = rig.settled(&subscription, "failed", 1).await;
    assert_eq!(row.failure.as_deref(), Some("gone"));
    let operator = rig.operator().await;
    until(PATIENCE, "the subscription to be disabled", async || {
        let seen = subscriptions::show(&operator, &subscription).await.expect("there");
        let done = seen.state == "disabled" && seen.state_reason.as_deref() == Some("gone");
        if done { Ok(()) } else { Err(seen) }
    })
    .await;
    let told = until(PATIENCE, "two system events", async || {
        let rows = rig
            .db
            .query(
                "select event_type, convert_from(body, 'UTF8') from events where source = 'hooks.system'",
                &[],
            )
            .await;
        let mut told: Vec<(String, String)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        told.sort();
        if told.len() == 2 { Ok(told) } else { Err(told) }
    })
    .await;
    assert_eq!([told[0].0.as_str(), told[1].0.as_str()], ["delivery.failed", "subscription.disabled"]);
    assert!(
        told.iter().all(|(_, body)| body.contains(&subscription) && !body.contains("whsec_")),
        "{told:?}"
    );
    rig.events(1).await;
    subscriptions::resume(&operator, "tester", &subscription).await.expect("it can be enabled again");
    receiver.respond("/", Script::status(200));
    receiver.wait_for(2, PATIENCE).await;
    worker.stop().await;
}

#[tokio::test]
async fn wk5_what_the_receiver_asks_for_is_honoured_and_clamped() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let date = OffsetDateTime::now_utc() + Duration::from_secs(600);
    let date = date.format(&Rfc2822).expect("a date").replace("+0000", "GMT");
    let cases = [
        ("seconds", "120".to_owned(), 115.0..121.0, "retry_after"),
        ("date", date, 570.0..601.0, "retry_after"),
        ("absurd", "99999999".to_owned(), 86_390.0..86_401.0, "retry_after"),
        ("garbage", "soon".to_owned(), 0.5..5.6, "schedule"),
    ];
    let mut all = Vec::new();
    for (name, value, expected, because) in cases {
        let path = format!("/{name}");
        receiver.respond(&path, Script::status(503).header("Retry-After", value));
        all.push((rig.subscribe(name, &receiver.url(&path)).await, expected, because));
    }
    rig.events(1).await;
    let worker = rig.worker("").await;
    for (subscription, expected, because) in all {
        let (_, row) = rig.settled(&subscription, "pending", 1).await;
        assert!(expected.contains(&row.due_in) && row.due_because == because, "{expected:?}: {row:?}");
    }
    worker.stop().await;
}

#[tokio::test]
async fn wk6_a_redirect_is_not_followed() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    for status in [301, 302, 303, 307, 308] {
        let path = format!("/{status}");
        receiver.respond(&path, Script::status(status).header("Location", receiver.url("/good")));
        rig.subscribe(&path, &receiver.url(&path)).await;
    }
    rig.events(1).await;
    let worker = rig.worker(LONG_WAIT).await;
    receiver.wait_for(5, PATIENCE).await;
    until(PATIENCE, "five rescheduled", async || rig.count("pending").await == 5).await;
    worker.stop().await;
    assert!(receiver.requests_to("/good").is_empty());
}

/// Panics for one path.
struct Panicking(Arc<dyn Sender>);

impl Sender for Panicking {
    fn send<'a>(
        &'a self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
        cut: &'a Cut,
    ) -> BoxFuture<'a, Result<Answer, SendError>> {
        assert!(outgoing.url.path() != "/3", "a fault of the sender");
        self.0.send(outgoing, addresses, deadline, cut)
    }
}

#[tokio::test]
async fn wk7_one_target_that_panics_the_sender_is_alone_with_it() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let mut subscriptions = Vec::new();
    for n in 0..10 {
        subscriptions.push(rig.subscribe(&n.to_string(), &receiver.url(&format!("/{n}"))).await);
    }
    rig.events(1).await;
    let change = |seams: Seams| Seams { sender: Arc::new(Panicking(seams.sender.clone())), ..seams };
    let worker = rig.worker_with(LONG_WAIT, change).await;
    for (n, subscription) in subscriptions.iter().enumerate() {
        let state = if n == 3 { "pending" } else { "delivered" };
        let (id, row) = rig.settled(subscription, state, 1).await;
        assert_eq!(row.counts(), (state, 1, 1));
        if n == 3 {
            assert_eq!(rig.history(&id).await, [(1, "unsendable".into(), false)]);
        }
    }
    worker.stop().await;
}

#[tokio::test]
async fn wk7b_one_event_with_a_header_that_will_not_encode_is_alone_with_it() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let subscription = rig.subscribe("one", &receiver.url("/")).await;
    for n in 0..10 {
        let value = if n == 3 { "a\u{1}b" } else { "ab" };
        rig.event(b"{}", &[("X-Odd", value)]).await;
    }
    let worker = rig.worker(LONG_WAIT).await;
    until(PATIENCE, "nine delivered", async || rig.count("delivered").await == 9).await;
    let left = rig.db.query("select id from deliveries where state <> 'delivered'", &[]).await;
    let id: String = left[0].get(0);
    assert_eq!(rig.history(&id).await, [(1, "unsendable".into(), false)]);
    let shown = hooks_shared::push::deliveries::show(&rig.operator().await, &id).await.expect("there");
    let error = shown.attempt_history[0].error.clone().unwrap_or_default();
    assert!(shown.delivery.subscription_id == subscription && error.contains("X-Odd"), "{error}");
    worker.stop().await;
}

/// Counts what would have been connected to.
struct Counting(AtomicUsize);

impl Sender for Counting {
    fn send<'a>(
        &'a self,
        _: Outgoing,
        _: Vec<SocketAddr>,
        _: Instant,
        _: &'a Cut,
    ) -> BoxFuture<'a, Result<Answer, SendError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Answer { status: 200, retry_after: None, body: Default::default() }) })
    }
}

/// Answers look-ups in turn; the last answer repeats.
#[derive(Default)]
struct Names(Mutex<Vec<(String, Vec<Vec<IpAddr>>)>>);

impl Names {
    fn answer(self, name: &str, answers: &[&str]) -> Self {
        let answers = answers.iter().map(|one| vec![one.parse().expect("an address")]).rev().collect();
        self.0.lock().expect("no panic").push((name.to_owned(), answers));
        self
    }
}

impl Resolver for Names {
    fn lookup(&self, name: &str) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        let mut names = self.0.lock().expect("no panic");
        let known = names.iter_mut().find(|(known, _)| known == name);
        let answer = known.and_then(|(_, answers)| match answers.len() {
            0 => None,
            1 => answers.last().cloned(),
            _ => answers.pop(),
        });
        Box::pin(async move { answer.ok_or_else(|| "no such name".to_owned()) })
    }
}

#[tokio::test]
async fn ds1_no_spelling_of_an_inner_address_is_connected_to() {
    let rig = Rig::new().await;
    let hosts = [
        "inner.test",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[2002:7f00:1::1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "100.64.0.1",
        "10.0.0.1",
        "0.0.0.0",
        "flips.test",
    ];
    // Created while everything was allowed; what counts is the check at every send.
    let open = ["loopback", "private", "0.0.0.0/0", "::/0"].map(str::to_owned);
    let names = Arc::new(
        Names::default()
            .answer("inner.test", &["192.168.0.7"])
            .answer("flips.test", &["8.8.8.8", "10.1.1.1"]),
    );
    let desk = Desk { policy: Policy::parse(&open).expect("a policy"), resolver: names.clone(), ..desk() };
    let operator = rig.operator().await;
    let mut all = Vec::new();
    for host in hosts {
        let new = NewSubscription {
            start: hooks_shared::push::definition::Start::After(0),
            ..NewSubscription::new(host, SOURCE, &format!("http://{host}/"))
        };
        let made =
            subscriptions::create(&operator, &desk, &new).await.unwrap_or_else(|e| panic!("{host}: {e}"));
        all.push((host, made.subscription.id));
    }
    rig.events(1).await;
    let sender = Arc::new(Counting(AtomicUsize::new(0)));
    let mut config = rig.config(LONG_WAIT);
    config.push.allow_destinations.clear();
    let seams = |seams: Seams| Seams { sender: sender.clone(), resolver: names.clone(), ..seams };
    let worker = rig.start(config, seams).await;
    for (host, subscription) in &all {
        let (id, _) = rig.settled(subscription, "pending", 1).await;
        assert_eq!(rig.history(&id).await, [(1, "blocked".into(), false)], "{host}");
    }
    worker.stop().await;
    assert_eq!(sender.0.load(Ordering::SeqCst), 0, "nothing connects");
}

#[tokio::test]
async fn ds1b_creation_refuses_an_inner_destination_at_once() {
    let rig = Rig::new().await;
    let operator = rig.operator().await;
    let names = Names::default().answer("inner.test", &["192.168.0.7"]);
    let desk = Desk { policy: Policy::default(), resolver: Arc::new(names), ..desk() };
    for host in ["inner.test", "127.1", "169.254.169.254"] {
        let new = NewSubscription::new(host, SOURCE, &format!("http://{host}/"));
        let refused = subscriptions::create(&operator, &desk, &new).await.expect_err(host);
        assert!(refused.code() == "invalid_request" && refused.to_string().contains("url:"), "{refused}");
    }
}

#[tokio::test]
async fn a_request_carries_the_stored_bytes_and_fresh_signatures() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    let mut new = NewSubscription::new("one", SOURCE, &receiver.url("/in?x=1"));
    new.secret = Some("s3cret-example-of-16".into());
    rig.subscribe_with(new).await;
    let mut standard = NewSubscription::new("two", SOURCE, &receiver.url("/standard"));
    standard.signing = "standard_webhooks".into();
    rig.subscribe_with(standard).await;
    let body: Vec<u8> = (0..=255).collect();
    rig.event(
        &body,
        &[("Content-Type", "application/octet-stream"), ("webhook-id", "msg_1"), ("Cookie", "c")],
    )
    .await;
    let worker = rig.worker("").await;
    receiver.wait_for(2, PATIENCE).await;
    worker.stop().await;
    let plain = &receiver.requests_to("/in")[0];
    assert_eq!((plain.method(), plain.target(), &plain.body), ("POST", "/in?x=1", &body));
    assert_eq!((plain.header("webhook-id"), plain.header("cookie")), (Some("msg_1"), None));
    assert_eq!(plain.header("X-Hooks-Attempt"), Some("1"));
    let signature = plain.header("X-Hooks-Signature").expect("signed").to_owned();
    let event_id = plain.header("X-Hooks-Event-Id").expect("named").to_owned();
    let unix: i64 = signature["t=".len()..].split(',').next().expect("a time").parse().expect("a number");
    let secrets = [hooks_shared::Secret::new("s3cret-example-of-16")];
    assert_eq!(signature, hooks_push_worker::signing::hooks_signature(&secrets, unix, &event_id, &body));
    let standard = &receiver.requests_to("/standard")[0];
    assert_eq!(standard.header("webhook-id"), Some(event_id.as_str()));
    assert!(standard.header("webhook-signature").is_some_and(|value| value.starts_with("v1,")));
}

#[tokio::test]
async fn a_paused_source_holds_new_events_and_retries_until_it_goes_on() {
    let rig = Rig::new().await;
    let receiver = Receiver::start().await;
    rig.subscribe("held", &receiver.url("/")).await;
    rig.events(1).await;
    // One is due again, one has not been looked at yet.
    let session = rig.session().await;
    give_back(&session, &take(&session, 1).await).await;
    rig.events(1).await;
    let mut paused = ask(10);
    paused.paused_sources = vec![SOURCE.to_owned()];
    let held = claim(&session, &paused).await.expect("a claim");
    assert!(held.claims.is_empty(), "{:?}", held.claims);
    // A worker is told by its configuration.
    let mut config = rig.config("");
    for source in config.sources.values_mut() {
        source.paused = true;
    }
    let worker = rig.start(config, |seams| seams).await;
    worker.stop().await;
    assert_eq!((receiver.requests().len(), rig.count("delivered").await), (0, 0));
    let worker = rig.worker("").await;
    assert_eq!(receiver.wait_for(2, PATIENCE).await.len(), 2);
    until(PATIENCE, "both to be delivered", async || match rig.count("delivered").await {
        2 => Ok(()),
        count => Err(count),
    })
    .await;
    worker.stop().await;
}

#[tokio::test]
async fn a_configured_proxy_gets_the_whole_url_and_its_credentials() {
    let rig = Rig::new().await;
    let proxy = Receiver::start().await;
    let url = "http://127.0.0.1:9/in?x=1";
    let subscription = rig.subscribe("one", url).await;
    rig.events(1).await;
    let address = proxy.address();
    let worker = rig.worker(&format!("proxy: 'http://u:p@{address}'")).await;
    rig.settled(&subscription, "delivered", 1).await;
    worker.stop().await;
    let got = proxy.requests();
    assert_eq!(got[0].head.start_line, format!("POST {url} HTTP/1.1"));
    assert_eq!(got[0].header("host"), Some("127.0.0.1:9"));
    assert_eq!(got[0].header("proxy-authorization"), Some("Basic dTpw"));
}
