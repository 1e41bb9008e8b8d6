//! Sources and who listens to them.

use super::fields::{button, copy};
use super::layout::{detail, page};
use super::plot::{self, Span, Unit};
use super::rejected;
use super::words::{badge, full, full_or, grouped, when, when_or};
use crate::api::sources::{Listener, SourceDetail, find, open_renewal, visible, visible_listeners};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::store;
use crate::store::sources::Captured;
use maud::{Markup, html};
use time::{Duration, OffsetDateTime};

pub const LIST: (&str, &str) = ("Sources", "/sources");

pub async fn list(call: Call) -> Result<Answer, Error> {
    let sources = visible(&call).await?;
    let content = html! { div.card.scroll { table.rows {
        thead { tr { th { "Source" } th { "Verifier" } th { "Last event" } th.num { "Last hour" } th.num { "Newest" } th.num { "Listeners" } th.num { "Push" } } }
        tbody {
            @for source in &sources { tr {
                td.lead {
                    a href=(format!("/sources/{}", encode(&source.name))) { (source.name) }
                    @if source.paused { " " (badge("paused")) }
                    @if !source.configured { " " span.badge { "not configured" } }
                }
                td { (source.verifier.as_deref().unwrap_or("–")) }
                td data-l="last" { (when_or(source.last_received_at.map(|at| at.0), "never")) }
                td.num data-l="last hour" { (source.last_hour.map_or("–".to_owned(), grouped)) }
                td.num data-l="#" { (source.last_sequence) }
                td.num data-l="listeners" { (source.listeners) }
                td.num data-l="push" { (source.push_subscriptions) }
            } }
            @if sources.is_empty() { tr { td.none colspan="7" { "None that you may see. An administrator can give you sources." } } }
        }
    } } };
    Ok(page(&call, LIST.0, content))
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let found = find(&call).await?;
    let name = found.source.name.clone();
    let listeners = visible_listeners(&call, Some(&name)).await?;
    let admin = call.who.is_admin();
    let db = call.session().await?;
    let captured = store::sources::captured(&db, &name).await?;
    let refused = if admin { Some(store::rejected::list(&db, &name).await?) } else { None };
    drop(db);
    let hour = call.query.get("span") == Some("hour");
    let span = Span::last(if hour { Duration::HOUR } else { Duration::DAY });
    let here = format!("/sources/{}", encode(&name));
    let content = html! {
        (facts(&found, &call))
        nav.buttons aria-label="Span" {
            span.group {
                a.button href=(format!("{here}?span=hour")) aria-current=[hour.then_some("true")] { "Last hour" }
                a.button href=(here) aria-current=[(!hour).then_some("true")] { "Last day" }
            }
            a.button href=(format!("/events?source={}", encode(&name))) { "Its events" }
        }
        (plot::line("Events a minute", &found.rate, Unit::Number, span))
        @if let Some(refused) = &refused { h2 { "Refused requests" } (rejected::table(&call, &name, refused)) }
        h2 { "Handshake" }
        (handshake(&call, &found, captured.as_ref()))
        h2 { "Listeners" }
        (listener_table(&listeners))
    };
    Ok(detail(&call, LIST, &name, content))
}

