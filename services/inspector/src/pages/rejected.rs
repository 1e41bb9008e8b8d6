//! Refused requests of a source, and what the doctor says of them. For administrators: such a request may hold anything.

use super::body;
use super::layout::{detail, sentence};
use super::words::{badge, full, size, when};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::schemes::MASK;
use crate::store;
use crate::store::rejected::{Rejected, Request};
use hooks_shared::event::header;
use maud::{Markup, html};

pub fn table(call: &Call, source: &str, refused: &[Rejected]) -> Markup {
    let none = match call.state.keeps_rejected(source) {
        true => "None lately. The newest hundred of a day are kept.",
        false => "None are kept, because of record_rejected: false in hooks.yaml.",
    };
    html! { div.card.scroll { table.rows {
        thead { tr { th { "When" } th { "Verdict" } th.num { "Answered" } th { "What the doctor says" } th.num { "Body" } th { span.sr { "More" } } } }
        tbody {
            @for one in refused { tr {
                td { (when(one.at)) }
                td { (badge("refused")) " " (one.verdict.replace('_', " ")) }
                td.num data-l="answered" { (one.status) }
                td.wrap { (reason(one)) @if one.reasons.len() > 1 { " " span.faint { "and " (one.reasons.len() - 1) " more" } } }
                td.num { (size(one.body_bytes)) }
                td.act { a href=(format!("/sources/{}/rejected/{}", encode(source), one.id)) aria-label=(format!("Refused request {}", one.id)) { "Request" } }
            } }
            @if refused.is_empty() { tr { td.none colspan="6" { (none) } } }
        }
    } } }
}

/// The first reason is the most telling.
fn reason(one: &Rejected) -> Markup {
    html! { @match one.reasons.first() {
        Some(first) => { (sentence(first)) " " @if one.certain { (badge("proved")) } @else { (badge("suspected")) } },
        None => span.faint { "It does not know why." },
    } }
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let id = call.param("id").parse().map_err(|_| Error::NotFound("refused request"))?;
    let source = call.param("source").to_owned();
    if source.contains('\0') {
        return Err(Error::NotFound("refused request"));
    }
    let found = store::rejected::show(&*call.session().await?, &source, Some(id)).await?;
    let (one, request) = found.ok_or(Error::NotFound("refused request"))?;
    let content = html! {
        div.note.bad {
            strong { "Refused: " } (one.verdict.replace('_', " ")) ", answered with " (one.status) ". "
            @if one.certain { (badge("proved")) } @else { (badge("suspected")) }
        }
        h2 { "Why, as far as the doctor can tell" }
        div.card { @if one.reasons.is_empty() { p.faint { "It does not know." } } @else {
            ol.steps { @for reason in &one.reasons { li { (sentence(reason)) } } }
        } }
        (facts(&call, &source, &one, &request))
        h2 { "Headers" }
        (headers(&call, &source, &request))
        h2 { "Body" }
        (body_card(&one, &request))
    };
    let list = (source.as_str(), format!("/sources/{}", encode(&source)));
    Ok(detail(&call, (list.0, &list.1), "A refused request", content))
}

fn facts(call: &Call, source: &str, one: &Rejected, request: &Request) -> Markup {
    html! { div.card { dl.facts {
        dt { "When" } dd { (full(one.at)) }
        dt { "Request" } dd { code { (one.method) " " (call.state.schemes.shown_target(source, &request.target)) } }
        dt { "From" } dd { (request.remote_addr.as_deref().unwrap_or("unknown")) }
        dt { "Body" } dd { (size(one.body_bytes)) }
        dt { "Explained on the command line" } dd { code { "hooksctl signature explain " (source) " " (one.id) } }
    } } }
}

fn headers(call: &Call, source: &str, request: &Request) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Name" } th { "Value" } } }
        tbody { @for header in &request.headers {
            @let (name, value) = call.state.schemes.shown(source, header);
            tr { td.lead.name { code { (name) } } td.wrap { code { (value) } @if value == MASK { " " span.faint { "a credential, not shown" } } } }
        } }
    } } }
}

/// Never as an image: a refused one has no address that a page could load.
fn body_card(one: &Rejected, request: &Request) -> Markup {
    let kind = String::from_utf8_lossy(header(&request.headers, "content-type").unwrap_or_default())
        .to_ascii_lowercase();
    let views = body::views(&kind, &request.body);
    let view = views.into_iter().find(|view| *view != body::View::Image).unwrap_or(body::View::Hex);
    let kept = request.body.len() as i64;
    html! { div.card {
        @if kept < one.body_bytes { p.faint { "The first " (size(kept)) " of " (size(one.body_bytes)) " are kept." } }
        (body::show(view, &request.body, ""))
    } }
}
