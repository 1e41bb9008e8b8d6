//! The original relay's routes, as its clients know them: what the README says of each is so.

use hooks_inspector::routes::table;

/// Served under the same method and path.
const KEPT: &[&str] = &[
    "GET /api/tokens",
    "POST /api/tokens",
    "PATCH /api/tokens/{id}",
    "POST /api/tokens/{id}/revoke",
    "POST /api/push-subscriptions",
    "GET /api/push-subscriptions",
    "GET /api/push-subscriptions/{id}",
    "PATCH /api/push-subscriptions/{id}",
    "DELETE /api/push-subscriptions/{id}",
    "POST /api/push-subscriptions/{id}/pause",
    "POST /api/push-subscriptions/{id}/resume",
    "POST /api/push-subscriptions/{id}/rotate-secret",
    "POST /api/push-subscriptions/{id}/test",
    "POST /api/auth/login",
    "POST /api/auth/logout",
    "POST /api/auth/signup",
    "POST /api/auth/device/start",
    "POST /api/auth/device/poll",
    "POST /api/auth/device/approve",
    "POST /api/auth/device/deny",
    "POST /api/invites",
    "GET /api/invites",
    "DELETE /api/invites/{code}",
    "GET /api/me",
    "PATCH /api/me",
    "GET /api/me/tokens",
    "POST /api/me/tokens",
    "POST /api/me/tokens/{id}/revoke",
    "GET /api/users",
    "GET /api/users/{id}",
    "PATCH /api/users/{id}",
    "POST /api/users/{id}/deactivate",
    "POST /api/users/{id}/reactivate",
    "POST /api/users/{id}/reset-password",
    "GET /api/audit",
    "GET /",
    "GET /events/{source}/{sequence}",
    "POST /events/{source}/{sequence}/replay",
    "GET /tokens",
    "POST /tokens",
    "POST /tokens/{id}/revoke",
    "GET /push",
    "GET /me",
    "GET /users",
    "GET /audit",
    "GET /login",
    "POST /login",
    "GET /signup",
    "POST /signup",
    "GET /device",
    "POST /device",
];

/// Left out on purpose; the README says why.
const LEFT_OUT: &[&str] = &[
    "GET /logout",
    "GET /api/me/subscriptions",
    "POST /api/me/subscriptions",
    "GET /api/me/subscriptions/{id}",
    "DELETE /api/me/subscriptions/{id}",
    "POST /api/me/subscriptions/{id}/pause",
    "POST /api/me/subscriptions/{id}/resume",
    "POST /api/me/subscriptions/{id}/rotate-secret",
    "POST /api/me/subscriptions/{id}/test",
];

#[test]
fn what_is_said_to_be_kept_is_there_and_what_is_left_out_is_not() {
    let served: Vec<String> =
        table().iter().map(|route| format!("{} {}", route.method.as_str(), route.path)).collect();
    let is_served = |route: &&&str| served.iter().any(|known| known == **route);
    let missing: Vec<_> = KEPT.iter().filter(|route| !is_served(route)).collect();
    let present: Vec<_> = LEFT_OUT.iter().filter(is_served).collect();
    assert!(missing.is_empty() && present.is_empty(), "missing {missing:?}, there after all {present:?}");
}

/// Every original path is found in the README's table, in full or by the group it is told under.
#[test]
fn the_readme_tells_of_every_one() {
    let readme = include_str!("../../README.md");
    let (_, told) = readme.split_once("## The original relay's routes").expect("the section");
    for route in KEPT.iter().chain(LEFT_OUT) {
        let path = route.split(' ').nth(1).unwrap_or_default();
        let words =
            path.split('/').filter(|word| !word.is_empty() && !word.starts_with('{') && *word != "api");
        for word in words {
            assert!(told.contains(word), "{route}: `{word}` is not told of");
        }
    }
}
