//! The list of events: filtered, searched, live.

use super::layout::{badge, choice, next_link, page, size, source_choice, when};
use crate::api::events::{ask, key_of, place_of, stream_events};
use crate::api::paging;
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::events::{Ask, list as read, visible_sources};
use crate::store::events::{EventRow, PushCounts};
use maud::{Markup, html};

const ROWS: usize = 50;

pub async fn list(call: Call) -> Result<Answer, Error> {
    let db = call.session().await?;
    let sight = call.who.sight();
    let sources = visible_sources(&db, &sight, None).await?;
    let (found, complaint) = match ask(&call.query, ROWS) {
        Ok(asked) => {
            let asked = Ask { behind: place_of(paging::cursor(&call)?)?, ..asked };
            (Some(read(&db, &sight, &asked).await?), None)
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let next = found.as_ref().and_then(|page| page.next.as_ref());
    let next = next.map(|place| paging::link(&call, &key_of(place)));
    let content = html! {
        (filters(&call, &sources))
        @if let Some(text) = &complaint { p.note.bad role="alert" { (text) } }
        @if let Some(found) = &found {
            div.card.scroll { table {
                thead { tr {
                    th { "Received" } th { "Source" } th.num { "Sequence" } th { "Type" } th.wide { "Delivery id" }
                    th.wide.num { "Size" } th { "Push" }
                } }
                tbody data-live=[live_address(&call)] {
                    @for event in &found.rows { (row(event, found.counts(event))) }
                    @if found.rows.is_empty() { tr { td colspan="7" { (nothing(next.is_some())) } } }
                }
            } }
            (next_link(next.as_deref()))
        }
    };
    Ok(page(&call, "Events", content))
}

fn nothing(more: bool) -> &'static str {
    match more {
        true => "Nothing in the stretch that was looked at; go on to older ones.",
        false => "No events.",
    }
}

/// Rows come live on the first page of an unsearched list.
fn live_address(call: &Call) -> Option<String> {
    let filtered = ["q", "type", "delivery_id", "push", "from", "to", "cursor"];
    if filtered.iter().any(|name| call.query.has(name)) {
        return None;
    }
    let source = call.query.get("source").map(|source| format!("?source={}", encode(source)));
    Some(format!("/events/live{}", source.unwrap_or_default()))
}

fn filters(call: &Call, sources: &[String]) -> Markup {
    let value = |name: &str| call.query.get(name).unwrap_or_default().to_owned();
    let states = [
        ("", "any"),
        ("delivered", "delivered"),
        ("pending", "pending"),
        ("failed", "failed"),
        ("none", "none"),
    ];
    html! { form.row method="get" action="/events" role="search" {
        label.grow { "Search" input type="search" name="q" value=(value("q")) maxlength="1000"
            placeholder="data.id = evt-1 and header.x-github-event = push"; }
        (source_choice(sources, call.query.get("source")))
        label { "Type" input name="type" value=(value("type")); }
        (choice("push", "Push", &states, call.query.get("push")))
        label { "From (UTC)" input name="from" value=(value("from")) placeholder="2026-05-09T14:00:00Z"; }
        label { "To (UTC)" input name="to" value=(value("to")) placeholder="2026-05-09T15:00:00Z"; }
        button.first { "Show" }
        @if live_address(call).is_some() { span.live id="live-state" role="status" {} }
    } }
}

fn row(event: &EventRow, push: PushCounts) -> Markup {
    let href = format!("/events/{}/{}", encode(&event.source), event.sequence);
    html! { tr id=(format!("event-{}-{}", encode(&event.source), event.sequence)) {
        td { a href=(href) { (when(event.received_at)) } }
        td { (event.source) }
        td.num { (event.sequence) }
        td.wrap { @match &event.event_type { Some(kind) => { (kind) }, None => span.faint { "–" } } }
        td.wide { code { (event.delivery_id()) } }
        td.wide.num { (size(event.body_bytes)) }
        td { (push_state(push)) }
    } }
}

/// How the deliveries stand, the worst first.
pub fn push_state(push: PushCounts) -> Markup {
    html! {
        @if push.failed > 0 { (badge("failed")) " " }
        @if push.open > 0 { (badge("pending")) " " }
        @if push.delivered > 0 && push.failed + push.open == 0 { (badge("delivered")) }
        @if push.total() == 0 { span.faint { "–" } }
    }
}

/// New rows for open pages, as HTML in JSON.
pub async fn live(call: Call) -> Result<Answer, Error> {
    stream_events(call, |_, event| {
        serde_json::json!({"row": row(event, PushCounts::default()).into_string()}).to_string()
    })
}
