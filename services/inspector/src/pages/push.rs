//! Push subscriptions.

use super::layout::{badge, choice, csrf, page, when, when_or};
use super::plot;
use crate::api::push::{find, make, read_wish, rotate as rotate_secret, visible};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::push::acting;
use crate::store;
use hooks_shared::Secret;
use hooks_shared::push::subscriptions::{self, Subscription};
use maud::{Markup, html};
use serde_json::{Map, Value};

pub async fn list(call: Call) -> Result<Answer, Error> {
    let all = visible(&call, None).await?;
    let content = html! {
        div.card.scroll { table {
            thead { tr { th { "Name" } th { "Source" } th.wide { "URL" } th { "State" } th.num { "Owed" } th.num { "Failed" } } }
            tbody {
                @for one in &all { tr {
                    td { a href=(format!("/push/{}", one.id)) { (one.name) } }
                    td { (one.source) }
                    td.wide.wrap { code { (shown_url(&one.url)) } }
                    td { (badge(&one.state)) }
                    td.num { (one.behind + one.open) }
                    td.num { @if one.failed > 1000 { "1000+" } @else { (one.failed) } }
                } }
                @if all.is_empty() { tr { td colspan="6" { "None. A push subscription gets every event of a source at a URL." } } }
            }
        } }
        @if call.who.is_admin() { (create_form(&call)) }
    };
    Ok(page(&call, "Push subscriptions", content))
}

/// A URL's query may hold a credential of the receiver.
fn shown_url(url: &str) -> String {
    match url.split_once('?') {
        Some((before, _)) => format!("{before}?…"),
        None => url.to_owned(),
    }
}

fn create_form(call: &Call) -> Markup {
    let names = call.state.source_names();
    let names: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    html! {
        h2 { "Add one" }
        form.row method="post" action="/push" {
            (csrf(&call.who))
            (choice("source", "Source", &names, None))
            label.grow { "URL" input type="url" name="url" required maxlength="2048" placeholder="https://example.com/hooks"; }
            label { "Name" input name="name" maxlength="200"; }
            (choice("start", "Begin", &[("latest", "with the next event"), ("0", "with everything kept")], None))
            (choice("signing", "Signing", &[("hooks", "hooks"), ("standard_webhooks", "standard webhooks")], None))
            button.first { "Add" }
        }
    }
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let mut fields = Map::new();
    for name in ["source", "url", "name", "start", "signing"] {
        if let Some(value) = form.get(name) {
            fields.insert(name.to_owned(), Value::from(value));
        }
    }
    let (made, secret) = make(&call, &read_wish(fields)?).await?;
    Ok(page(&call, &made.name, show_secret(&made.id, &secret)))
}

fn show_secret(id: &str, secret: &Secret) -> Markup {
    html! {
        p.note { "This is the signing secret. It is shown this once; give it to the receiver now." }
        code.secret id="secret" { (secret.expose()) }
        div.buttons {
            button type="button" data-copy="secret" { "Copy" }
            a.button href=(format!("/push/{id}")) { "To the subscription" }
        }
    }
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let one = find(&call).await?;
    let recent = store::deliveries::latency(&*call.session().await?, &one.id, &one.source).await?;
    let content = html! {
        @if one.state != "active" {
            p.note.bad { "This subscription is " (one.state) @if let Some(by) = &one.state_by { " by " (by) }
                @if let Some(reason) = &one.state_reason { ": " (reason) } "." }
        }
        @if call.who.is_admin() && one.state != "deleted" { (actions(&call, &one)) }
        div.tiles {
            div.tile { b { (one.behind + one.open) } span { "owed" } }
            div.tile { b { (one.open) } span { a href=(format!("/deliveries?subscription={}", one.id)) { "open deliveries" } } }
            div.tile { b { (one.failed) } span { a href=(format!("/deliveries?subscription={}&state=failed", one.id)) { "failed" } } }
            div.tile { b { (one.strikes) } span { "failures in a row" } }
        }
        (plot::attempts(&recent))
        (facts(&one))
    };
    Ok(page(&call, &one.name, content))
}

fn facts(one: &Subscription) -> Markup {
    html! { div.card { dl.facts {
        dt { "Source" } dd { (one.source) }
        dt { "URL" } dd { code { (shown_url(&one.url)) } }
        dt { "Signing" } dd { (one.signing) @if let Some(until) = one.previous_secret_until { ", the secret before signs too until " (when(until)) } }
        dt { "At once" } dd { (one.max_in_flight) @if let Some(rate) = one.rate { ", at most " (rate) " a second" } @if one.ordered { ", in order" } }
        dt { "Cursor" } dd { "#" (one.cursor) ", " (one.behind) " behind" }
        dt { "Failing since" } dd { (when_or(one.failing_since, "not")) }
        @if let Some(at) = one.probe_at { dt { "Tried next" } dd { (when(at)) " (the receiver did not answer several times in a row)" } }
        dt { "Made" } dd { (when(one.created_at)) " by " (one.created_by) }
        dt { "Id" } dd { code { (one.id) } }
    } } }
}

fn actions(call: &Call, one: &Subscription) -> Markup {
    let button = |name: &str, text: &str, class: &str, ask: Option<&str>| {
        html! { form.inline method="post" action=(format!("/push/{}/{name}", one.id)) data-ask=[ask] {
            (csrf(&call.who)) button class=(class) { (text) }
        } }
    };
    html! { div.buttons {
        (button("test", "Send a test", "", None))
        @if one.state == "active" { (button("pause", "Pause", "", None)) } @else { (button("resume", "Resume", "first", None)) }
        (button("rotate-secret", "New secret", "", Some("Make a new signing secret? The old one signs too for a day.")))
        (button("delete", "Delete", "danger", Some("Delete this subscription and cancel all it owes?")))
    } }
}

fn back(call: &Call, done: &str) -> Answer {
    Answer::see(format!("/push/{}?done={done}", encode(call.param("id"))))
}

pub async fn pause(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::pause(&*acting(&call).await?, &call.who.label(), call.param("id"), None).await?;
    Ok(back(&call, "paused"))
}

pub async fn resume(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::resume(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(back(&call, "resumed"))
}

pub async fn test(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    let delivery = subscriptions::test(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::see(format!("/deliveries/{}?done=tested", encode(&delivery))))
}

pub async fn rotate(call: Call) -> Result<Answer, Error> {
    let one = find(&call).await?;
    let secret = rotate_secret(&call, None, None).await?;
    Ok(page(&call, &one.name, show_secret(&one.id, &secret)))
}

pub async fn delete(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    subscriptions::delete(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::see("/push?done=deleted"))
}
