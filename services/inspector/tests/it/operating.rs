//! What operators do on the pages, and what the pages tell them.

use crate::desk::{As, Browser, Desk, PASSWORD, Stored};
use hooks_inspector::store::statements;
use hooks_shared::event::encode_headers;
use serde_json::{Value, json};

const LOOPBACK: &str = "push: {allow_destinations: [loopback]}";

/// A subscription of `alpha` that is owed so many events, all of them due.
async fn owing(desk: &Desk, ada: &Browser, events: usize) -> String {
    desk.store("alpha", "1 hour", &vec![Stored { body: b"{}", ..Stored::default() }; events]).await;
    let fields = [("source", "alpha"), ("url", "http://127.0.0.1:9/?key=s3cret"), ("name", "ci")];
    let made = desk.form(Some(ada), "/push", &fields).await;
    assert_eq!(made.status, 200, "{}", made.text());
    for n in 1..=events {
        let again = desk.form(Some(ada), &format!("/events/alpha/{n}/replay"), &[("to", "all")]).await;
        assert_eq!(again.status, 303, "{}", again.text());
    }
    desk.db.query_one("select id from push_subscriptions", &[]).await.get(0)
}

async fn states(desk: &Desk) -> Vec<String> {
    let rows = desk.db.query("select state from deliveries order by sequence", &[]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn pending_deliveries_are_cancelled_chosen_or_by_filter_after_a_plan() {
    let desk = Desk::open_with(LOOPBACK).await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let subscription = owing(&desk, &ada, 4).await;
    let list = desk.get(As::Browser(&ada), "/deliveries").await.text();
    assert!(list.contains("Cancel the chosen pending ones") && list.contains("ci"), "{list}");
    let first: String = desk.db.query_one("select id from deliveries where sequence = 1", &[]).await.get(0);
    desk.db
        .execute(
            "update deliveries set state = 'failed', failure = 'exhausted', completed_at = now() where sequence = 2",
            &[],
        )
        .await;
    let second: String = desk.db.query_one("select id from deliveries where sequence = 2", &[]).await.get(0);
    // What is not pending any more is passed over.
    let chosen = [("id", first.as_str()), ("id", second.as_str()), ("go", "1")];
    let done = desk.form(Some(&ada), "/deliveries/cancel", &chosen).await;
    assert_eq!(done.header("location"), Some("/deliveries?done=cancelled&n=1"), "{}", done.text());
    assert_eq!(states(&desk).await, ["cancelled", "failed", "pending", "pending"]);
    let told = desk.get(As::Browser(&ada), "/deliveries?done=cancelled&n=1").await.text();
    assert!(told.contains("Cancelled: 1 delivery."), "{told}");

    let admin = desk.admin_token().await;
    let wish = serde_json::json!({"subscription": subscription, "dry_run": true});
    let planned = desk.call(As::Token(&admin), "POST", "/api/deliveries/cancel", wish).await.json();
    assert_eq!(planned, serde_json::json!({"cancelled": 2, "dry_run": true}));
    let plan = desk.form(Some(&ada), "/deliveries/cancel", &[("subscription", &subscription)]).await;
    assert!(plan.text().contains("Cancel 2"), "{}", plan.text());
    assert_eq!(states(&desk).await, ["cancelled", "failed", "pending", "pending"], "a plan changes nothing");
    let go = [("subscription", subscription.as_str()), ("go", "1"), ("all", "1")];
    let done = desk.form(Some(&ada), "/deliveries/cancel", &go).await;
    assert_eq!(done.header("location"), Some("/deliveries?done=cancelled&n=2"));
    assert_eq!(states(&desk).await, ["cancelled", "failed", "cancelled", "cancelled"]);
    assert_eq!(desk.form(Some(&ada), "/deliveries/cancel", &[]).await.status, 400);
    let actions: Vec<String> = desk.audited().await.into_iter().map(|(action, _)| action).collect();
    for action in ["delivery.cancel", "delivery.cancel_many"] {
        assert!(actions.iter().any(|known| known == action), "{actions:?}");
    }
}

#[tokio::test]
async fn a_subscription_tells_why_it_does_not_move_and_is_changed() {
    let desk = Desk::open_with(LOOPBACK).await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let id = owing(&desk, &ada, 1).await;
    let page = format!("/push/{id}");
    for path in [page.as_str(), "/deliveries", "/push"] {
        let text = desk.get(As::Browser(&ada), path).await.text();
        assert!(text.contains("no push-worker has spoken in the last 30 s; 1 owed"), "{path}: {text}");
        assert!(!text.contains("s3cret"), "{path}");
    }
    let standing =
        desk.get(As::Browser(&ada), &format!("/api/push-subscriptions/{id}/standing")).await.json();
    assert_eq!((&standing["owed"], &standing["attempts"]), (&1.into(), &0.into()), "{standing}");
    assert!(standing["why"].as_str().is_some_and(|why| why.starts_with("no push-worker")), "{standing}");
    let paused = desk.form(Some(&ada), &format!("{page}/pause"), &[("reason", "a move")]).await;
    assert_eq!(paused.status, 303);
    let text = desk.get(As::Browser(&ada), &page).await.text();
    assert!(text.contains("the subscription is paused by ada@example.com: a move; 1 owed"), "{text}");
    let change = [
        ("name", "renamed"),
        ("url", ""),
        ("max_in_flight", "3"),
        ("rate", "2.5"),
        ("ordered", "true"),
        ("signing", "hooks"),
    ];
    let changed = desk.form(Some(&ada), &format!("{page}/change"), &change).await;
    assert_eq!(
        changed.header("location"),
        Some(format!("{page}?done=changed").as_str()),
        "{}",
        changed.text()
    );
    let row = desk
        .db
        .query_one("select name, url, max_in_flight, rate, ordered from push_subscriptions", &[])
        .await;
    assert_eq!((row.get::<_, String>(0).as_str(), row.get::<_, i32>(2), row.get(4)), ("renamed", 3, true));
    assert_eq!(
        (row.get::<_, String>(1).as_str(), row.get(3)),
        ("http://127.0.0.1:9/?key=s3cret", Some(2.5_f32))
    );
    let elsewhere = [("rate", ""), ("url", "http://127.0.0.1:9/new?key=s3cret")];
    desk.form(Some(&ada), &format!("{page}/change"), &elsewhere).await;
    let audit = desk.get(As::Browser(&ada), "/audit?action=push.update").await.text();
    assert!(audit.contains("http://127.0.0.1:9/new") && !audit.contains("s3cret"), "{audit}");
    let rate: Option<f32> = desk.db.query_one("select rate from push_subscriptions", &[]).await.get(0);
    assert_eq!(rate, None);
    let wrong = desk.form(Some(&ada), &format!("{page}/change"), &[("rate", "fast")]).await;
    assert!(wrong.status == 400 && wrong.text().contains("rate"), "{}", wrong.text());
}

#[tokio::test]
async fn a_refused_request_is_explained_to_administrators_only() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let mem = desk.person("member", "mem@example.com", &["alpha"]).await;
    let headers = encode_headers(&[(b"X-<b>".to_vec(), b"<script>alert(1)</script>".to_vec())]);
    desk.db
        .execute(
            "insert into rejected_requests (source, verdict, status, certain, reasons, method, target, headers, \
             remote_addr, body, body_bytes) values ('alpha', 'bad_signature', 401, true, \
             '{the secret ends in a newline,second}', 'POST', '/ingest/alpha?token=s3cret', $1, '192.0.2.7', \
             '<script>alert(2)</script>', 70000)",
            &[&headers],
        )
        .await;
    let id: i64 = desk.db.query_one("select id from rejected_requests", &[]).await.get(0);
    let list = desk.get(As::Browser(&ada), "/sources/alpha").await.text();
    assert!(list.contains("The secret ends in a newline.") && list.contains("proved"), "{list}");
    let path = format!("/sources/alpha/rejected/{id}");
    let shown = desk.get(As::Browser(&ada), &path).await;
    let text = shown.text();
    assert!(text.contains("Second.") && text.contains("192.0.2.7") && text.contains("The first"), "{text}");
    assert!(!text.contains("<script>alert") && !text.contains("s3cret"), "{text}");
    assert_eq!(desk.get(As::Browser(&mem), &path).await.status, 403);
    let members = desk.get(As::Browser(&mem), "/sources/alpha").await.text();
    assert!(!members.contains("newline") && !members.contains("Refused requests"), "{members}");
    assert_eq!(desk.get(As::Browser(&ada), &format!("/sources/beta/rejected/{id}")).await.status, 404);
}

#[tokio::test]
async fn the_first_visitor_is_told_how_and_the_next_signs_in() {
    let desk = Desk::open().await;
    let first = desk.get(As::Nobody, "/login").await.text();
    assert!(first.contains("hooksctl admin init") && !first.contains("name=\"password\""), "{first}");
    desk.person("admin", "ada@example.com", &[]).await;
    let next = desk.get(As::Nobody, "/login").await.text();
    assert!(!next.contains("Nobody has an account") && next.contains("name=\"password\""), "{next}");
    assert!(!next.contains(PASSWORD));
}

#[tokio::test]
async fn assets_are_kept_for_ever_under_the_hash_of_what_they_hold() {
    let desk = Desk::open().await;
    let page = desk.get(As::Nobody, "/login").await.text();
    let named: Vec<&str> = page.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert_eq!(named.len(), 4, "{named:?}");
    for path in &named {
        let asset = desk.get(As::Nobody, path).await;
        assert_eq!(asset.status, 200, "{path}");
        assert!(asset.header("cache-control").is_some_and(|value| value.contains("immutable")), "{path}");
        assert!(!asset.text().replace("http://www.w3.org/2000/svg", "").contains("http"), "{path}");
    }
    // A page of another build: what there is, not to be kept.
    let other = desk.get(As::Nobody, "/assets/style.0123456789abcdef.css").await;
    assert_eq!((other.status, other.header("cache-control")), (200, Some("no-cache")));
    for path in ["/assets/styles.css", "/assets/style.css.map", "/assets/style", "/assets/..css"] {
        assert_eq!(desk.get(As::Nobody, path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_overview_plots_refusals_and_the_health_of_workers() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    desk.store("alpha", "1 hour", &[Stored { body: b"{}", ..Stored::default() }]).await;
    let take = statements().into_iter().find(|sql| sql.name == "samples_take").expect("the statement");
    // One transaction, and so one minute.
    let happened = format!(
        "insert into rejected_requests (source, at, verdict, status, certain, reasons, method, target, headers, body, body_bytes)
         select 'alpha', date_trunc('minute', now()) - make_interval(secs => n), 'stale', 401, true, '{{}}', 'POST', '/', '', '', 0
         from unnest(array[1, 59, 61]) n;
         insert into service_instances (id, service, version, config_hash, started_at, seen_at)
         values (gen_random_uuid(), 'push-worker', '1', 'h', now(), now()),
             (gen_random_uuid(), 'push-worker', '1', 'h', now(), now() - interval '5 minutes');
         delete from samples;
         {}",
        take.text
    );
    desk.db.client().await.batch_execute(&happened).await.expect("a sample");
    let told = desk.get(As::Browser(&ada), "/api/overview").await.json();
    assert_eq!(told["refused_series"][0]["value"], 2.0, "{told}");
    assert_eq!(told["workers_series"][0]["value"], 1.0, "{told}");
    let page = desk.get(As::Browser(&ada), "/").await.text();
    for plot in ["Refused requests a minute: now ", "Push-workers alive: now 1, most 1"] {
        assert!(page.contains(plot), "{page}");
    }
}

#[tokio::test]
async fn a_secret_that_was_handed_over_is_told_of_and_never_shown() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    desk.db
        .execute("insert into captured_secrets (source, sealed) values ('alpha', 'sealed-bytes')", &[])
        .await;
    let bob = desk.person("member", "bob@example.com", &["alpha"]).await;
    let page = desk.get(As::Browser(&ada), "/sources/alpha").await.text();
    let action = "action=\"/sources/alpha/renew-secret\"";
    assert!(page.contains("only the first is taken") && page.contains(action), "{page}");
    assert!(!page.contains("sealed-bytes"), "{page}");
    let seen = desk.get(As::Browser(&bob), "/sources/alpha").await.text();
    assert!(seen.contains("only the first is taken") && !seen.contains(action), "{seen}");
}

#[tokio::test]
async fn an_administrator_lets_a_provider_hand_over_another_secret() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    let path = "/api/sources/alpha/renew-secret";
    // Where none was handed over, the first needs no leave.
    let none = desk.call(As::Browser(&ada), "POST", path, Value::Null).await;
    assert_eq!(none.status, 404, "{}", none.text());
    assert!(none.text().contains("handed none over"), "{}", none.text());
    desk.db
        .execute("insert into captured_secrets (source, sealed) values ('alpha', 'sealed-bytes')", &[])
        .await;
    let done = desk.call(As::Browser(&ada), "POST", path, Value::Null).await;
    assert_eq!((done.status, &done.json()["source"]), (200, &json!("alpha")), "{}", done.text());
    let row = desk
        .db
        .query_one(
            "select extract(epoch from renewable_until - clock_timestamp())::float8 / 60 as minutes, \
             to_char(renewable_until at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS') as until from captured_secrets",
            &[],
        )
        .await;
    let (minutes, until): (f64, String) = (row.get("minutes"), row.get("until"));
    assert!((9.0..=10.0).contains(&minutes), "{minutes}");
    assert!(
        done.json()["renewable_until"].as_str().is_some_and(|told| told.starts_with(&until)),
        "{}",
        done.text()
    );
    desk.db.execute("update captured_secrets set renewable_until = null", &[]).await;
    let form = desk.form(Some(&ada), "/sources/alpha/renew-secret", &[]).await;
    assert_eq!((form.status, form.header("location")), (303, Some("/sources/alpha?done=renewable")));
    let open = desk.get(As::Browser(&ada), "/sources/alpha?done=renewable").await.text();
    assert!(open.contains("is taken until") && open.contains("replaces the secret"), "{open}");
    let audited =
        desk.db.query("select actor, subject from audit where action = 'source.renew_secret'", &[]).await;
    let audited: Vec<(String, String)> = audited.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(audited, vec![("ada@example.com".to_owned(), "source:alpha".to_owned()); 2]);
}

/// Before there is a sample an hour old, what a source had is counted from its first event.
#[tokio::test]
async fn the_events_of_the_first_hour_are_all_counted() {
    let desk = Desk::open().await;
    let ada = desk.person("admin", "ada@example.com", &[]).await;
    desk.store("alpha", "10 minutes", &[Stored::default(); 3]).await;
    desk.store("beta", "90 minutes", &[Stored::default(); 3]).await;
    // The first sample comes after the events.
    let take = statements().into_iter().find(|sql| sql.name == "samples_take");
    let take = format!("delete from samples; {}", take.expect("the sampler's").text);
    desk.db.client().await.batch_execute(&take).await.expect("a sample");
    desk.store("beta", "1 minute", &[Stored::default(); 2]).await;
    let told = desk.get(As::Browser(&ada), "/api/sources").await.json();
    let last_hour = |name: &str| {
        let sources = told["sources"].as_array().expect("a list");
        sources.iter().find(|source| source["name"] == name).expect("the source")["last_hour"].clone()
    };
    assert_eq!((last_hour("alpha"), last_hour("beta")), (json!(3), json!(2)), "{told}");
}

#[tokio::test]
async fn the_address_for_the_provider_is_the_one_that_its_verifier_takes() {
    let verifier = "{preset: square, url: 'https://pub.example/in'}";
    let desk = Desk::open_with(&format!(
        "public_url: https://relay.example/\nsources:\n  own: {{verifier: {verifier}, public_url: 'https://o.example'}}\n  \
         below: {{verifier: github}}\n"
    ))
    .await;
    let admin = desk.admin_token().await;
    for (source, url) in [("own", "https://pub.example/in"), ("below", "https://relay.example/ingest/below")]
    {
        let one = desk.get(As::Token(&admin), &format!("/api/sources/{source}")).await.json();
        assert_eq!(one["url"], url, "{one}");
    }
}
