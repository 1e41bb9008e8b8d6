//! What all pages have in common.

use super::assets;
use super::words::grouped;
use crate::error::Error;
use crate::http::{Answer, Call, Incoming};
use crate::who::Who;
use maud::{DOCTYPE, Markup, html};

struct Link {
    path: &'static str,
    name: &'static str,
    admin: bool,
}

const LINKS: &[Link] = &[
    Link { path: "/", name: "Overview", admin: false },
    Link { path: "/events", name: "Events", admin: false },
    Link { path: "/deliveries", name: "Deliveries", admin: false },
    Link { path: "/sources", name: "Sources", admin: false },
    Link { path: "/listeners", name: "Listeners", admin: false },
    Link { path: "/push", name: "Push", admin: false },
    Link { path: "/tokens", name: "Tokens", admin: true },
    Link { path: "/users", name: "People", admin: true },
    Link { path: "/audit", name: "Audit", admin: true },
];

fn document(title: &str, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · hooks" }
                link rel="stylesheet" href=(assets::style_path());
                link rel="icon" type="image/svg+xml" href=(assets::icon_path());
                @for path in assets::script_paths() { script src=(path) defer {} }
            }
            body { a.skip href="#main" { "Skip to content" } (body) }
        }
    }
}

/// A page for somebody who is signed in.
pub fn page(call: &Call, title: &str, content: Markup) -> Answer {
    let inside = html! { h1 { (title) } (notice(call)) (content) };
    Answer::html(200, whole(&call.who, &call.incoming.path, title, inside))
}

/// A page about one thing of a list, with the way back to the list: its name and path.
pub fn detail(call: &Call, (list, path): (&str, &str), title: &str, content: Markup) -> Answer {
    let inside = html! {
        nav.crumbs aria-label="Back" { a href=(path) { "← " (list) } }
        h1 { (title) }
        (notice(call))
        (content)
    };
    Answer::html(200, whole(&call.who, &call.incoming.path, &format!("{title} · {list}"), inside))
}

fn whole(who: &Who, here: &str, title: &str, inside: Markup) -> Markup {
    let is_here = |path: &str| here == path || path != "/" && here.starts_with(&format!("{path}/"));
    let admin = who.is_admin();
    document(
        title,
        html! {
            header.top { div {
                a.brand href="/" { "hooks" }
                nav.main aria-label="Main" {
                    @for link in LINKS.iter().filter(|link| admin || !link.admin) {
                        a href=(link.path) aria-current=[is_here(link.path).then_some("page")] { (link.name) }
                    }
                }
                (account(who))
            } }
            main id="main" { (inside) }
        },
    )
}

fn account(who: &Who) -> Markup {
    html! { div.who {
        @if let (Some(person), Some(_)) = (&who.person, &who.browser) {
            a href="/me" title=(person.email) { (person.name) }
            form.inline method="post" action="/logout" { (csrf(who)) button.small { "Sign out" } }
        }
    } }
}

/// A page for somebody who is not signed in.
pub fn entrance(status: u16, title: &str, content: Markup) -> Answer {
    let body = html! { main.narrow id="main" { p.brand { "hooks" } h1 { (title) } (content) } };
    Answer::html(status, document(title, body))
}

/// What went wrong, as a page: with the menu, where it is known who asked.
pub fn failure(incoming: &Incoming, who: &Who, error: &Error) -> Answer {
    let title = title_of(error);
    let content = html! {
        p.note.bad role="alert" { (sentence(&error.to_string())) }
        div.buttons {
            a.button href="/" { "Overview" }
            @if matches!(error.status(), 401 | 403) && who.browser.is_none() { a.button href="/login" { "Sign in" } }
        }
        p.faint { "Request " code { (incoming.origin.request_id) } }
    };
    match who.browser {
        None => entrance(error.status(), title, content),
        Some(_) => {
            let inside = html! { h1 { (title) } (content) };
            Answer::html(error.status(), whole(who, &incoming.path, title, inside))
        }
    }
}

fn title_of(error: &Error) -> &'static str {
    match error.status() {
        401 | 403 => "Not allowed",
        404 => "Not found",
        429 => "Too many tries",
        503 => "Not at the moment",
        500.. => "It did not work",
        _ => "Cannot be done",
    }
}

/// A message as a sentence.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let mut out: String = first.chain(letters).collect();
    if !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}

/// The hidden field that every form of a signed-in person has.
pub fn csrf(who: &Who) -> Markup {
    let token = who.browser.as_ref().map_or("", |browser| browser.csrf.as_str());
    html! { input type="hidden" name="csrf_token" value=(token); }
}

/// What was just done, told by a word in the address; only known words are shown.
fn notice(call: &Call) -> Markup {
    let many = call.query.number("n", 0, i64::MAX).ok().flatten();
    let text = match call.query.get("done") {
        Some("replayed") => match many {
            Some(many) => return said(&format!("Sent again: {}.", counted(many))),
            None => "Sent again.",
        },
        Some("cancelled") => match many {
            Some(many) => return said(&format!("Cancelled: {}.", counted(many))),
            None => "Cancelled.",
        },
        Some("paused") => "Paused: nothing is sent until it is resumed.",
        Some("resumed") => "Resumed.",
        Some("deleted") => "Deleted; what it owed is cancelled.",
        Some("tested") => "A test event is on its way: this is its delivery.",
        Some("revoked") => "Revoked.",
        Some("changed") => "Changed.",
        Some("renewable") => "The next handshake of the provider replaces the secret.",
        Some("deactivated") => "Deactivated: sessions and tokens have ended.",
        Some("reactivated") => "Reactivated.",
        Some("approved") => "Confirmed. The command line gets its token now.",
        Some("denied") => "Refused.",
        _ => return html! {},
    };
    said(text)
}

fn said(text: &str) -> Markup {
    html! { p.note.good role="status" { (text) } }
}

fn counted(many: i64) -> String {
    format!("{} {}", grouped(many), if many == 1 { "delivery" } else { "deliveries" })
}
