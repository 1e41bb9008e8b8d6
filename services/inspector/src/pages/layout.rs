//! What all pages have in common.

use crate::error::Error;
use crate::http::{Answer, Call, Incoming};
use crate::moment::Moment;
use crate::who::Who;
use maud::{DOCTYPE, Markup, html};
use time::OffsetDateTime;
use time::macros::format_description;

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
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/page.js" defer {}
            }
            body { a.skip href="#main" { "Skip to content" } (body) }
        }
    }
}

/// A page for somebody who is signed in.
pub fn page(call: &Call, title: &str, content: Markup) -> Answer {
    Answer::html(200, whole(call, title, content))
}

fn whole(call: &Call, title: &str, content: Markup) -> Markup {
    let here = &call.incoming.path;
    let is_here = |path: &str| here == path || path != "/" && here.starts_with(&format!("{path}/"));
    let admin = call.who.is_admin();
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
                (who(call))
            } }
            main id="main" { h1 { (title) } (notice(call)) (content) }
        },
    )
}

fn who(call: &Call) -> Markup {
    html! { div.who {
        @if let (Some(person), Some(_)) = (&call.who.person, &call.who.browser) {
            a href="/me" title=(person.email) { (person.name) }
            form.inline method="post" action="/logout" { (csrf(&call.who)) button.small { "Sign out" } }
        }
    } }
}

/// A page for somebody who is not signed in.
pub fn entrance(status: u16, title: &str, content: Markup) -> Answer {
    let body = html! { main.narrow id="main" { h1 { (title) } (content) } };
    Answer::html(status, document(title, body))
}

/// What went wrong, as a page.
pub fn failure(incoming: &Incoming, error: &Error) -> Answer {
    let content = html! {
        p.note.bad { (error) "." }
        p { a href="/" { "Overview" } " · " a href="/login" { "Sign in" } }
        p.faint { small { "request " code { (incoming.origin.request_id) } } }
    };
    entrance(error.status(), &title_of(error), content)
}

fn title_of(error: &Error) -> String {
    match error.status() {
        401 | 403 => "Not allowed".into(),
        404 => "Not there".into(),
        429 => "Too many tries".into(),
        500.. => "It did not work".into(),
        _ => "Cannot be done".into(),
    }
}

/// The hidden field that every form of a signed-in person has.
pub fn csrf(who: &Who) -> Markup {
    let token = who.browser.as_ref().map_or("", |browser| browser.csrf.as_str());
    html! { input type="hidden" name="csrf_token" value=(token); }
}

/// What was just done, told by a word in the address; only known words are shown.
fn notice(call: &Call) -> Markup {
    let text = match call.query.get("done") {
        Some("replayed") => "Sent again.",
        Some("cancelled") => "Cancelled.",
        Some("paused") => "Paused: nothing is sent until it is resumed.",
        Some("resumed") => "Resumed.",
        Some("deleted") => "Deleted; what it owed is cancelled.",
        Some("tested") => "A test event is on its way: this is its delivery.",
        Some("revoked") => "Revoked.",
        Some("changed") => "Changed.",
        Some("deactivated") => "Deactivated: sessions and tokens have ended.",
        Some("reactivated") => "Reactivated.",
        Some("approved") => "Confirmed. The command line gets its token now.",
        Some("denied") => "Refused.",
        _ => return html! {},
    };
    html! { p.note.good role="status" { (text) } }
}

/// An instant, to the second, UTC.
pub fn when(at: OffsetDateTime) -> Markup {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    let short = at.to_offset(time::UtcOffset::UTC).format(format).unwrap_or_default();
    let exact = Moment(at).to_string();
    html! { time datetime=(exact) title=(exact) { (short) } }
}

pub fn when_or(at: Option<OffsetDateTime>, otherwise: &str) -> Markup {
    match at {
        Some(at) => when(at),
        None => html! { span.faint { (otherwise) } },
    }
}

/// A state as a badge: by word and by colour.
pub fn badge(word: &str) -> Markup {
    let class = match word {
        "delivered" | "active" | "succeeded" | "alive" | "done" => "badge good",
        "failed" | "disabled" | "refused" | "gone" | "silent" => "badge bad",
        "pending" | "processing" | "paused" | "timeout" | "http_error" | "network_error" | "blocked" => {
            "badge wait"
        }
        _ => "badge",
    };
    html! { span class=(class) { (word.replace('_', " ")) } }
}

/// A number of bytes as people read it.
pub fn size(bytes: i64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// A span as people read it.
pub fn duration(seconds: f64) -> String {
    match seconds.max(0.0) as u64 {
        0..1 => format!("{:.0} ms", seconds.max(0.0) * 1000.0),
        s @ 1..120 => format!("{s} s"),
        s @ 120..7_200 => format!("{} min", s / 60),
        s @ 7_200..172_800 => format!("{} h", s / 3_600),
        s => format!("{} d", s / 86_400),
    }
}

/// The link to the next page of a list.
pub fn next_link(href: Option<&str>) -> Markup {
    html! { @if let Some(href) = href { p { a.button href=(href) rel="next" { "Older" } } } }
}

/// A choice of a filter.
pub fn choice(name: &str, label: &str, options: &[(&str, &str)], chosen: Option<&str>) -> Markup {
    html! { label { (label) select name=(name) {
        @for (value, text) in options {
            option value=(value) selected[chosen.unwrap_or_default() == *value] { (text) }
        }
    } } }
}

/// A choice among sources; the first is all of them.
pub fn source_choice(names: &[String], chosen: Option<&str>) -> Markup {
    html! { label { "Source" select name="source" {
        option value="" { "all" }
        @for name in names { option value=(name) selected[chosen == Some(name.as_str())] { (name) } }
    } } }
}
