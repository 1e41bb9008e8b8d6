//! Who received an event: push deliveries with their attempts, and listeners.

use super::words::{badge, duration, when};
use crate::store::deliveries::{Attempt, DeliveryRow};
use crate::store::listeners::Listener;
use maud::{Markup, html};

pub fn deliveries(rows: &[DeliveryRow], attempts: &[Attempt]) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Subscription" } th { "State" } th.num { "Attempts" } th { "Last answer" } th { "Next or end" } th { span.sr { "More" } } } }
        tbody {
            @for row in rows {
                @let own: Vec<&Attempt> = attempts.iter().filter(|one| one.delivery_id == row.id).collect();
                tr {
                    td.lead { a href=(format!("/push/{}", row.subscription_id)) { (row.subscription_name) } }
                    td { (badge(&row.state)) @if row.replayed { " " span.badge { "replayed" } } }
                    td.num data-l="attempts" { (row.attempts) }
                    td.wrap { @if own.is_empty() { (last(row)) } @else { (history(row, &own)) } }
                    td { (when(row.completed_at.unwrap_or(row.next_attempt_at))) }
                    td.act { a href=(format!("/deliveries/{}", row.id)) { "Delivery" } }
                }
            }
            @if rows.is_empty() { tr { td.none colspan="6" { "No push subscription was owed this event." } } }
        }
    } } }
}

/// The last answer, and behind it all attempts.
fn history(row: &DeliveryRow, attempts: &[&Attempt]) -> Markup {
    html! { details {
        summary { (last(row)) }
        @for one in attempts { div {
            span.faint { "#" (one.number) " " (when(one.started_at)) ", " (duration(f64::from(one.duration_ms) / 1000.0)) ": " }
            @match one.status { Some(status) => (status), None => (one.outcome.replace('_', " ")) }
            @if let Some(error) = &one.error { " " span.faint { (error) } }
            @if one.late { " " span.badge { "late" } }
        } }
    } }
}

/// How the last attempt ended.
pub fn last(row: &DeliveryRow) -> Markup {
    html! {
        @match (row.last_status, &row.last_outcome) {
            (Some(status), _) => { (status) },
            (None, Some(outcome)) => { (outcome.replace('_', " ")) },
            (None, None) => span.faint { "–" },
        }
        @if let Some(error) = &row.last_error { " " span.faint { (error) } }
    }
}

pub fn listeners(listeners: &[Listener], sequence: i64) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Token" } th { "Owner" } th { "Connected" } th { "This event" } } }
        tbody {
            @for one in listeners { tr {
                td.lead { (one.token_name.as_deref().unwrap_or("?")) }
                td { (one.owner_email.as_deref().unwrap_or("nobody")) }
                td { (when(one.since)) }
                td {
                    @if one.cursor >= sequence { (badge("done")) " past it" }
                    @else { (badge("pending")) " " (sequence - one.cursor) " before it" }
                }
            } }
            @if listeners.is_empty() { tr { td.none colspan="4" { "Nobody listens to this source now." } } }
        }
    } } }
}
