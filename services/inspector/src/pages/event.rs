//! One event: headers, body, who received it, and again.

use super::body;
use super::layout::{badge, csrf, page, size, when, when_or};
use crate::api::events::{content_type, find};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::replay::replay as replay_event;
use crate::schemes::MASK;
use crate::store;
use crate::store::deliveries::DeliveryRow;
use crate::store::listeners::Listener;
use hooks_shared::event::Event;
use hooks_shared::push::event_replay::{Push, To};
use hooks_shared::push::subscriptions::Subscription;
use maud::{Markup, html};

const LONGEST_SHOWN: i64 = 1 << 20;
/// A longer body goes into the command as a file.
const LONGEST_IN_COMMAND: usize = 100_000;

pub async fn show(call: Call) -> Result<Answer, Error> {
    let (event, body_bytes) = find(&call, LONGEST_SHOWN).await?;
    let db = call.session().await?;
    let deliveries = store::deliveries::of_event(&db, &event.source, event.sequence).await?;
    let listeners = store::listeners::listeners(&db, Some(&event.source)).await?;
    let subscriptions = hooks_shared::push::subscriptions::list(&db, Some(&event.source)).await?;
    drop(db);
    let here = format!("/events/{}/{}", encode(&event.source), event.sequence);
    let content = html! {
        (facts(&call, &event, body_bytes))
        (replay_forms(&call, &here, &subscriptions))
        h2 { "Body" }
        div.card {
            div.buttons {
                a.button href=(format!("{here}/body")) { "Raw bytes" }
                span.faint { (content_type(&event)) ", " (size(body_bytes)) }
            }
            @if body_bytes > LONGEST_SHOWN { p.faint { "Too long to be shown; the raw bytes are there." } }
            @else { (body::show(&content_type(&event), &event.body, &format!("{here}/body?inline=1"))) }
        }
        h2 { "Headers" }
        (headers(&call, &event))
        h2 { "Push deliveries" }
        (delivery_table(&deliveries))
        h2 { "Listeners" }
        (listener_table(&listeners, event.sequence))
        h2 { "As a command" }
        div.card {
            div.buttons { button.small type="button" data-copy="curl" { "Copy" } }
            pre id="curl" tabindex="0" { (curl(&call, &event)) }
        }
    };
    Ok(page(&call, &format!("{} #{}", event.source, event.sequence), content))
}

fn facts(call: &Call, event: &Event, body_bytes: i64) -> Markup {
    let scheme = call.state.schemes.get(&event.source);
    html! { div.card { dl.facts {
        dt { "Received" } dd { (when(event.received_at)) }
        dt { "Provider's time" } dd { (when_or(event.provider_timestamp, "none")) }
        dt { "Type" } dd { (event.event_type.as_deref().unwrap_or("–")) }
        dt { "Delivery id" } dd { code { (event.delivery_id()) } }
        dt { "Event id" } dd { code { (event.event_id) } }
        dt { "Request" } dd { code { (event.method) " " (call.state.schemes.shown_target(&event.source, &event.target)) } }
        @if let Some(address) = event.remote_addr { dt { "From" } dd { (address) } }
        dt { "Verified" } dd {
            @match scheme {
                Some(scheme) => { (badge("done")) " " (scheme.verifier) @for what in &scheme.what { br; span.faint { (what) } } }
                None => span.faint { "stored by this relay; the source is not configured any more, or is its own" },
            }
        }
        dt { "SHA-256" } dd { code { (hex::encode(&event.body_sha256)) } ", " (size(body_bytes)) }
        @if !event.exact { dt { "Headers" } dd { "as the HTTP library read them, not byte for byte" } }
    } } }
}

fn headers(call: &Call, event: &Event) -> Markup {
    html! { div.card.scroll { table {
        thead { tr { th { "Name" } th { "Value" } } }
        tbody { @for header in &event.headers {
            @let (name, value) = call.state.schemes.shown(&event.source, header);
            tr { td { code { (name) } } td.wrap { code { (value) } @if value == MASK { " " span.faint { "a credential, not shown" } } } }
        } }
    } } }
}

