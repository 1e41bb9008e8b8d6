//! The audit.

use super::fields::{choice, moment, paging as paging_links, text};
use super::layout::page;
use super::words::{badge, to_the_second, when};
use crate::api::audit::{AuditEvent, ask};
use crate::api::paging;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::store;
use crate::store::audit::Ask;
use maud::{Markup, html};

const ROWS: i64 = 100;

pub async fn list(call: Call) -> Result<Answer, Error> {
    let asked = Ask { before: paging::cursor(&call)?, ..ask(&call, ROWS)? };
    let found = store::audit::page(&*call.session().await?, &asked).await?;
    let next = found.next.map(|id| paging::link(&call, &id));
    let events: Vec<AuditEvent> = found.rows.into_iter().map(AuditEvent::from).collect();
    let content = html! {
        (filters(&call))
        div.card.scroll { table.rows {
            thead { tr { th { "When" } th { "Who" } th { "What" } th { "Of" } th { "From" } th { "Details" } } }
            tbody {
                @for event in &events { (row(event)) }
                @if events.is_empty() { tr { td.none colspan="6" {
                    @if next.is_some() { "Nothing in the stretch that was looked at; go on to older ones." } @else { "Nothing is like that." }
                } } }
            }
        } }
        (paging_links(&call, next.as_deref()))
    };
    Ok(page(&call, "Audit", content))
}

fn filters(call: &Call) -> Markup {
    let outcomes = [("", "any"), ("done", "done"), ("refused", "refused")];
    let query = call.query.with("cursor", None);
    let and = if query.is_empty() { "" } else { "&" };
    html! {
        form.row method="get" action="/audit" {
            (text(call, "actor", "Who", "ada@example.com"))
            (text(call, "action", "What", "token."))
            (text(call, "target", "Of", ""))
            (choice("outcome", "Outcome", &outcomes, call.query.get("outcome")))
            (moment(call, "since", "Since"))
            button.first { "Show" }
            @if !query.is_empty() { a.button href="/audit" { "Clear" } }
        }
        div.buttons {
            span.faint { "All of these as a file:" }
            a.button href=(format!("/api/audit/export?{query}")) { "CSV" }
            a.button href=(format!("/api/audit/export?{query}{and}format=jsonl")) { "JSON lines" }
        }
    }
}

fn row(event: &AuditEvent) -> Markup {
    html! { tr {
        td.at { (to_the_second(event.at.0)) " " span.faint { (when(event.at.0)) } }
        td.lead { (event.actor) }
        td { (event.action) @if event.outcome == "refused" { " " (badge("refused")) } @if event.affected > 1 { " ×" (event.affected) } }
        td.wrap { @if !event.target_type.is_empty() { span.faint { (event.target_type) } " " } code { (event.target_id) } }
        td data-l="from" { (event.address.as_deref().unwrap_or("–")) }
        td.wrap { @if let Some(details) = &event.metadata { (shown(details)) } }
    } }
}

/// Details as names and values; what is null says nothing.
fn shown(details: &serde_json::Value) -> Markup {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    html! { @match details.as_object() {
        Some(members) => @for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            div { span.faint { (name.replace('_', " ")) ": " } (text(value)) }
        },
        None => code { (text(details)) },
    } }
}
