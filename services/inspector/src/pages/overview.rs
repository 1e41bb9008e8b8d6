//! The first page: how it all stands.

use super::layout::page;
use super::plot::{self, Span, Unit};
use super::words::{badge, count, duration, grouped, when};
use crate::api::overview::{self, Overview};
use crate::error::Error;
use crate::http::{Answer, Call};
use maud::{Markup, html};
use time::Duration;

pub async fn show(call: Call) -> Result<Answer, Error> {
    let overview = overview::read(&call).await?;
    let day = call.query.get("span") == Some("day");
    let span = Span::last(if day { Duration::DAY } else { Duration::HOUR });
    let content = html! {
        (tiles(&overview, if day { "day" } else { "hour" }))
        nav.buttons aria-label="Span" { span.group {
            a.button href="/" aria-current=[(!day).then_some("true")] { "Last hour" }
            a.button href="/?span=day" aria-current=[day.then_some("true")] { "Last day" }
        } }
        div.plots {
            (plot::line("Events a minute", &overview.ingest_rate, Unit::Number, span))
            @if overview.owed.is_some() {
                (plot::line("Refused requests a minute", &overview.refused_series, Unit::Number, span))
                (plot::line("Owed to receivers", &overview.owed_series, Unit::Number, span))
                (plot::line("Oldest due", &overview.oldest_due_series, Unit::Seconds, span))
                (plot::line("Push-workers alive", &overview.workers_series, Unit::Number, span))
            }
        }
        @if overview.owed.is_some() { (processes(&overview)) }
    };
    Ok(page(&call, "Overview", content))
}

/// More than this many failed deliveries are not counted.
const COUNTED: i64 = 10_000;

fn tiles(overview: &Overview, span: &str) -> Markup {
    let refused: f64 = overview.refused_series.iter().map(|point| point.value).sum();
    html! { div.tiles {
        div.tile { b { (overview.events_a_minute.map_or("–".to_owned(), |n| grouped(n.round() as i64))) } span { a href="/events" { "events" } " in the last minute" } }
        div.tile { b { (overview.sources) } span { a href="/sources" { "sources" } } }
        div.tile { b { (overview.listeners) } span { a href="/listeners" { "listeners" } " connected" } }
        @if let Some(owed) = overview.owed {
            div.tile { b { (grouped(refused as i64)) } span { "refused in the last " (span) } }
            div.tile { b { (grouped(owed)) } span { a href="/deliveries" { "owed" } " to receivers" } }
            div.tile { b { (overview.oldest_due_seconds.map_or("–".to_owned(), duration)) } span { "oldest due since" } }
            @let failed = overview.failed.unwrap_or(0);
            div class=(if failed > 0 { "tile bad" } else { "tile" }) {
                b { (count(failed, COUNTED)) }
                span { a href="/deliveries?state=failed" { "failed" } " deliveries" }
            }
        }
    } }
}

fn processes(overview: &Overview) -> Markup {
    html! {
        h2 { "Processes" }
        @if overview.configurations_differ {
            p.note.bad { "Not all processes have the same configuration: compare the column below." }
        }
        div.card.scroll { table.rows {
            thead { tr { th { "Service" } th { "State" } th { "Version" } th { "Configuration" } th { "Started" } th { "Last word" } } }
            tbody {
                @for one in &overview.processes { tr {
                    td.lead { (one.service) }
                    td { (badge(if one.alive { "alive" } else { "silent" })) }
                    td data-l="version" { (one.version) }
                    td data-l="configuration" { code { (one.config_hash) } }
                    td data-l="started" { (when(one.started_at.0)) }
                    td data-l="last word" { (when(one.seen_at.0)) }
                } }
                @if overview.processes.is_empty() { tr { td.none colspan="6" { "None has spoken lately." } } }
            }
        } }
    }
}
