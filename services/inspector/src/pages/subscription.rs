//! One push subscription: how it stands, its attempts and backlog, what it is, and changing it.

use super::fields::{button, choice};
use super::layout::{csrf, detail, sentence};
use super::plot::{self, Span, Unit};
use super::push::{LIST, SIGNING};
use super::standing::Board;
use super::words::{full, full_or, when};
use crate::api::push::find;
use crate::api::sources::Point;
use crate::error::Error;
use crate::http::{Answer, Call, Pairs, encode};
use crate::moment::Moment;
use crate::ops::push::{acting, desk};
use crate::store::{self, samples};
use hooks_shared::push::definition::Patch;
use hooks_shared::push::subscriptions::{self, Subscription};
use maud::{Markup, html};
use serde_json::{Map, Value};
use time::Duration;

pub async fn show(call: Call) -> Result<Answer, Error> {
    let one = find(&call).await?;
    let span = Span::last(Duration::DAY);
    let db = call.session().await?;
    let recent = store::deliveries::latency(&db, &one.id, &one.source).await?;
    let owed = samples::read(&db, "owed", Some(&one.id), span.from).await?;
    let due = samples::read(&db, "oldest_due", Some(&one.id), span.from).await?;
    drop(db);
    let points = |samples: Vec<samples::Sample>| -> Vec<Point> {
        samples.iter().map(|sample| Point { at: Moment(sample.at), value: sample.value }).collect()
    };
    let board = Board::of(&call, vec![one.clone()]).await?;
    let deleted = one.state == "deleted";
    let content = html! {
        @if call.who.is_admin() && !deleted { (actions(&call, &one)) }
        (board.tiles())
        (plot::attempts("Attempts of the newest deliveries", &recent))
        div.plots {
            (plot::line("Owed, last day", &points(owed), Unit::Number, span))
            (plot::line("Oldest due, last day", &points(due), Unit::Seconds, span))
        }
        (facts(&one))
        @if call.who.is_admin() && !deleted { (change_form(&call, &one)) }
    };
    Ok(detail(&call, LIST, &one.name, content))
}

/// A URL's query may hold a credential of the receiver.
fn shown_url(url: &str) -> String {
    match url.split_once('?') {
        Some((before, _)) => format!("{before}?…"),
        None => url.to_owned(),
    }
}

fn facts(one: &Subscription) -> Markup {
    html! { div.card { dl.facts {
        dt { "Source" } dd { a href=(format!("/sources/{}", encode(&one.source))) { (one.source) } }
        dt { "URL" } dd { code { (shown_url(&one.url)) } }
        dt { "Deliveries" } dd { a href=(format!("/deliveries?subscription={}", one.id)) { "all of them" } }
        @if one.state != "active" {
            dt { "State" }
            dd { (one.state) @if let Some(by) = &one.state_by { " by " (by) } " " (when(one.state_at))
                @if let Some(reason) = &one.state_reason { ": " (sentence(reason)) } }
        }
        dt { "Signing" } dd { (one.signing) @if let Some(until) = one.previous_secret_until { ", the secret before signs too until " (full(until)) } }
        dt { "At once" } dd { (one.max_in_flight) @if let Some(rate) = one.rate { ", at most " (rate) " a second" } @if one.ordered { ", in order" } }
        dt { "After the last attempt" } dd { @if one.on_failure == "stop" { "it stops" } @else { "the delivery is parked as failed, others go on" } }
        dt { "Cursor" } dd { "#" (one.cursor) ", " (one.behind) " behind the newest event" }
        dt { "Failing since" } dd { (full_or(one.failing_since, "not failing")) }
        @if let Some(at) = one.probe_at { dt { "Tried next" } dd { (full(at)) ", after " (one.strikes) " failures in a row" } }
        dt { "Made" } dd { (full(one.created_at)) " by " (one.created_by) }
        dt { "Id" } dd { code { (one.id) } }
    } } }
}

fn actions(call: &Call, one: &Subscription) -> Markup {
    let action = |name: &str| format!("/push/{}/{name}", one.id);
    html! { div.buttons {
        (button(call, &action("test"), "Send a test", "", None))
        @if one.state == "active" { (button(call, &action("pause"), "Pause", "", None)) }
        @else { (button(call, &action("resume"), "Resume", "first", None)) }
        (button(call, &action("rotate-secret"), "New secret", "", Some("Make a new signing secret? The old one signs too for a day.")))
        (button(call, &action("delete"), "Delete", "danger", Some("Delete this subscription and cancel all it owes?")))
    } }
}

fn change_form(call: &Call, one: &Subscription) -> Markup {
    let rate = one.rate.map(|rate| rate.to_string()).unwrap_or_default();
    let known = SIGNING.iter().any(|(name, _)| *name == one.signing);
    let own = [(one.signing.as_str(), one.signing.as_str())];
    let signing: Vec<(&str, &str)> = SIGNING.iter().chain(own.iter().filter(|_| !known)).copied().collect();
    html! {
        h2 { "Change it" }
        form.row method="post" action=(format!("/push/{}/change", one.id)) {
            (csrf(&call.who))
            label { "Name" input name="name" value=(one.name) required maxlength="200" autocomplete="off"; }
            label.grow { "Another URL" input type="url" name="url" maxlength="2048" placeholder="as it is" autocomplete="off"; }
            label { "Requests at once" input name="max_in_flight" inputmode="numeric" value=(one.max_in_flight) required; }
            label { "A second, at most" input name="rate" inputmode="decimal" value=(rate) placeholder="no limit"; }
            (choice("ordered", "Order", &[("false", "as they can be sent"), ("true", "one after the other")], Some(if one.ordered { "true" } else { "false" })))
            (choice("signing", "Signing", &signing, Some(&one.signing)))
            button { "Change" }
        }
    }
}

/// What a form asks for; an empty rate takes the limit away.
fn patch_of(form: &Pairs) -> Result<Patch, Error> {
    let mut fields = Map::new();
    for name in ["name", "url", "signing"] {
        if let Some(value) = form.get(name) {
            fields.insert(name.to_owned(), Value::from(value));
        }
    }
    if let Some(number) = form.number("max_in_flight", 1, i64::from(i32::MAX))? {
        fields.insert("max_in_flight".to_owned(), Value::from(number));
    }
    if let Some(text) = form.raw("rate") {
        let rate = match text.trim() {
            "" => Value::Null,
            text => Value::from(text.parse::<f64>().map_err(|_| Error::invalid("rate: must be a number"))?),
        };
        fields.insert("rate".to_owned(), rate);
    }
    if form.has("ordered") {
        fields.insert("ordered".to_owned(), Value::from(form.flag("ordered")));
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| Error::invalid(error.to_string()))
}

pub async fn change(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let patch = patch_of(&call.form()?)?;
    let id = call.param("id");
    subscriptions::update(&*acting(&call).await?, &desk(&call)?, id, &patch).await?;
    Ok(Answer::see(format!("/push/{}?done=changed", encode(id))))
}
