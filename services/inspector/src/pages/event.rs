//! One event: headers, body, who received it, and again.

use super::body::{self, View};
use super::fields::copy;
use super::layout::{csrf, detail};
use super::words::{badge, full, full_or, size};
use super::{curl, receivers};
use crate::api::events::{content_type, find};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::replay::replay as replay_event;
use crate::schemes::MASK;
use crate::store;
use hooks_shared::event::Event;
use hooks_shared::push::event_replay::{Push, To};
use hooks_shared::push::subscriptions::Subscription;
use maud::{Markup, html};

const LONGEST_SHOWN: i64 = 1 << 20;

pub async fn show(call: Call) -> Result<Answer, Error> {
    let (event, body_bytes) = find(&call, LONGEST_SHOWN).await?;
    let db = call.session().await?;
    let deliveries = store::deliveries::of_event(&db, &event.source, event.sequence).await?;
    let attempts = store::deliveries::attempts_of_event(&db, &event.source, event.sequence).await?;
    let listeners = store::listeners::listeners(&db, Some(&event.source)).await?;
    let subscriptions = hooks_shared::push::subscriptions::list(&db, Some(&event.source)).await?;
    drop(db);
    let here = format!("/events/{}/{}", encode(&event.source), event.sequence);
    let content = html! {
        (replay_forms(&call, &here, &subscriptions, listeners.len()))
        (facts(&call, &event, body_bytes))
        h2 id="body-title" { "Body" }
        (body_card(&call, &event, body_bytes, &here))
        h2 { "Headers" }
        (headers(&call, &event))
        h2 { "Push deliveries" }
        (receivers::deliveries(&deliveries, &attempts))
        h2 { "Listeners connected now" }
        (receivers::listeners(&listeners, event.sequence))
        h2 { "As a command" }
        (curl::show(&call, &event, &here, copy("curl")))
    };
    Ok(detail(&call, ("Events", "/events"), &format!("{} #{}", event.source, event.sequence), content))
}

fn facts(call: &Call, event: &Event, body_bytes: i64) -> Markup {
    html! { div.card { dl.facts {
        dt { "Received" } dd { (full(event.received_at)) }
        dt { "Provider's time" } dd { (full_or(event.provider_timestamp, "none given")) }
        dt { "Verification" } dd { (verdict(call, event)) }
        dt { "Source" } dd { a href=(format!("/sources/{}", encode(&event.source))) { (event.source) } }
        dt { "Type" } dd { (event.event_type.as_deref().unwrap_or("–")) }
        dt { "Delivery id" } dd { code { (event.delivery_id()) } }
        dt { "Event id" } dd { code { (event.event_id) } }
        dt { "Request" } dd { code { (event.method) " " (call.state.schemes.shown_target(&event.source, &event.target)) } }
        @if let Some(address) = event.remote_addr { dt { "From" } dd { (address) } }
        dt { "Body" } dd { (size(body_bytes)) ", SHA-256 " code { (hex::encode(&event.body_sha256)) } }
        @if !event.exact { dt { "Headers" } dd { "as the HTTP library read them, not byte for byte" } }
    } } }
}

/// What is stored was verified on its way in; by what, the configuration says.
fn verdict(call: &Call, event: &Event) -> Markup {
    let scheme = call.state.schemes.get(&event.source);
    html! { @match scheme {
        Some(scheme) => {
            (badge("verified")) " " (scheme.verifier)
            @for what in &scheme.what { br; span.faint { (what) } }
            @if !scheme.body_protected { br; span.faint { "the body is not covered by a signature" } }
            @if !scheme.time_protected { br; span.faint { "no signed time: an old request could be sent again" } }
        }
        None => span.faint { "of a source that the configuration does not name: the relay's own, or one of before" },
    } }
}

fn body_card(call: &Call, event: &Event, body_bytes: i64, here: &str) -> Markup {
    let kind = content_type(event);
    let views = body::views(&kind, &event.body);
    let asked = call.query.get("view");
    let view = views.iter().copied().find(|view| asked == Some(view.name())).or(views.first().copied());
    let shown = view.filter(|_| body_bytes <= LONGEST_SHOWN);
    let kind = if kind.is_empty() { "no content type" } else { kind.as_str() };
    html! { div.card {
        div.buttons {
            @if shown.is_some() && body_bytes > 0 { nav.group aria-labelledby="body-title" {
                @for one in &views {
                    a.button href=(format!("{here}?view={}#body-title", one.name())) aria-current=[(Some(*one) == view).then_some("true")] { (title_of(*one)) }
                }
            } }
            a.button href=(format!("{here}/body")) { "Raw bytes" }
            @if shown.is_some() && body_bytes > 0 && view != Some(View::Image) { (copy("body")) }
            span.faint { (kind) ", " (size(body_bytes)) }
        }
        @match shown {
            Some(view) => (body::show(view, &event.body, &format!("{here}/body?inline=1"))),
            None => p.faint { "Too long to be shown; the raw bytes are there." },
        }
    } }
}

fn title_of(view: View) -> &'static str {
    match view {
        View::Json => "JSON",
        View::Form => "Form",
        View::Image => "Image",
        View::Text => "Text",
        View::Hex => "Hex",
    }
}

fn headers(call: &Call, event: &Event) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Name" } th { "Value" } } }
        tbody {
            @for header in &event.headers {
                @let (name, value) = call.state.schemes.shown(&event.source, header);
                tr { td.lead.name { code { (name) } } td.wrap { code { (value) } @if value == MASK { " " span.faint { "a credential, not shown" } } } }
            }
            @if event.headers.is_empty() { tr { td.none colspan="2" { "None." } } }
        }
    } } }
}

fn replay_forms(call: &Call, here: &str, subscriptions: &[Subscription], listening: usize) -> Markup {
    let action = format!("{here}/replay");
    html! { div.buttons {
        @if call.who.is_admin() || call.who.acts_as_person() {
            form.inline method="post" action=(action) {
                (csrf(&call.who)) input type="hidden" name="to" value="listeners";
                button { "Replay to listeners" } " " span.faint { (listening) " connected" }
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
