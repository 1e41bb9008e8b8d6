//! `hooksctl login`, `logout`, `whoami`: a person at the command line.

use super::{Failed, Refused, Unreachable};
use crate::interrupt::unless_interrupted;
use crate::logins;
use crate::options::Global;
use crate::output::fields::{field, moment, number, text, texts};
use crate::output::{Colour, Paint, Screen, line, note, printable};
use crate::server::Endpoint;
use anyhow::Result;
use hooks_shared::Secret;
use serde_json::{Value, json};
use std::time::Duration;

/// Sign in: shows a code that you confirm in a browser, and keeps the token it is given. Talks to: the inspector.
///
/// The token is kept in ~/.config/hooks/logins (XDG_CONFIG_HOME), for this user only, and used for that inspector
/// when HOOKS_TOKEN is not set. What it may do is granted in the browser.
#[derive(Debug, clap::Args)]
pub struct LoginArgs {
    /// Ask for a source to look at; several by repeating it or with commas
    #[arg(
        long = "scope",
        visible_alias = "scopes",
        short = 's',
        value_delimiter = ',',
        value_name = "SOURCE"
    )]
    scopes: Vec<String>,
    /// Ask for everything an administrator may do
    #[arg(long)]
    admin: bool,
}

/// Sign out: ends the token of `hooksctl login` and forgets it. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct LogoutArgs {}

/// Show as whom hooksctl acts. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct WhoamiArgs {}

pub async fn login(global: &Global, args: LoginArgs) -> Result<()> {
    let inspector = global.inspector()?;
    let mut scopes = args.scopes;
    // Without it the token could not even be asked whose it is.
    scopes.push("account".to_owned());
    let wish = json!({"scopes": scopes, "admin": args.admin});
    let url = inspector.url(&["api", "auth", "device", "start"]);
    let (status, started) = inspector.post_openly(url, &wish).await?;
    if status != 200 {
        return Err(refused(&inspector, status, &started));
    }
    let shown = |name: &str| text(&started, name).ok_or_else(|| inspector.not_ours());
    let paint = Paint::stderr();
    note(&format!("Open {}", paint.paint(Colour::Name, &shown("verification_uri_complete")?)));
    note(&format!("and confirm the code {}", paint.paint(Colour::Strong, &shown("user_code")?)));
    let token = unless_interrupted(wait(&inspector, &started)).await?;
    let path = logins::keep(&inspector.base, &token)?;
    note(&format!("signed in; the token is in {}", path.display()));
    let granted = inspector.with_token(token);
    show_me(global, &granted).await
}

/// Asks until the code is confirmed, refused or void.
async fn wait(inspector: &Endpoint, started: &Value) -> Result<Secret> {
    let screen = Screen::with_status(false);
    screen.status("waiting for the browser".to_owned());
    let url = inspector.url(&["api", "auth", "device", "poll"]);
    let ask = json!({"device_code": started.get("device_code")});
    let pause = Duration::from_secs(number(started, "interval").clamp(1, 60).unsigned_abs());
    loop {
        let (status, answer) = inspector.post_openly(url.clone(), &ask).await?;
        match status {
            200 => {
                let token = answer.get("token").and_then(Value::as_str);
                return token.map(Secret::new).ok_or_else(|| inspector.not_ours());
            }
            // Not yet, or asked too often.
            202 | 429 => tokio::time::sleep(pause).await,
            _ => return Err(refused(inspector, status, &answer)),
        }
    }
}

fn refused(inspector: &Endpoint, status: u16, answer: &Value) -> anyhow::Error {
    let message = answer.get("error").and_then(|error| text(error, "message")).unwrap_or_default();
    let place = format!("the inspector at {}", inspector.base);
    match status {
        403 => Refused(format!("{place}: the pairing was refused in the browser ({message})")).into(),
        410 => Refused(format!("{place}: the code is void ({message}); run `hooksctl login` again")).into(),
        429 | 500.. => Unreachable(format!("{place} cannot answer now ({status}): {message}")).into(),
        _ => Failed(format!("{place} answers {status}: {message}")).into(),
    }
}

pub async fn logout(global: &Global, _: LogoutArgs) -> Result<()> {
    let base = global.inspector()?.base;
    let Some(token) = logins::find(&base) else {
        note(&format!("not signed in at {base}"));
        return Ok(());
    };
    let inspector = global.inspector()?.with_token(token);
    let url = inspector.url(&["api", "me", "tokens", "self", "revoke"]);
    let ended = inspector.post_json(url, &json!({}), "your token").await;
    match ended {
        Ok(_) => {}
        // It has ended already.
        Err(error) if error.is::<Refused>() => note(&format!("{error:#}")),
        Err(error) => return Err(error),
    }
    logins::forget(&base)?;
    note(&format!("signed out at {base}"));
    Ok(())
}

pub async fn whoami(global: &Global, _: WhoamiArgs) -> Result<()> {
    show_me(global, &global.inspector()?).await
}

async fn show_me(global: &Global, inspector: &Endpoint) -> Result<()> {
    let url = inspector.url(&["api", "me"]);
    let me = inspector.get_json(url, "account").await.map_err(|error| {
        // A token of nobody, or one without the scope `account`; one that is not known is told as it is.
        match error.is::<Refused>() && error.to_string().contains("(403") {
            true => {
                Refused("this token speaks for no person; `hooksctl login` signs one in".to_owned()).into()
            }
            false => error,
        }
    })?;
    if global.json {
        return line(&me.to_string());
    }
    let shown = |name: &str| text(&me, name).unwrap_or_default();
    field("who", &format!("{} <{}>", shown("name"), shown("email")))?;
    field("role", &shown("role"))?;
    field(
        "sources",
        &if shown("role") == "admin" { "all".to_owned() } else { texts(&me, "default_scopes") },
    )?;
    field("since", &moment(&me, "created_at").unwrap_or_default())?;
    field("inspector", &printable(inspector.base.as_str()))
}
