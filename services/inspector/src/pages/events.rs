//! The list of events: filtered, searched, live.

use super::fields::{choice, moment, paging as paging_links, source_choice, text};
use super::layout::page;
use super::words::{badge, size, when};
use crate::api::events::{ask, key_of, place_of};
use crate::api::live::stream_events;
use crate::api::paging;
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::events::{Ask, list as read};
use crate::ops::position::Position;
use crate::store::events::{EventRow, PushCounts};
use crate::store::sources::{Head, heads};
use maud::{Markup, html};

const ROWS: usize = 50;
const FILTERS: [&str; 7] = ["source", "q", "type", "delivery_id", "push", "from", "to"];

pub async fn list(call: Call) -> Result<Answer, Error> {
    let db = call.session().await?;
    let sight = call.who.sight();
    // Before the rows are read: what comes meanwhile is told rather twice than never.
    let mut heads = heads(&db).await?;
    heads.retain(|head| sight.covers(&head.source));
    let (found, complaint) = match ask(&call.query, ROWS) {
        Ok(asked) => {
            let asked = Ask { behind: place_of(paging::cursor(&call)?)?, ..asked };
            (Some(read(&db, &sight, &asked).await?), None)
        }
        Err(error) => (None, Some(error.to_string())),
    };
    let next = found.as_ref().and_then(|page| page.next.as_ref());
    let next = next.map(|place| paging::link(&call, &key_of(place)));
    let live = Live::of(&call, &heads);
    let sources: Vec<String> = heads.into_iter().map(|head| head.source).collect();
    let content = html! {
        (filters(&call, &sources))
        @if let Some(text) = &complaint { p.note.bad role="alert" { (text) } }
        @if let Some(found) = &found {
            p.live id="live-state" role="status" { "not live" noscript { " without JavaScript" } }
            button.arrived type="button" id="live-more" hidden {}
            div.card.scroll { table.rows data-live=(live.stream) data-live-after=(live.after) data-live-count=[live.newest] {
                thead { tr {
                    th { "Received" } th { "Source" } th.num { "Sequence" } th { "Type" } th.wide { "Delivery id" }
                    th.num { "Size" } th { "Push" }
                } }
                tbody {
                    @for event in &found.rows { (row(event, found.counts(event))) }
                    @if found.rows.is_empty() { tr id="no-rows" { td.none colspan="7" { (nothing(&call, next.is_some())) } } }
                }
            } }
            (paging_links(&call, next.as_deref()))
        }
    };
    Ok(page(&call, "Events", content))
}

fn nothing(call: &Call, more: bool) -> Markup {
    let filtered = FILTERS.iter().any(|name| call.query.has(name));
    html! {
        @if more { "Nothing in the stretch that was looked at; go on to older ones." }
        @else if filtered { "No event is like that. " a href="/events" { "Show all" } }
        @else { "No events yet. " code { "hooksctl send SOURCE" } " sends a signed sample; the address for a provider is on the page of its " a href="/sources" { "source" } "." }
    }
}

/// Where a page hears of new events: with the same filter, but for the state of their pushes, which new ones do not have
/// yet. There, and on a page behind the newest, they are only counted.
struct Live {
    stream: String,
    /// Up to where the log was when the page was made.
    after: Position,
    /// The newest page of the same list, where new events are not rows of this one.
    newest: Option<String>,
}

impl Live {
    fn of(call: &Call, heads: &[Head]) -> Self {
        let given: Vec<(&str, &str)> =
            FILTERS.iter().filter_map(|name| Some((*name, call.query.get(name)?))).collect();
        let query = |without: &str| {
            let pairs = given.iter().filter(|(name, _)| *name != without);
            let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", encode(value))).collect();
            if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
        };
        let only_counts = call.query.has("cursor") || call.query.has("push");
        Self {
            stream: format!("/events/live{}", query("push")),
            after: Position::of(heads.iter().map(|head| (head.source.as_str(), head.sequence))),
            newest: only_counts.then(|| format!("/events{}", query(""))),
        }
    }
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
        label.whole { "Search headers and JSON" input type="search" name="q" value=(value("q")) maxlength="1000"
            placeholder="data.id = evt-1 and header.x-github-event = push"; }
        (source_choice(sources, call.query.get("source")))
        (text(call, "type", "Type", ""))
        (text(call, "delivery_id", "Delivery or event id", ""))
        (choice("push", "Push", &states, call.query.get("push")))
        (moment(call, "from", "From"))
        (moment(call, "to", "To"))
        button.first { "Show" }
        @if FILTERS.iter().any(|name| call.query.has(name)) { a.button href="/events" { "Clear" } }
    } }
}

fn row(event: &EventRow, push: PushCounts) -> Markup {
    let href = format!("/events/{}/{}", encode(&event.source), event.sequence);
    html! { tr id=(format!("event-{}-{}", encode(&event.source), event.sequence)) {
        td.first { a href=(href) { (when(event.received_at)) } }
        td { (event.source) }
        td.num data-l="#" { (event.sequence) }
        td.wrap { @match &event.event_type { Some(kind) => { (kind) }, None => span.faint { "–" } } }
        td.clip.wide title=(event.delivery_id()) { code { (event.delivery_id()) } }
        td.num { (size(event.body_bytes)) }
        td data-l="push" { (push_state(push)) }
    } }
}

/// How the deliveries stand, the worst first.
pub fn push_state(push: PushCounts) -> Markup {
    html! {
        @if push.failed > 0 { (badge("failed")) " " }
        @if push.open > 0 { (badge("pending")) " " }
        @if push.delivered > 0 && push.failed + push.open == 0 { (badge("delivered")) }
        @if push.cancelled > 0 && push.cancelled == push.total() { (badge("cancelled")) }
        @if push.total() == 0 { span.faint { "–" } }
    }
}

/// New rows for open pages, as HTML in JSON.
pub async fn live(call: Call) -> Result<Answer, Error> {
    let show = |_: &Call, event: &EventRow, push| {
        serde_json::json!({"row": row(event, push).into_string()}).to_string()
    };
    stream_events(call, show).await
}
