//! What every page and every route of the API costs the database when there is a lot in it. The routes of the table are
//! walked over HTTP while the server tells the plan of each statement it runs, so a statement that is added later is
//! looked at too. Times are printed; what is asserted are pages, partitions and scans.

mod bounds;
mod load;
mod plans;
mod walk;

use crate::desk::{As, Browser, Desk};
use hooks_inspector::access::Access;
use hooks_inspector::routes::{Method, table};
use hooks_testkit::db::TestDb;
use hooks_testkit::until;
use plans::mark;
use serde_json::json;
use std::time::Duration;
use time::OffsetDateTime;
use walk::{Places, requests};

async fn places(desk: &Desk) -> Places {
    let text = async |sql: &str| desk.db.query_one(sql, &[]).await.get::<_, String>(0);
    Places {
        middle: text(
            "select to_char(date_trunc('hour', now() at time zone 'UTC') - interval '10 days', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
        )
        .await,
        failed_delivery: text("select min(id) from deliveries where state = 'failed'").await,
        pending_delivery: text(
            "select max(id) from deliveries where state = 'pending' and subscription_id = 'sub_replayed'",
        )
        .await,
        person: text("select min(id::text) from people where email = 'person7@example.com'").await,
        token: text("select min(id::text) from tokens where name = 'token 7'").await,
    }
}

struct Walker<'a> {
    desk: &'a Desk,
    log: tokio_postgres::Client,
}

impl Walker<'_> {
    async fn get(&self, who: &Browser, name: &str, path: &str) -> String {
        mark(&self.log, &format!("GET {path} as {name}")).await;
        let answer = self.desk.get(As::Browser(who), path).await;
        assert!(matches!(answer.status, 200 | 303 | 404), "GET {path}: {} {}", answer.status, answer.text());
        answer.text()
    }

    async fn send(&self, who: &Browser, method: &str, path: &str, body: serde_json::Value) -> String {
        mark(&self.log, &format!("{method} {path} {body}")).await;
        let answer = self.desk.call(As::Browser(who), method, path, body).await;
        assert!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.text());
        answer.text()
    }

    /// Follows the `next` links of a list of the API.
    async fn leaf_through(&self, who: &Browser, path: &str, pages: usize) {
        let mut path = path.to_owned();
        for _ in 0..pages {
            let answer: serde_json::Value =
                serde_json::from_str(&self.get(who, "admin", &path).await).expect("JSON");
            let Some(next) = answer["next"].as_str() else { return };
            path = next.to_owned();
        }
    }
}

#[tokio::test]
async fn pages_stay_cheap_with_a_million_events_and_half_a_million_deliveries() {
    let db = load::load().await;
    // The first sample is taken as the inspector starts, the next one later than the walk may last.
    mark(&db.client().await, "the start").await;
    let newest = async |db: &TestDb| {
        let newest = db.query_one("select max(at) from samples", &[]).await;
        newest.get::<_, OffsetDateTime>(0)
    };
    let before = newest(&db).await;
    let desk = Desk::on(db, "").await;
    until(Duration::from_secs(60), "the first sample", async || newest(&desk.db).await > before).await;
    let admin = desk.person("admin", "ada@example.com", &[]).await;
    let busy = desk.person("member", "busy@example.com", &["alpha"]).await;
    let quiet = desk.person("member", "quiet@example.com", &["theta"]).await;
    let places = places(&desk).await;
    let walker = Walker { desk: &desk, log: desk.db.client().await };
    for route in table().iter().filter(|route| route.method == Method::Get) {
        if route.media == ["text/event-stream"] {
            continue;
        }
        let paths = requests(route, &places)
            .unwrap_or_else(|| panic!("GET {}: say in walk.rs how it is asked", route.path));
        for path in paths {
            walker.get(&admin, "admin", &path).await;
            if route.access == Access::Reader && !route.is_page() {
                walker.get(&busy, "busy", &path).await;
                walker.get(&quiet, "quiet", &path).await;
            }
        }
    }
    for path in
        ["/api/events?limit=500", "/api/events?limit=500&source=alpha", "/api/events?type=star&limit=500"]
    {
        walker.leaf_through(&admin, path, 30).await;
    }
    let deep = format!("&limit=500&to={}", places.middle);
    for path in ["/api/events?", "/api/events?source=alpha", "/api/events?type=star"] {
        walker.leaf_through(&admin, &format!("{path}{deep}"), 5).await;
    }
    for path in [
        "/api/deliveries?limit=500",
        "/api/deliveries?subscription=sub_busy&limit=500",
        "/api/deliveries?state=cancelled",
        "/api/audit?outcome=refused",
        "/api/audit?limit=500",
    ] {
        walker.leaf_through(&admin, path, 5).await;
    }
    change(&walker, &admin, &places).await;
    mark(&walker.log, "the end").await;
    let requests = plans::read(desk.db.cluster());
    bounds::report(&requests);
    let failed = 44_000; // begin.sql says of how many one has.
    bounds::check(&requests, failed);
}

/// What operators do to a lot at once.
async fn change(walker: &Walker<'_>, admin: &Browser, places: &Places) {
    let plan = |filter: serde_json::Value| {
        let mut filter = filter;
        filter["dry_run"] = json!(true);
        filter
    };
    for filter in [
        json!({}),
        json!({"subscription": "sub_busy"}),
        json!({"subscription": "sub_down", "status": 503}),
        json!({"subscription": "sub_down", "status": 500}),
        json!({"source": "beta"}),
        json!({"from": places.middle}),
        json!({"ids": [places.failed_delivery]}),
    ] {
        walker.send(admin, "POST", "/api/deliveries/replay", plan(filter)).await;
    }
    walker
        .send(admin, "POST", "/api/deliveries/replay", json!({"subscription": "sub_down", "status": 503}))
        .await;
    for dry_run in [true, false] {
        let wish = json!({"subscription": "sub_replayed", "dry_run": dry_run});
        walker.send(admin, "POST", "/api/deliveries/cancel", wish).await;
    }
    let to = json!({"listeners": true, "push": "all"});
    walker.send(admin, "POST", "/api/events/alpha/300000/replay", to).await;
    let one = |id: &str, what: &str| format!("/api/deliveries/{id}/{what}");
    walker.send(admin, "POST", &one(&places.failed_delivery, "replay"), serde_json::Value::Null).await;
    walker.send(admin, "POST", &one(&places.failed_delivery, "cancel"), serde_json::Value::Null).await;
    walker.send(admin, "POST", "/api/push-subscriptions/sub_busy/test", serde_json::Value::Null).await;
    walker.send(admin, "DELETE", "/api/push-subscriptions/sub_paused", serde_json::Value::Null).await;
}
