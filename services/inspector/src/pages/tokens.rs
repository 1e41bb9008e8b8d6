//! Tokens, as administrators see them.

use super::layout::{choice, csrf, next_link, page, when, when_or};
use crate::api::tokens::{Token, kind_of, owner_of, page as read_page};
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::ops::tokens::{self, Wish};
use hooks_shared::Secret;
use hooks_shared::token::TokenKind;
use maud::{Markup, html};

pub async fn list(call: Call) -> Result<Answer, Error> {
    let found = read_page(&call, owner_of(&call)?).await?;
    let ended = call.query.flag("include_revoked");
    let content = html! {
        div.buttons {
            @if ended { a.button href="/tokens" { "Only live ones" } }
            @else { a.button href="/tokens?include_revoked=1" { "Also ended ones" } }
        }
        (table(&call, &found.tokens, "/tokens"))
        (next_link(found.next.as_deref()))
        h2 { "Make one" }
        (create_form(&call, "/tokens"))
    };
    Ok(page(&call, "Tokens", content))
}

/// The table, with a button to end each under `path`.
pub fn table(call: &Call, tokens: &[Token], path: &str) -> Markup {
    html! { div.card.scroll { table {
        thead { tr { th { "Name" } th { "Kind" } th { "Scopes" } th.wide { "Owner" } th.wide { "Made" } th { "Last used" } th.wide { "Ends" } th {} } }
        tbody {
            @for token in tokens { tr {
                td.wrap { (token.name) @if token.ephemeral { " " span.badge { "ephemeral" } } }
                td { (token.kind) }
                td.wrap { (token.scopes.join(", ")) }
                td.wide { @match token.owner_user_id { Some(id) => code { (&id.to_string()[..8]) }, None => span.faint { "nobody" } } }
                td.wide { (when(token.created_at.0)) }
                td { (when_or(token.last_used_at.map(|at| at.0), "never")) }
                td.wide { (when_or(token.revoked_at.or(token.expires_at).map(|at| at.0), "–")) }
                td { @if token.revoked_at.is_none() {
                    form.inline method="post" action=(format!("{path}/{}/revoke", token.id)) data-ask=(format!("Revoke {}?", token.name)) {
                        (csrf(&call.who)) button.small.danger { "Revoke" }
                    }
                } @else { span.badge { "revoked" } } }
            } }
            @if tokens.is_empty() { tr { td colspan="8" { "None." } } }
        }
    } } }
}

pub fn create_form(call: &Call, action: &str) -> Markup {
    html! { form.row method="post" action=(action) {
        (csrf(&call.who))
        label { "Name" input name="name" required maxlength="200"; }
        (choice("kind", "Kind", &[("listener", "listener: receives events"), ("pat", "pat: uses the API")], None))
        label.grow { "Scopes" input name="scopes" required placeholder="source names, account, admin; separated by commas"; }
        label { "Ends after days" input name="days" inputmode="numeric" placeholder="never"; }
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
pub fn made(call: &Call, name: &str, text: &Secret, back: &str) -> Answer {
    let content = html! {
        p.note { "This is the token. It is shown this once and stored nowhere." }
        code.secret id="secret" { (text.expose()) }
        div.buttons { button type="button" data-copy="secret" { "Copy" } a.button href=(back) { "Done" } }
    };
    page(call, name, content)
}

pub async fn create(call: Call) -> Result<Answer, Error> {
    let (row, text) = tokens::create_system(&call, &wish(&call)?).await?;
    Ok(made(&call, &row.name, &text, "/tokens"))
}

pub async fn revoke(call: Call) -> Result<Answer, Error> {
    match tokens::revoke(&call, call.uuid("id", "token")?, None).await? {
        true => Ok(Answer::see("/tokens?done=revoked")),
        false => Err(Error::NotFound("token")),
    }
}
