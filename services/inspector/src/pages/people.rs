//! People and invites.

use super::fields::{choice, copy};
use super::layout::{csrf, detail, page};
use super::tokens::unknown;
use super::words::{badge, full, when};
use crate::api::invites::link;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::ops::{invites, users};
use crate::store;
use crate::store::people::{Change, Person};
use maud::{Markup, html};

const MOST: i64 = 500;
const ROLES: [(&str, &str); 2] = [("member", "member: named sources"), ("admin", "admin: everything")];

pub async fn list(call: Call) -> Result<Answer, Error> {
    let db = call.session().await?;
    let people = store::people::list(&db, None, "", MOST).await?;
    let open = store::invites::list(&db, Some(false), None, MOST).await?;
    drop(db);
    let content = html! {
        @for person in &people { (card(&call, person)) }
        @if people.is_empty() { p { "Nobody yet." } }
        h2 { "Invite somebody" }
        form.row method="post" action="/users/invites" {
            (csrf(&call.who))
            (choice("role", "Role", &ROLES, None))
            label.grow { "Sources, separated by commas" input name="scopes" placeholder=(call.state.source_names().join(", ")) autocomplete="off"; }
            button.first { "Invite" }
        }
        h2 { "Open invites" }
        div.card.scroll { table.rows {
            thead { tr { th { "Role" } th { "Sources" } th { "Made" } th { "Ends" } th { span.sr { "End it" } } } }
            tbody {
                @for one in &open { tr {
                    td.lead { (one.role) } td.wrap { @if one.role == "admin" { "all" } @else { (one.scopes.join(", ")) } }
                    td data-l="made" { (when(one.created_at)) } td data-l="ends" { (when(one.expires_at)) }
                    td.act { form.inline method="post" action=(format!("/users/invites/{}/revoke", one.id)) { (csrf(&call.who)) button.small { "Revoke" } } }
                } }
                @if open.is_empty() { tr { td.none colspan="5" { "None." } } }
            }
        } }
    };
    Ok(page(&call, "People", content))
}

fn card(call: &Call, person: &Person) -> Markup {
    let action = |name: &str| format!("/users/{}/{name}", person.id);
    html! { details.card {
        summary {
            strong { (person.name) } " " span.faint { (person.email) } " " (badge(&person.role))
            @if !person.is_admin() { " " span.faint { (sources_of(person)) } }
            @if person.deactivated_at.is_some() { " " (badge("gone")) }
        }
        form.row method="post" action=(action("change")) {
            (csrf(&call.who))
            label { "Name" input name="name" value=(person.name) maxlength="200"; }
            (choice("role", "Role", &ROLES, Some(&person.role)))
            label.grow { "Sources, separated by commas" input name="scopes" value=(person.scopes.join(", ")) autocomplete="off"; }
            button { "Change" }
        }
        @if person.deactivated_at.is_some() {
            form method="post" action=(action("reactivate")) { (csrf(&call.who)) button { "Let them sign in again" } }
        } @else {
            form.row method="post" action=(action("deactivate")) {
                (csrf(&call.who))
                label { "Type their address to end their access" input name="confirm" autocomplete="off"; }
                button.danger { "Deactivate" }
            }
        }
    } }
}

fn sources_of(person: &Person) -> String {
    match person.scopes.is_empty() {
        true => "sees no source".to_owned(),
        false => format!("sees {}", person.scopes.join(", ")),
    }
}

pub async fn invite(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let scopes = [form.get("scopes").unwrap_or_default().to_owned()];
    let made = invites::create(&call, form.get("role").unwrap_or_default(), &scopes, None).await?;
    let url = link(&call, made.code.expose());
    let content = html! {
        p.note { "Send this link to the person. It is shown this once, works once, and ends " (full(made.expires_at)) "." }
        (unknown(&call, &made.scopes))
        code.secret id="secret" { (url) }
        div.buttons { (copy("secret")) a.button href="/users" { "Done" } }
    };
    Ok(detail(&call, ("People", "/users"), "An invite", content))
}

pub async fn revoke_invite(call: Call) -> Result<Answer, Error> {
    invites::revoke(&call, call.param("id")).await?;
    Ok(Answer::see("/users?done=revoked"))
}

pub async fn change(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let change = Change {
        name: form.get("name").map(|name| name.trim().to_owned()),
        role: form.get("role").map(invites::role_of).transpose()?.map(str::to_owned),
        scopes: form.raw("scopes").map(|text| vec![text.to_owned()]),
    };
    users::update(&call, call.uuid("id", "user")?, change).await?;
    Ok(Answer::see("/users?done=changed"))
}

pub async fn deactivate(call: Call) -> Result<Answer, Error> {
    let confirm = call.form()?.get("confirm").unwrap_or_default().to_owned();
    users::deactivate(&call, call.uuid("id", "user")?, &confirm).await?;
    Ok(Answer::see("/users?done=deactivated"))
}

pub async fn reactivate(call: Call) -> Result<Answer, Error> {
    users::reactivate(&call, call.uuid("id", "user")?).await?;
    Ok(Answer::see("/users?done=reactivated"))
}