fn replay_forms(call: &Call, here: &str, subscriptions: &[Subscription]) -> Markup {
    let action = format!("{here}/replay");
    html! { div.buttons {
        @if call.who.is_admin() || call.who.acts_as_person() {
            form.inline method="post" action=(action) {
                (csrf(&call.who)) input type="hidden" name="to" value="listeners"; button { "Replay to listeners" }
            }
        }
        @if call.who.is_admin() && !subscriptions.is_empty() {
            form.inline method="post" action=(action) {
                (csrf(&call.who))
                select.short name="to" aria-label="Push to" {
                    option value="all" { "all push subscriptions" }
                    @for one in subscriptions { option value=(one.id) { (one.name) } }
                }
                " " button { "Push again" }
            }
        }
    } }
}

fn delivery_table(rows: &[DeliveryRow]) -> Markup {
    html! { div.card.scroll { table {
        thead { tr { th { "Subscription" } th { "State" } th.num { "Attempts" } th { "Last" } th.wide { "Next or end" } th {} } }
        tbody {
            @for row in rows { tr {
                td { a href=(format!("/push/{}", row.subscription_id)) { (row.subscription_name) } }
                td { (badge(&row.state)) @if row.replayed { " " span.badge { "replayed" } } }
                td.num { (row.attempts) }
                td.wrap { (last(row)) }
                td.wide { (when(row.completed_at.unwrap_or(row.next_attempt_at))) }
                td { a href=(format!("/deliveries/{}", row.id)) { "history" } }
            } }
            @if rows.is_empty() { tr { td colspan="6" { "No push subscription was owed this event." } } }
        }
    } } }
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

fn listener_table(listeners: &[Listener], sequence: i64) -> Markup {
    html! { div.card.scroll { table {
        thead { tr { th { "Token" } th.wide { "Owner" } th { "This event" } } }
        tbody {
            @for one in listeners { tr {
                td { (one.token_name.as_deref().unwrap_or("?")) }
                td.wide { (one.owner_email.as_deref().unwrap_or("–")) }
                td { @if one.cursor >= sequence { (badge("done")) " past it" } @else { (badge("pending")) " " (sequence - one.cursor) " before it" } }
            } }
            @if listeners.is_empty() { tr { td colspan="3" { "Nobody listens to this source now." } } }
        }
    } } }
}

/// The request again, for a shell; credentials are left out, a body that is not plain text is a file.
fn curl(call: &Call, event: &Event) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut out = format!("curl -X {}", event.method);
    for header in &event.headers {
        let (name, value) = call.state.schemes.shown(&event.source, header);
        let skip = ["host", "content-length", "connection", "transfer-encoding", "accept-encoding"];
        if value != MASK && !skip.contains(&name.to_ascii_lowercase().as_str()) {
            out.push_str(&format!(" \\\n  -H {}", quote(&format!("{name}: {value}"))));
        }
    }
    match std::str::from_utf8(&event.body) {
        Ok(text) if text.len() < LONGEST_IN_COMMAND && !text.contains('\0') => {
            out.push_str(&format!(" \\\n  --data-binary {}", quote(text)));
        }
        _ => out.push_str(" \\\n  --data-binary @body.bin"),
    }
    out + " \\\n  http://localhost:3000/"
}

/// The bytes: as a download, or an image inside the page.
pub async fn raw(call: Call) -> Result<Answer, Error> {
    if !call.query.flag("inline") {
        return crate::api::events::body(call).await;
    }
    let (event, _) = find(&call, LONGEST_SHOWN).await?;
    let kind = content_type(&event);
    if !body::is_image(&kind) {
        return crate::api::events::body(call).await;
    }
    Ok(Answer::of(200, &kind, event.body).with("Content-Security-Policy", "default-src 'none'; sandbox"))
}

pub async fn replay(call: Call) -> Result<Answer, Error> {
    let (source, sequence) = (call.param("source").to_owned(), call.sequence()?);
    let form = call.form()?;
    let to = match form.get("to") {
        Some("listeners") => To { listeners: true, push: Push::None },
        Some("all") => To { listeners: false, push: Push::All },
        Some(id) => To { listeners: false, push: Push::Some(vec![id.to_owned()]) },
        None => return Err(Error::invalid("say to whom")),
    };
    replay_event(&call, &source, sequence, &to).await?;
    Ok(Answer::see(format!("/events/{}/{sequence}?done=replayed", encode(&source))))
}
