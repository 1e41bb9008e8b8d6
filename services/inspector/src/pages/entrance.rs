//! Signing in and up, and confirming a command line.

use super::layout::{csrf, entrance, page, sentence};
use super::words::when;
use crate::auth::device;
use crate::auth::session::{sign_in as begin_session, sign_out as end_session};
use crate::auth::signup::{Newcomer, sign_up as become_person};
use crate::error::Error;
use crate::http::{Answer, Call};
use crate::store;
use maud::{Markup, html};

/// Where a sign-in leads: a path of ours and nothing else.
fn safe_next(next: Option<&str>) -> &str {
    let Some(path) = next else { return "/" };
    let plain = path.starts_with('/')
        && !path.starts_with("//")
        && !path.contains(['\\', '\r', '\n', '\t'])
        && !path.chars().any(char::is_control);
    if plain { path } else { "/" }
}

fn login_form(next: &str, email: &str, complaint: Option<&Error>) -> Markup {
    html! {
        @if let Some(error) = complaint { p.note.bad role="alert" { (sentence(&error.to_string())) } }
        form.stack.card method="post" action="/login" {
            input type="hidden" name="next" value=(next);
            label { "Email" input type="email" name="email" value=(email) required autocomplete="username" autofocus; }
            label { "Password" input type="password" name="password" required autocomplete="current-password"; }
            button.first { "Sign in" }
        }
        p.faint { "No account? Somebody who has one can invite you. The first one is made with " code { "hooksctl admin init" } "." }
    }
}

pub async fn login(call: Call) -> Result<Answer, Error> {
    let next = safe_next(call.query.get("next"));
    if call.who.browser.is_some() {
        return Ok(Answer::see(next));
    }
    // Without a database this is not known; the form then says that nothing works.
    let there_are = match call.session().await {
        Ok(db) => store::people::any(&db).await.unwrap_or(true),
        Err(_) => true,
    };
    match there_are {
        true => Ok(entrance(200, "Sign in", login_form(next, "", None))),
        false => Ok(entrance(200, "Nobody has an account yet", first_visit(&call))),
    }
}

/// How the first administrator is made. Only who can reach the server can do it, so there is nothing to fill in here.
fn first_visit(call: &Call) -> Markup {
    let here = call.incoming.base_url(&call.state);
    html! {
        p { "The first administrator is made from the server’s command line; everybody else by an invite." }
        div.card {
            h3 { "With the database’s address" }
            ol.steps {
                li { "Where " code { "HOOKS_DATABASE_URL" } " names the relay’s database, run"
                    pre.small tabindex="0" { "HOOKS_INSPECTOR=" (here) " \\\n  hooksctl admin init" } }
                li { "It prints a link, once. Open it within a day and choose a password." }
            }
            h3 { "With a bootstrap token" }
            ol.steps {
                li { "Where " code { "hooksctl migrate" } " ran with " code { "HOOKS_BOOTSTRAP_TOKEN" } " set (as in the compose file), that token is an administrator’s. Run"
                    pre.small tabindex="0" { "HOOKS_INSPECTOR=" (here) " HOOKS_TOKEN=… \\\n  hooksctl invite create --role admin" } }
                li { "Open the link that it prints." }
            }
        }
        p { "Have an invite? " a href="/signup" { "Make your account" } "." }
    }
}

pub async fn sign_in(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let next = safe_next(form.get("next"));
    let (email, password) = (form.get("email").unwrap_or_default(), form.get("password").unwrap_or_default());
    let brought = call.who.browser.as_ref().map(|browser| browser.session_id);
    let done = if email.contains('\0') {
        Err(Error::BadCredentials)
    } else {
        begin_session(&call.state, &call.incoming, brought, email, password).await
    };
    match done {
        Ok(signed_in) => Ok(Answer::see(next).with("Set-Cookie", signed_in.cookie)),
        Err(error @ (Error::BadCredentials | Error::Forbidden(_) | Error::RateLimited(_))) => {
            Ok(entrance(error.status(), "Sign in", login_form(next, email, Some(&error))))
        }
        Err(error) => Err(error),
    }
}

pub async fn sign_out(call: Call) -> Result<Answer, Error> {
    let cookie = end_session(&call.state, &call.incoming, &call.who).await?;
    Ok(Answer::see("/login").with("Set-Cookie", cookie))
}

fn signup_form(code: &str, email: &str, name: &str, complaint: Option<&Error>) -> Markup {
    html! {
        @if let Some(error) = complaint { p.note.bad role="alert" { (sentence(&error.to_string())) } }
        form.stack.card method="post" action="/signup" {
            label { "Invite code" input name="code" value=(code) required autocomplete="off"; }
            label { "Email" input type="email" name="email" value=(email) required autocomplete="username"; }
            label { "Name" input name="name" value=(name) required maxlength="200" autocomplete="name"; }
            label { "Password, at least 12 characters"
                input type="password" name="password" required minlength="12" autocomplete="new-password"; }
            button.first { "Make the account" }
        }
    }
}

