//! One delivery with its history, replay and cancel.

use super::fields::button;
use super::layout::{detail, sentence};
use super::words::{badge, duration, full, full_or, when};
use crate::api::deliveries::find;
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::push::acting;
use hooks_shared::push::deliveries::{self, Detail};
use maud::{Markup, html};

pub async fn show(call: Call) -> Result<Answer, Error> {
    let found = find(&call).await?;
    let delivery = &found.delivery;
    let event = format!("/events/{}/{}", encode(&delivery.source), delivery.sequence);
    let note = if delivery.state == "failed" { "note bad" } else { "note" };
    let content = html! {
        p class=(note) { strong { "Where it stands: " } (sentence(&found.why)) }
        (actions(&call, &found))
        div.card { dl.facts {
            dt { "Event" } dd { a href=(event) { (delivery.source) " #" (delivery.sequence) } ", received " (when(delivery.received_at)) }
            dt { "Subscription" } dd { a href=(format!("/push/{}", delivery.subscription_id)) { (found.subscription_name) } " " (badge(&found.subscription_state)) }
            dt { "State" } dd { (badge(&delivery.state)) @if delivery.replayed { " " span.badge { "replayed" } } }
            dt { "Attempts" } dd { (delivery.attempts) ", of them " (delivery.cycle_attempts) " in this cycle" }
            @if delivery.completed_at.is_none() {
                dt { "Due" } dd { (full(delivery.next_attempt_at)) ", " (delivery.due_because.replace('_', " ")) }
                dt { "Ahead of it" } dd { (found.ahead) ", and " (found.in_flight) " under way" }
            }
            @if found.lost_claims > 0 { dt { "Lost claims" } dd { (found.lost_claims) } }
            dt { "Made" } dd { (full(delivery.created_at)) }
            dt { "Ended" } dd { (full_or(delivery.completed_at, "not yet")) }
            dt { "Id" } dd { code { (delivery.id) } }
        } }
        h2 { "Attempts" }
        (history(&found))
    };
    let title = format!("Delivery of {} #{}", delivery.source, delivery.sequence);
    Ok(detail(&call, ("Deliveries", "/deliveries"), &title, content))
}

fn actions(call: &Call, found: &Detail) -> Markup {
    let action = |name: &str| format!("/deliveries/{}/{name}", found.delivery.id);
    html! { @if call.who.is_admin() && matches!(found.delivery.state.as_str(), "failed" | "pending") { div.buttons {
        @if found.delivery.state == "failed" { (button(call, &action("replay"), "Replay", "first", None)) }
        @else { (button(call, &action("cancel"), "Cancel", "danger", Some("Cancel this delivery?"))) }
    } } }
}

fn history(found: &Detail) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th.num { "#" } th { "Started" } th { "Outcome" } th.num { "Took" } th { "Answer" } th { "To" } th { "Worker" } } }
        tbody {
            @for attempt in &found.attempt_history { tr {
                td.num data-l="#" { (attempt.number) }
                td { (when(attempt.started_at)) }
                td { (badge(&attempt.outcome)) @if attempt.late { " " span.badge { "late" } } }
                td.num { (duration(f64::from(attempt.duration_ms) / 1000.0)) }
                td.wrap {
                    @if let Some(status) = attempt.status { (status) " " }
                    @if let Some(error) = &attempt.error { (error) }
                    @if let Some(response) = &attempt.response { pre.small tabindex="0" { (response) } }
                }
                td.wrap { code { (attempt.url) } }
                td.clip title=(attempt.worker) data-l="worker" { (attempt.worker) }
            } }
            @if found.attempt_history.is_empty() { tr { td.none colspan="7" { "No request went out yet." } } }
        }
    } } }
}

pub async fn replay(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let id = call.param("id");
    deliveries::replay(&*acting(&call).await?, &call.who.label(), id).await?;
    Ok(Answer::see(format!("/deliveries/{}?done=replayed", encode(id))))
}

pub async fn cancel(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let id = call.param("id");
    deliveries::cancel(&*acting(&call).await?, &call.who.label(), id).await?;
    Ok(Answer::see(format!("/deliveries/{}?done=cancelled", encode(id))))
}
