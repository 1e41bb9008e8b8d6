//! Tokens, as administrators see them.

use super::fields::{choice, copy, paging};
use super::layout::{csrf, detail, page};
use super::words::{badge, when, when_or};
use crate::api::tokens::{Token, kind_of, owner_of, page as read_page};
use crate::error::Error;
use crate::http::{Answer, Call, encode};
use crate::ops::tokens::{self, Wish};
use crate::store;
use crate::store::tokens::TokenRow;
use hooks_shared::Secret;
use hooks_shared::token::TokenKind;
use maud::{Markup, html};
use std::collections::HashMap;
use uuid::Uuid;

/// People whose addresses are looked up for the list; the owners of the rest are shown by their ids.
const MOST_PEOPLE: i64 = 500;
const LIST: (&str, &str) = ("Tokens", "/tokens");

/// Addresses of owners.
pub type Owners = HashMap<Uuid, String>;

pub async fn list(call: Call) -> Result<Answer, Error> {
    let found = read_page(&call, owner_of(&call)?).await?;
    let people = store::people::list(&*call.session().await?, None, "", MOST_PEOPLE).await?;
    let owners: Owners = people.into_iter().map(|person| (person.id, person.email)).collect();
    let ended = call.query.flag("include_revoked");
    let content = html! {
        nav.buttons aria-label="Which" { span.group {
            a.button href="/tokens" aria-current=[(!ended).then_some("true")] { "Live" }
            a.button href="/tokens?include_revoked=1" aria-current=[ended.then_some("true")] { "Ended too" }
        } }
        (table(&call, &found.tokens, Some(&owners), "/tokens"))
        (paging(&call, found.next.as_deref()))
        h2 { "Make one" }
        (create_form(&call, "/tokens"))
    };
    Ok(page(&call, LIST.0, content))
}

/// The table, with a button to end each under `path`, and owners where they may be shown.
pub fn table(call: &Call, tokens: &[Token], owners: Option<&Owners>, path: &str) -> Markup {
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Name" } th { "Kind" } th { "Scopes" } @if owners.is_some() { th { "Owner" } } th { "Made" } th { "Last used" } th { "Ends" } th { span.sr { "End it" } } } }
        tbody {
            @for token in tokens { tr {
                td.lead { (token.name) @if token.ephemeral { " " span.badge { "ephemeral" } } }
                td { (token.kind) }
                td.wrap { (token.scopes.join(", ")) }
                @if let Some(owners) = owners { td data-l="owner" { (owner(token, owners)) } }
                td data-l="made" { (when(token.created_at.0)) }
                td data-l="used" { (when_or(token.last_used_at.map(|at| at.0), "never")) }
                td data-l="ends" { (when_or(token.revoked_at.or(token.expires_at).map(|at| at.0), "never")) }
                td.act { @if token.revoked_at.is_none() {
                    form.inline method="post" action=(format!("{path}/{}/revoke", token.id)) data-ask=(format!("Revoke {}?", token.name)) {
                        (csrf(&call.who)) button.small.danger aria-label=(format!("Revoke {}", token.name)) { "Revoke" }
                    }
                } @else { (badge("revoked")) } }
            } }
            @if tokens.is_empty() { tr { td.none colspan="8" { "None." } } }
        }
    } } }
}

fn owner(token: &Token, owners: &Owners) -> Markup {
    html! { @match token.owner_user_id {
        Some(id) => @match owners.get(&id) {
            Some(email) => a href=(format!("/tokens?owner={}", encode(&id.to_string()))) { (email) },
            None => code { (&id.to_string()[..8]) },
        },
        None => span.faint { "nobody" },
    } }
}

pub fn create_form(call: &Call, action: &str) -> Markup {
    html! { form.row method="post" action=(action) {
        (csrf(&call.who))
        label { "Name" input name="name" required maxlength="200" autocomplete="off"; }
        (choice("kind", "Kind", &[("listener", "listener: receives events"), ("pat", "pat: uses the API")], None))
        label.grow { "Scopes, separated by commas" input name="scopes" required placeholder="source names, account, admin" autocomplete="off"; }
        label { "Ends after days" input name="days" inputmode="numeric" placeholder="never" autocomplete="off"; }
        button.first { "Make" }
    } }
}

/// What a form asks for.
pub fn wish(call: &Call) -> Result<Wish, Error> {
    let form = call.form()?;
    let scopes = tokens::clean_scopes(&[form.get("scopes").unwrap_or_default().to_owned()])?;
    Ok(Wish {
        name: form.get("name").unwrap_or_default().to_owned(),
        kind: kind_of(form.get("kind"))?.unwrap_or(TokenKind::Listener),
        scopes,
        ephemeral: false,
        lifetime: form.number("days", 1, 365)?.map(|days| days * 86_400),
    })
}

/// The token at the one moment at which it is shown.
pub fn made(call: &Call, list: (&str, &str), row: &TokenRow, text: &Secret) -> Answer {
    let content = html! {
        p.note { "This is the token. It is shown this once and stored nowhere." }
        (unknown(call, &row.scopes))
        code.secret id="secret" { (text.expose()) }
        div.buttons { (copy("secret")) a.button href=(list.1) { "Done" } }
    };
    detail(call, list, &row.name, content)
}

/// A word on sources that are not there: a name misspelt shows nobody anything.
pub fn unknown(call: &Call, scopes: &[String]) -> Markup {
    let names = tokens::unknown_sources(call, scopes).join(", ");
    html! {
        @if !names.is_empty() {
            p.note.wait { "The configuration has no source of this name: " (names) ". It opens nothing until there is one." }
        }
    }
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let (row, text) = tokens::create_system(&call, &wish(&call)?).await?;
    Ok(made(&call, LIST, &row, &text))
}

pub async fn revoke(call: Call) -> Result<Answer, Error> {
    match tokens::revoke(&call, call.uuid("id", "token")?, None).await? {
        true => Ok(Answer::see("/tokens?done=revoked")),
        false => Err(Error::NotFound("token")),
    }
}