fn facts(found: &SourceDetail, call: &Call) -> Markup {
    let source = &found.source;
    let base = format!("{}/ingest/{}", "https://YOUR-PUBLIC-HOST", source.name);
    html! { div.card { dl.facts {
        dt { "URL for the provider" }
        dd { @match &source.url {
            Some(url) => { code id="url" { (url) } " " (copy("url")) },
            None if source.configured && call.state.config.sources.contains_key(&source.name) => {
                code { (base) } br; span.faint { "where ingest is reached from outside; with " code { "public_url" } " in hooks.yaml the whole address stands here" }
            },
            None => span.faint { "none: nothing is taken in under this name" },
        } }
        dt { "Verifier" } dd { (source.verifier.as_deref().unwrap_or("–")) @for what in &source.checks { br; span.faint { (what) } } }
        @if source.verifier.is_some() {
            dt { "Covered by the signature" }
            dd { "body: " (yes(source.body_protected)) ", time: " (yes(source.time_protected)) }
        }
        dt { "Last event" } dd { @if source.last_sequence > 0 {
            a href=(format!("/events/{}/{}", encode(&source.name), source.last_sequence)) { "#" (source.last_sequence) } ", "
        } (full_or(source.last_received_at.map(|at| at.0), "never")) }
        @if source.paused { dt { "State" } dd { (badge("paused")) " events are stored and wait" } }
    } } }
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

/// What the provider asked of us to prove that we are here, and the secret it may have handed over with it.
fn handshake(call: &Call, found: &SourceDetail, captured: Option<&Captured>) -> Markup {
    let kinds = call.state.schemes.get(&found.source.name).map(|scheme| scheme.handshakes.join(", "));
    let kinds = kinds.filter(|kinds| !kinds.is_empty());
    let renewable =
        captured.and_then(|one| one.renewable_until).filter(|until| *until > OffsetDateTime::now_utc());
    html! {
        div.card { dl.facts {
            dt { "Answered" } dd { (kinds.as_deref().unwrap_or("none: this scheme has no handshake")) }
            @if let Some(one) = captured {
                dt { "Secret handed over" } dd { (full(one.captured_at)) }
                dt { "Another one" } dd { @match renewable {
                    Some(until) => { "is taken until " (full(until)) },
                    None => {
                        "is refused: only the first is taken"
                        @if call.who.is_admin() { (renewal(call, &found.source.name)) }
                    },
                } }
            }
        } }
        @if kinds.is_some() || !found.handshakes.is_empty() { div.card.scroll { table.rows {
            thead { tr { th { "When" } th { "Kind" } th { "Outcome" } } }
            tbody {
                @for one in &found.handshakes { tr { td { (when(one.at.0)) } td { (one.kind) } td.wrap { (one.outcome) } } }
                @if found.handshakes.is_empty() { tr { td.none colspan="3" { "The provider has not asked yet." } } }
            }
        } } }
    }
}

fn renewal(call: &Call, source: &str) -> Markup {
    let path = format!("/sources/{}/renew-secret", encode(source));
    let question = "Let the next handshake replace the secret, for ten minutes? Whoever comes first in that time owns the \
        source; until then the present secret stays in force.";
    html! { div.buttons { (button(call, &path, "Let in another", "", Some(question))) } }
}

pub async fn renew_secret(call: Call) -> Result<Answer, Error> {
    open_renewal(&call).await?;
    Ok(Answer::see(format!("/sources/{}?done=renewable", encode(call.param("source")))))
}

pub async fn listeners(call: Call) -> Result<Answer, Error> {
    let listeners = visible_listeners(&call, None).await?;
    Ok(page(&call, "Listeners", listener_table(&listeners)))
}

fn listener_table(listeners: &[Listener]) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Source" } th { "Token" } th { "Owner" } th { "Connected" } th.num { "Cursor" } th.num { "Behind by" } th { "Seen" } } }
        tbody {
            @for one in listeners { tr {
                td.lead { (one.source) }
                td data-l="token" { (one.token_name.as_deref().unwrap_or("?")) }
                td data-l="owner" { (one.owner_email.as_deref().unwrap_or("nobody")) }
                td data-l="connected" { (when(one.since.0)) }
                td.num data-l="cursor" { (one.cursor) }
                td.num data-l="behind" { (grouped(one.behind)) }
                td data-l="seen" { (when(one.seen_at.0)) }
            } }
            @if listeners.is_empty() { tr { td.none colspan="7" { "Nobody listens now. " code { "hooksctl forward SOURCE --to http://localhost:3000" } " does." } } }
        }
    } } }
}
