//! The audit.

use super::layout::{badge, choice, next_link, page, when};
use crate::api::audit::{AuditEvent, ask};
use crate::api::paging;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::store;
use crate::store::audit::Ask;
use maud::{Markup, html};

const ROWS: i64 = 100;

pub async fn list(call: Call) -> Result<Answer, Error> {
    let asked = Ask { before: paging::cursor(&call)?, ..ask(&call, ROWS + 1)? };
    let mut rows = store::audit::list(&*call.session().await?, &asked).await?;
    let next = paging::next(&call, &mut rows, ROWS, |row| row.id);
    let events: Vec<AuditEvent> = rows.into_iter().map(AuditEvent::from).collect();
    let content = html! {
        (filters(&call))
        div.card.scroll { table {
            thead { tr { th { "When" } th { "Who" } th { "What" } th { "Of" } th.wide { "From" } th.wide { "Details" } } }
            tbody {
                @for event in &events { (row(event)) }
                @if events.is_empty() { tr { td colspan="6" { "Nothing." } } }
            }
        } }
        (next_link(next.as_deref()))
    };
    Ok(page(&call, "Audit", content))
}

fn filters(call: &Call) -> Markup {
    let value = |name: &str| call.query.get(name).unwrap_or_default().to_owned();
    let outcomes = [("", "any"), ("done", "done"), ("refused", "refused")];
    let query = call.query.with("cursor", None);
    let and = if query.is_empty() { "" } else { "&" };
    html! {
        form.row method="get" action="/audit" {
            label { "Who" input name="actor" value=(value("actor")) placeholder="ada@example.com"; }
            label { "What" input name="action" value=(value("action")) placeholder="token."; }
            label { "Of" input name="target" value=(value("target")); }
            (choice("outcome", "Outcome", &outcomes, call.query.get("outcome")))
            label { "Since (UTC)" input name="since" value=(value("since")) placeholder="2026-05-09T14:00:00Z"; }
            button.first { "Show" }
        }
        div.buttons {
            a.button href=(format!("/api/audit/export?{query}")) { "CSV" }
            a.button href=(format!("/api/audit/export?{query}{and}format=jsonl")) { "JSON lines" }
        }
    }
}

fn row(event: &AuditEvent) -> Markup {
    html! { tr {
        td { (when(event.at.0)) }
        td.wrap { (event.actor) }
        td { (event.action) @if event.outcome == "refused" { " " (badge("refused")) } @if event.affected > 1 { " ×" (event.affected) } }
        td.wrap { span.faint { (event.target_type) } " " code { (event.target_id) } }
        td.wide { (event.address.as_deref().unwrap_or("–")) }
        td.wide.wrap { @if let Some(details) = &event.metadata { code { (details.to_string()) } } }
    } }
}
