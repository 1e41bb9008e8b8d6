//! The first page: how it all stands.

use super::layout::{badge, duration, page, when};
use super::plot;
use crate::api::overview::{self, Overview};
use crate::error::Error;
use crate::http::{Answer, Call};
use maud::{Markup, html};

pub async fn show(call: Call) -> Result<Answer, Error> {
    let overview = overview::read(&call).await?;
    let day = call.query.get("span") == Some("day");
    let content = html! {
        (tiles(&overview))
        nav.buttons aria-label="Span" {
            a.button href="/" aria-current=[(!day).then_some("true")] { "Last hour" }
            a.button href="/?span=day" aria-current=[day.then_some("true")] { "Last day" }
        }
        div.plots {
            (plot::line("Events a minute", &overview.ingest_rate, |n| format!("{n:.0}")))
            @if overview.owed.is_some() {
                (plot::line("Owed to receivers", &overview.owed_series, |n| format!("{n:.0}")))
                (plot::line("Oldest due", &overview.oldest_due_series, duration))
            }
        }
        @if overview.owed.is_some() { (processes(&overview)) }
    };
    Ok(page(&call, "Overview", content))
}

fn tiles(overview: &Overview) -> Markup {
    let number = |n: Option<f64>| n.map_or("–".to_owned(), |n| format!("{n:.0}"));
    html! { div.tiles {
        div.tile { b { (number(overview.events_a_minute)) } span { "events a minute" } }
        div.tile { b { (overview.sources) } span { a href="/sources" { "sources" } } }
        div.tile { b { (overview.listeners) } span { a href="/listeners" { "listeners connected" } } }
        @if let Some(owed) = overview.owed {
            div.tile { b { (owed) } span { a href="/deliveries" { "owed to receivers" } } }
            div.tile { b { (overview.oldest_due_seconds.map_or("–".to_owned(), duration)) } span { "oldest due since" } }
            @let failed = overview.failed.unwrap_or(0);
            div.tile {
                b { @if failed > 10_000 { "10000+" } @else { (failed) } }
                span { a href="/deliveries?state=failed" { "failed deliveries" } }
            }
        }
    } }
}

fn processes(overview: &Overview) -> Markup {
    html! {
        h2 { "Processes" }
        @if overview.configurations_differ {
            p.note.bad { "Not all processes have the same configuration: compare the columns below." }
        }
        div.card.scroll { table {
            thead { tr { th { "Service" } th { "State" } th { "Version" } th.wide { "Configuration" } th.wide { "Started" } th { "Last word" } } }
            tbody {
                @for one in &overview.processes { tr {
                    td { (one.service) }
                    td { (badge(if one.alive { "alive" } else { "silent" })) }
                    td { (one.version) }
                    td.wide { code { (one.config_hash) } }
                    td.wide { (when(one.started_at.0)) }
                    td { (when(one.seen_at.0)) }
                } }
                @if overview.processes.is_empty() { tr { td colspan="6" { "None has spoken lately." } } }
            }
        } }
    }
}
