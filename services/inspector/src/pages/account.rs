//! One's own account.

use super::layout::{csrf, page};
use super::tokens::{create_form, made, table, wish};
use super::words::when;
use crate::api::tokens::page as read_tokens;
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::ops::audit::{Entry, record};
use crate::ops::{tokens, users};
use crate::store;
use crate::store::people::Person;
use crate::store::sessions::Listed;
use crate::store::tokens::Owner;
use maud::{Markup, html};

fn person(call: &Call) -> Result<&Person, Error> {
    call.who.person.as_ref().ok_or(Error::Unauthorized)
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let me = person(&call)?;
    let own = read_tokens(&call, Owner::Person(me.id)).await?;
    let sessions = store::sessions::list(&*call.session().await?, me.id).await?;
    let content = html! {
        div.card { dl.facts {
            dt { "Name" } dd { (me.name) }
            dt { "Address" } dd { (me.email) }
            dt { "Role" } dd { (me.role) }
            dt { "Sources" } dd { @if me.is_admin() { "all" } @else { (me.scopes.join(", ")) } }
        } }
        h2 { "Your tokens" }
        (table(&call, &own.tokens, None, "/me/tokens"))
        (create_form(&call, "/me/tokens"))
        h2 { "Your browsers" }
        (session_table(&call, &sessions))
        h2 { "Change your password" }
        form.row method="post" action="/me/password" {
            (csrf(&call.who))
            label { "Present one" input type="password" name="current_password" required autocomplete="current-password"; }
            label { "New one" input type="password" name="new_password" required minlength="12" autocomplete="new-password"; }
            button { "Change" }
        }
    };
    Ok(page(&call, "Your account", content))
}

fn session_table(call: &Call, sessions: &[Listed]) -> Markup {
    let here = call.who.browser.as_ref().map(|browser| browser.session_id);
    html! { div.card.scroll { table.rows {
        thead { tr { th { "Browser" } th { "From" } th { "Last used" } th { span.sr { "End it" } } } }
        tbody { @for one in sessions { tr {
            td.wrap { (one.user_agent) @if one.user_agent.is_empty() { span.faint { "unknown" } } }
            td data-l="from" { @if let Some(address) = one.address { (address) } }
            td data-l="used" { (when(one.last_used_at)) }
            td.act { @if here == Some(one.id) { span.badge { "this one" } } @else {
                form.inline method="post" action=(format!("/me/sessions/{}/end", one.id)) { (csrf(&call.who)) button.small { "Sign out" } }
            } }
        } } }
    } } }
}

pub async fn create_token(call: Call) -> Result<Answer, Error> {
    let (row, text) = tokens::create_own(&call, wish(&call)?).await?;
    Ok(made(&call, ("Your account", "/me"), &row, &text))
}

pub async fn revoke_token(call: Call) -> Result<Answer, Error> {
    let owner = person(&call)?.id;
    match tokens::revoke(&call, call.uuid("id", "token")?, Some(owner)).await? {
        true => Ok(Answer::see("/me?done=revoked")),
        false => Err(Error::NotFound("token")),
    }
}

pub async fn password(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let field = |name: &str| form.get(name).unwrap_or_default().to_owned();
    users::change_own_password(&call, &field("current_password"), &field("new_password")).await?;
    Ok(Answer::see("/me?done=changed"))
}

pub async fn end_session(call: Call) -> Result<Answer, Error> {
    let id = call.uuid("id", "session")?;
    let owner = person(&call)?.id;
    let db = call.session().await?;
    if !store::sessions::delete(&db, id, Some(owner)).await? {
        return Err(Error::NotFound("session"));
    }
    record(&db, &call.who, &call.incoming.origin, Entry::new("session.delete", format!("session:{id}")))
        .await?;
    Ok(Answer::see("/me?done=changed"))
}
