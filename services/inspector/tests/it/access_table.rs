//! Who may use which route, written down a second time: a route that is not here fails the test, and so does one that
//! opens further than it says here.

use hooks_inspector::access::Access;
use hooks_inspector::routes::table;
use std::collections::BTreeSet;

/// Anybody: what one needs before being somebody.
const PUBLIC: &[&str] = &[
    "POST /api/auth/login",
    "POST /api/auth/signup",
    "POST /api/auth/device/start",
    "POST /api/auth/device/poll",
    "GET /api/openapi.json",
    "GET /assets/{file}",
    "GET /login",
    "POST /login",
    "GET /signup",
    "POST /signup",
];

/// Somebody signed in in a browser.
const BROWSER: &[&str] = &[
    "POST /api/auth/logout",
    "POST /api/auth/device/approve",
    "POST /api/auth/device/deny",
    "POST /api/me/password",
    "POST /logout",
    "GET /device",
    "POST /device",
    "GET /me",
    "POST /me/tokens",
    "POST /me/tokens/{id}/revoke",
    "POST /me/password",
    "POST /me/sessions/{id}/end",
];

/// Somebody, in a browser or by a token of theirs for their account.
const PERSON: &[&str] = &[
    "GET /api/me",
    "PATCH /api/me",
    "GET /api/me/tokens",
    "POST /api/me/tokens",
    "POST /api/me/tokens/{id}/revoke",
    "GET /api/me/sessions",
    "DELETE /api/me/sessions/{id}",
];

/// Whoever may see a source; what they see is narrowed.
const READER: &[&str] = &[
    "GET /api/events",
    "GET /api/events/live",
    "GET /api/events/{source}/{sequence}",
    "GET /api/events/{source}/{sequence}/body",
    "POST /api/events/{source}/{sequence}/replay",
    "GET /api/sources",
    "GET /api/sources/{name}",
    "GET /api/listeners",
    "GET /api/overview",
    "GET /api/push-subscriptions",
    "GET /api/push-subscriptions/{id}",
    "GET /api/deliveries",
    "GET /api/deliveries/{id}",
    "GET /",
    "GET /events",
    "GET /events/live",
    "GET /events/{source}/{sequence}",
    "GET /events/{source}/{sequence}/body",
    "POST /events/{source}/{sequence}/replay",
    "GET /deliveries",
    "GET /deliveries/{id}",
    "GET /sources",
    "GET /sources/{name}",
    "GET /listeners",
    "GET /push",
    "GET /push/{id}",
    "GET /api/push-subscriptions/{id}/standing",
];

/// Administrators.
const ADMIN: &[&str] = &[
    "GET /api/tokens",
    "POST /api/tokens",
    "GET /api/tokens/{id}",
    "PATCH /api/tokens/{id}",
    "POST /api/tokens/{id}/revoke",
    "GET /api/users",
    "GET /api/users/{id}",
    "PATCH /api/users/{id}",
    "POST /api/users/{id}/deactivate",
    "POST /api/users/{id}/reactivate",
    "POST /api/users/{id}/reset-password",
    "GET /api/invites",
    "POST /api/invites",
    "DELETE /api/invites/{code}",
    "GET /api/audit",
    "GET /api/audit/export",
    "GET /api/sources/{source}/rejected",
    "GET /api/sources/{source}/rejected/{id}",
    "POST /api/sources/{source}/renew-secret",
    "POST /sources/{source}/renew-secret",
    "POST /api/push-subscriptions",
    "PATCH /api/push-subscriptions/{id}",
    "DELETE /api/push-subscriptions/{id}",
    "POST /api/push-subscriptions/{id}/pause",
    "POST /api/push-subscriptions/{id}/resume",
    "POST /api/push-subscriptions/{id}/rotate-secret",
    "POST /api/push-subscriptions/{id}/test",
    "POST /api/deliveries/replay",
    "POST /api/deliveries/cancel",
    "POST /api/deliveries/{id}/replay",
    "POST /api/deliveries/{id}/cancel",
    "POST /deliveries/replay",
    "POST /deliveries/{id}/replay",
    "POST /deliveries/{id}/cancel",
    "POST /push",
    "POST /push/{id}/pause",
    "POST /push/{id}/resume",
    "POST /push/{id}/test",
    "POST /push/{id}/rotate-secret",
    "POST /push/{id}/delete",
    "GET /tokens",
    "POST /tokens",
    "POST /tokens/{id}/revoke",
    "GET /users",
    "POST /users/invites",
    "POST /users/invites/{id}/revoke",
    "POST /users/{id}/change",
    "POST /users/{id}/deactivate",
    "POST /users/{id}/reactivate",
    "GET /audit",
    "GET /sources/{source}/rejected/{id}",
    "POST /deliveries/cancel",
    "POST /push/{id}/change",
];

#[test]
fn every_route_is_open_to_those_it_is_meant_for_and_nobody_else() {
    let meant = [
        (Access::Public, PUBLIC),
        (Access::Browser, BROWSER),
        (Access::Person, PERSON),
        (Access::Reader, READER),
        (Access::Admin, ADMIN),
    ];
    let meant: BTreeSet<String> = meant
        .iter()
        .flat_map(|(access, routes)| routes.iter().map(move |route| format!("{route} {access:?}")))
        .collect();
    let served: BTreeSet<String> = table()
        .iter()
        .map(|route| format!("{} {} {:?}", route.method.as_str(), route.path, route.access))
        .collect();
    let unplaced: Vec<_> = served.difference(&meant).collect();
    let gone: Vec<_> = meant.difference(&served).collect();
    assert!(
        unplaced.is_empty() && gone.is_empty(),
        "not placed here: {unplaced:#?}\nnot served so: {gone:#?}"
    );
}