pub async fn signup(call: Call) -> Result<Answer, Error> {
    let code = call.query.get("code").unwrap_or_default();
    Ok(entrance(200, "Welcome", signup_form(code, "", "", None)))
}

pub async fn sign_up(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let field = |name: &str| form.get(name).unwrap_or_default();
    let newcomer = Newcomer {
        code: field("code"),
        email: field("email"),
        name: field("name"),
        password: field("password"),
    };
    match become_person(&call.state, &call.incoming, &newcomer).await {
        Ok(person) => {
            let cookie = begin_session(&call.state, &call.incoming, None, &person.email, newcomer.password)
                .await?
                .cookie;
            Ok(Answer::see("/").with("Set-Cookie", cookie))
        }
        Err(error) if error.status() < 500 => {
            let again = signup_form(newcomer.code, newcomer.email, newcomer.name, Some(&error));
            Ok(entrance(error.status(), "Welcome", again))
        }
        Err(error) => Err(error),
    }
}

/// Asks for the code, then shows who asks for what.
pub async fn device(call: Call) -> Result<Answer, Error> {
    let code = device::normal_code(call.query.get("user_code").unwrap_or_default());
    let content = match code.is_empty() {
        true => code_form(None),
        false => match device::open(store::pairings::by_code(&*call.session().await?, &code).await?) {
            Ok(pairing) => pairing_form(&call, &code, &pairing, None),
            Err(error) => code_form(Some(&error)),
        },
    };
    Ok(page(&call, "Pair a command line", content))
}

fn code_form(complaint: Option<&Error>) -> Markup {
    html! {
        @if let Some(error) = complaint { p.note.bad role="alert" { (sentence(&error.to_string())) } }
        form.row method="get" action="/device" {
            label { "The code that the command line shows" input name="user_code" required autocomplete="off" placeholder="ABCD-2345" autofocus; }
            button.first { "Go on" }
        }
    }
}

fn pairing_form(
    call: &Call,
    code: &str,
    pairing: &store::pairings::Pairing,
    complaint: Option<&Error>,
) -> Markup {
    html! {
        @if let Some(error) = complaint { p.note.bad role="alert" { (sentence(&error.to_string())) } }
        p.note { "Go on only if you started " code { "hooksctl login" } " yourself and it shows " strong { (code) } "." }
        form.stack.card method="post" action="/device" {
            (csrf(&call.who))
            input type="hidden" name="user_code" value=(code);
            dl.facts {
                dt { "Asked from" } dd { @match pairing.address { Some(address) => { (address) }, None => { "unknown" } } }
                dt { "Program" } dd { (pairing.user_agent) }
                dt { "Asked at" } dd { (when(pairing.created_at)) }
            }
            fieldset { legend { "Grant" }
                @for scope in &pairing.requested_scopes {
                    label.check { input type="checkbox" name="granted_scopes" value=(scope) checked; (scope) }
                }
            }
            label { "Your password" input type="password" name="password" autocomplete="current-password"; }
            div.buttons {
                button.first name="action" value="approve" { "Grant" }
                button.danger name="action" value="deny" { "Refuse" }
            }
        }
    }
}

pub async fn answer_device(call: Call) -> Result<Answer, Error> {
    let form = call.form()?;
    let code = device::normal_code(form.get("user_code").unwrap_or_default());
    if form.get("action") == Some("deny") {
        device::deny(&call.state, &call.incoming, &call.who, &code).await?;
        return Ok(Answer::see("/device?done=denied"));
    }
    let granted: Vec<String> = form.all("granted_scopes").map(str::to_owned).collect();
    let password = form.get("password").unwrap_or_default();
    let done = device::approve(&call.state, &call.incoming, &call.who, &code, password, &granted).await;
    let error = match done {
        Ok(()) => return Ok(Answer::see("/device?done=approved")),
        Err(error) if error.status() < 500 => error,
        Err(error) => return Err(error),
    };
    let pairing = device::open(store::pairings::by_code(&*call.session().await?, &code).await?);
    let content = match pairing {
        Ok(pairing) => pairing_form(&call, &code, &pairing, Some(&error)),
        Err(_) => code_form(Some(&error)),
    };
    let mut answer = page(&call, "Pair a command line", content);
    answer.status = error.status();
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_nowhere_but_here() {
        assert_eq!(safe_next(Some("/events?source=a")), "/events?source=a");
        for bad in ["//evil.com", "/\\evil.com", "https://evil.com", "evil", "/\t/evil.com", "/\nx", ""] {
            assert_eq!(safe_next(Some(bad)), "/", "{bad:?}");
        }
    }
}
