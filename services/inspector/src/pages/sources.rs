//! Sources and who listens to them.

use super::layout::{badge, page, when, when_or};
use super::plot;
use crate::api::sources::{Listener, SourceDetail, find, visible, visible_listeners};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use maud::{Markup, html};

pub async fn list(call: Call) -> Result<Answer, Error> {
    let sources = visible(&call).await?;
    let content = html! { div.card.scroll { table {
        thead { tr { th { "Source" } th { "Verifier" } th { "Last event" } th.num { "Last hour" } th.num.wide { "Newest" } th.num.wide { "Listeners" } th.num.wide { "Push" } } }
        tbody { @for source in &sources { tr {
            td {
                a href=(format!("/sources/{}", encode(&source.name))) { (source.name) }
                @if source.paused { " " (badge("paused")) }
                @if !source.configured { " " span.badge { "not configured" } }
            }
            td { (source.verifier.as_deref().unwrap_or("–")) }
            td { (when_or(source.last_received_at.map(|at| at.0), "never")) }
            td.num { (source.last_hour.map_or("–".to_owned(), |n| n.to_string())) }
            td.num.wide { (source.last_sequence) }
            td.num.wide { (source.listeners) }
            td.num.wide { (source.push_subscriptions) }
        } } }
    } } };
    Ok(page(&call, "Sources", content))
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let detail = find(&call).await?;
    let listeners = visible_listeners(&call, Some(&detail.source.name)).await?;
    let content = html! {
        (facts(&detail))
        div.plots { (plot::line("Events a minute", &detail.rate, |n| format!("{n:.0}"))) }
        div.buttons { a.button href=(format!("/events?source={}", encode(&detail.source.name))) { "Its events" } }
        h2 { "Handshakes" }
        div.card.scroll { table {
            thead { tr { th { "When" } th { "Kind" } th { "Outcome" } } }
            tbody {
                @for one in &detail.handshakes { tr { td { (when(one.at.0)) } td { (one.kind) } td { (one.outcome) } } }
                @if detail.handshakes.is_empty() { tr { td colspan="3" { "None asked for, or none yet." } } }
            }
        } }
        h2 { "Listeners" }
        (listener_table(&listeners))
    };
    Ok(page(&call, &detail.source.name, content))
}

fn facts(detail: &SourceDetail) -> Markup {
    let source = &detail.source;
    html! { div.card { dl.facts {
        dt { "Address for the provider" }
        dd { @match &source.url {
            Some(url) => { code id="url" { (url) } " " button.small type="button" data-copy="url" { "Copy" } }
            None if source.configured => { "set `public_url` in hooks.yaml; then " code { "/ingest/" (source.name) } },
            None => span.faint { "not configured: nothing is taken in" },
        } }
        dt { "Verifier" } dd { (source.verifier.as_deref().unwrap_or("–")) @for what in &source.checks { br; span.faint { (what) } } }
        @if source.verifier.is_some() {
            dt { "Covered by the signature" }
            dd { "body: " (yes(source.body_protected)) ", time: " (yes(source.time_protected)) }
        }
        dt { "Newest event" } dd { "#" (source.last_sequence) ", " (when_or(source.last_received_at.map(|at| at.0), "never")) }
        @if source.paused { dt { "State" } dd { (badge("paused")) " events are stored and wait" } }
    } } }
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

pub async fn listeners(call: Call) -> Result<Answer, Error> {
    let listeners = visible_listeners(&call, None).await?;
    Ok(page(&call, "Listeners", listener_table(&listeners)))
}

fn listener_table(listeners: &[Listener]) -> Markup {
    html! { div.card.scroll { table {
        thead { tr { th { "Source" } th { "Token" } th.wide { "Owner" } th { "Since" } th.num.wide { "Cursor" } th.num { "Behind by" } } }
        tbody {
            @for one in listeners { tr {
                td { (one.source) }
                td.wrap { (one.token_name.as_deref().unwrap_or("?")) }
                td.wide { (one.owner_email.as_deref().unwrap_or("–")) }
                td { (when(one.since.0)) }
                td.num.wide { (one.cursor) }
                td.num { (one.behind) }
            } }
            @if listeners.is_empty() { tr { td colspan="6" { "Nobody listens now. " code { "hooksctl forward SOURCE --to http://localhost:3000" } " does." } } }
        }
    } } }
}
