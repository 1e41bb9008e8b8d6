//! Which requests are made, route by route: every filter and every way of paging that a route has.

use hooks_inspector::routes::{Method, Route};

/// What the fixture has, to be named in paths.
#[derive(Debug)]
pub struct Places {
    /// RFC 3339, ten days ago: the middle of the log.
    pub middle: String,
    pub failed_delivery: String,
    pub pending_delivery: String,
    pub person: String,
    pub token: String,
}

const LISTS_OF_EVENTS: &[&str] = &[
    "",
    "source=alpha",
    "source=theta",
    "source=hooks.system",
    "type=payment.made",
    "type=nothing-of-the-kind",
    "delivery_id=d-alpha-123456",
    "q=data.id = evt-delta-17",
    "q=data.id = evt-nowhere-1",
    "q=header.x-event = star",
    "q=header.x-event = star and data.kind = star and source = nothing",
    "q=data.kind?",
    "q=data.nothing?",
    "push=failed",
    "push=pending",
    "push=delivered",
    "push=none",
    "push=failed&source=gamma",
    "push=pending&source=theta",
    "to={middle}",
    "from={middle}",
    "from={middle}&to={middle}",
    "source=beta&to={middle}&push=delivered",
    "source=alpha&to={middle}&q=data.kind = ping",
];

const LISTS_OF_DELIVERIES: &[&str] = &[
    "",
    "state=pending",
    "state=processing",
    "state=delivered",
    "state=failed",
    "state=cancelled",
    "source=alpha",
    "source=gamma&state=failed",
    "source=theta",
    "source=theta&state=failed",
    "subscription=sub_busy",
    "subscription=sub_busy&state=failed",
    "subscription=sub_busy&state=processing",
    "subscription=sub_down&state=failed",
    "subscription=sub_replayed&state=pending",
    "subscription=sub_quiet&state=cancelled",
    "from={middle}",
    "to={middle}",
    "to={middle}&state=failed",
    "subscription=sub_busy&to={middle}",
    "subscription=sub_busy&from={middle}&to={middle}",
];

const AUDITS: &[&str] = &[
    "",
    "actor=rare",
    "actor=person7@example.com",
    "actor={person}",
    "action=token.create",
    "action=rare.action",
    "action=rare.",
    "action=nothing.",
    "target=rare:1",
    "target=token:77",
    "outcome=refused",
    "outcome=refused&actor=nobody",
    "since={middle}",
    "until={middle}",
    "since={middle}&until={middle}",
];

/// The requests for a route that reads; None where the walk does not know it.
pub fn requests(route: &Route, places: &Places) -> Option<Vec<String>> {
    assert_eq!(route.method, Method::Get);
    let path = route.path.strip_prefix("/api").unwrap_or(route.path);
    let queries = |all: &[&str]| Some(all.iter().map(|query| (*query).to_owned()).collect::<Vec<_>>());
    let once = |to: &str| Some(vec![route.path.replace("{id}", to)]);
    let known = match path {
        "/events" => queries(LISTS_OF_EVENTS),
        "/deliveries" => queries(LISTS_OF_DELIVERIES),
        "/audit" => queries(AUDITS),
        // The whole audit may be asked for; this is a part.
        "/audit/export" => {
            queries(&["action=rare.", "target=rare:1&format=jsonl", "since={middle}&until={middle}"])
        }
        "/" | "/overview" => queries(&["", "span=day"]),
        "/listeners" => queries(&["", "source=alpha"]),
        "/push-subscriptions" => queries(&["", "source=alpha", "include_paused=0"]),
        "/tokens" => queries(&["", "include_revoked=1", "owner=system", "owner={person}", "kind=pat"]),
        "/me/tokens" => queries(&["", "include_revoked=1"]),
        "/users" => queries(&["", "role=admin", "role=member"]),
        "/invites" => queries(&["", "consumed=true", "consumed=false"]),
        "/sources" | "/push" | "/me" | "/me/sessions" | "/login" | "/signup" | "/device"
        | "/openapi.json" => queries(&[""]),
        _ => None,
    };
    if let Some(known) = known {
        let address = |query: &String| match query.as_str() {
            "" => route.path.to_owned(),
            query => format!("{}?{}", route.path, escaped(&fill(query, places))),
        };
        return Some(known.iter().map(address).collect());
    }
    match path {
        "/events/{source}/{sequence}" | "/events/{source}/{sequence}/body" => {
            let events =
                [("alpha", 1), ("alpha", 300_000), ("alpha", 600_000), ("theta", 5), ("alpha", 9_999_999)];
            let address = |(source, sequence): (&str, i64)| {
                route.path.replace("{source}", source).replace("{sequence}", &sequence.to_string())
            };
            Some(events.map(address).to_vec())
        }
        "/deliveries/{id}" => Some(
            [&places.failed_delivery, &places.pending_delivery, "dlv_nothing"]
                .map(|id| route.path.replace("{id}", id))
                .to_vec(),
        ),
        "/push-subscriptions/{id}" | "/push-subscriptions/{id}/standing" | "/push/{id}" => Some(
            ["sub_busy", "sub_down", "sub_replayed", "sub_paused", "sub_ordered"]
                .map(|id| route.path.replace("{id}", id))
                .to_vec(),
        ),
        "/sources/{name}" => Some(["alpha", "theta"].map(|name| route.path.replace("{name}", name)).to_vec()),
        "/sources/{source}/rejected" => Some(vec![route.path.replace("{source}", "alpha")]),
        "/sources/{source}/rejected/{id}" => Some(
            ["latest", "1"].map(|id| route.path.replace("{source}", "alpha").replace("{id}", id)).to_vec(),
        ),
        "/assets/{file}" => Some(vec![route.path.replace("{file}", "style.css")]),
        "/tokens/{id}" => once(&places.token),
        "/users/{id}" => once(&places.person),
        _ => None,
    }
}

fn fill(query: &str, places: &Places) -> String {
    query.replace("{middle}", &places.middle).replace("{person}", &places.person)
}

/// Spaces and quotes as a URL has them.
fn escaped(query: &str) -> String {
    query.replace(' ', "%20")
}
