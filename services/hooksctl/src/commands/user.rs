//! `hooksctl user`: people, through the inspector's API.

use super::confirm::confirm;
use super::{NotFound, Usage};
use crate::options::Global;
use crate::output::fields::{field, list as lines, moment, number, text, texts};
use crate::output::{Colour, Paint, line, note, printable};
use crate::server::{Endpoint, Pages};
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use url::Url;

const ABOUT: &str = "users";

/// People: who may do what
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    Show(NamedArgs),
    Update(UpdateArgs),
    Deactivate(DeactivateArgs),
    /// Let a person sign in again. Talks to: the inspector.
    Reactivate(NamedArgs),
    ResetPassword(ResetArgs),
}

/// List people. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only with this role
    #[arg(long, value_parser = ["admin", "member"])]
    role: Option<String>,
}

/// Show one person. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct NamedArgs {
    /// Their id or address
    user: String,
}

/// Change a person's name, role or sources. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct UpdateArgs {
    /// Their id or address
    user: String,
    /// Another name
    #[arg(long, short = 'n', value_name = "NAME")]
    name: Option<String>,
    /// Another role
    #[arg(long, value_parser = ["admin", "member"])]
    role: Option<String>,
    /// The sources a member may see, in place of those before; several by repeating it or with commas
    #[arg(
        long = "scope",
        visible_alias = "scopes",
        short = 's',
        value_delimiter = ',',
        value_name = "SOURCE"
    )]
    scopes: Vec<String>,
    /// No source at all
    #[arg(long, conflicts_with = "scopes")]
    no_scopes: bool,
}

/// End a person's access: their sessions and tokens end at once. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct DeactivateArgs {
    /// Their id or address
    user: String,
    /// Without asking
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Give a person another password; their sessions end. Prints one that is made, once. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct ResetArgs {
    /// Their id or address
    user: String,
    /// The password from this file (one line end at its end is not part of it); made where none is given
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    let inspector = global.inspector()?;
    match command {
        Command::List(args) => list(global, &inspector, args).await,
        Command::Show(args) => {
            let one = find(&inspector, &args.user).await?;
            print(global, &one)
        }
        Command::Update(args) => update(global, &inspector, args).await,
        Command::Deactivate(args) => deactivate(global, &inspector, args).await,
        Command::Reactivate(args) => {
            let one = find(&inspector, &args.user).await?;
            let (url, about) = at(&inspector, &one, &["reactivate"]);
            inspector.post_json(url, &json!({}), &about).await?;
            note(&format!("{about} may sign in again"));
            Ok(())
        }
        Command::ResetPassword(args) => reset_password(global, &inspector, args).await,
    }
}

async fn list(global: &Global, inspector: &Endpoint, args: ListArgs) -> Result<()> {
    let mut url = inspector.url(&["api", "users"]);
    if let Some(role) = &args.role {
        url.query_pairs_mut().append_pair("role", role);
    }
    let (users, _) = Pages::new(inspector, url, "users", ABOUT).take(usize::MAX).await?;
    if users.is_empty() && !global.json {
        note("nobody yet; `hooksctl admin init` makes an invite for the first administrator");
    }
    lines(&users, global.json, row)
}

fn row(one: &Value) -> String {
    let paint = Paint::stdout();
    let shown = |name: &str| text(one, name).unwrap_or_default();
    let ended =
        moment(one, "deactivated_at").map(|at| paint.paint(Colour::Bad, &format!("deactivated {at}")));
    [
        shown("id"),
        format!("{:<6}", shown("role")),
        paint.paint(Colour::Strong, &shown("email")),
        shown("name"),
        paint.paint(Colour::Name, &texts(one, "default_scopes")),
        ended.unwrap_or_default(),
    ]
    .join("  ")
}

/// A person by id or address.
async fn find(inspector: &Endpoint, called: &str) -> Result<Value> {
    if called.parse::<uuid::Uuid>().is_ok() {
        return inspector.get_json(inspector.url(&["api", "users", called]), &format!("user {called}")).await;
    }
    let mut pages = Pages::new(inspector, inspector.url(&["api", "users"]), "users", ABOUT);
    while let Some(page) = pages.next().await? {
        let is_called = |one: &Value| {
            let email = one.get("email").and_then(Value::as_str);
            email.is_some_and(|email| email.eq_ignore_ascii_case(called))
        };
        if let Some(one) = page.into_iter().find(is_called) {
            return Ok(one);
        }
    }
    Err(NotFound(format!("there is nobody with the address `{}`; `hooksctl user list`", printable(called)))
        .into())
}

/// What is below a person, and who that is.
fn at(inspector: &Endpoint, one: &Value, below: &[&str]) -> (Url, String) {
    let id = one.get("id").and_then(Value::as_str).unwrap_or_default();
    let about = text(one, "email").unwrap_or_else(|| id.to_owned());
    (inspector.url(&[&["api", "users", id], below].concat()), about)
}

fn print(global: &Global, one: &Value) -> Result<()> {
    if global.json {
        return line(&one.to_string());
    }
    let shown = |name: &str| text(one, name).unwrap_or_default();
    field("id", &shown("id"))?;
    field("who", &format!("{} <{}>", shown("name"), shown("email")))?;
    field("role", &shown("role"))?;
    field(
        "sources",
        &if shown("role") == "admin" { "all".to_owned() } else { texts(one, "default_scopes") },
    )?;
    field("since", &moment(one, "created_at").unwrap_or_default())?;
    moment(one, "deactivated_at").map_or(Ok(()), |at| field("deactivated", &at))
}

async fn update(global: &Global, inspector: &Endpoint, args: UpdateArgs) -> Result<()> {
    let mut wish = Map::new();
    for (name, value) in [("name", args.name), ("role", args.role)] {
        value.and_then(|value| wish.insert(name.to_owned(), value.into()));
    }
    if args.no_scopes || !args.scopes.is_empty() {
        wish.insert("default_scopes".into(), args.scopes.into());
    }
    if wish.is_empty() {
        return Err(Usage("nothing to change: give --name, --role, --scope or --no-scopes".to_owned()).into());
    }
    let one = find(inspector, &args.user).await?;
    let (url, about) = at(inspector, &one, &[]);
    let changed = inspector.patch_json(url, &Value::Object(wish), &about).await?;
    print(global, &changed)
}

async fn deactivate(global: &Global, inspector: &Endpoint, args: DeactivateArgs) -> Result<()> {
    let one = find(inspector, &args.user).await?;
    let (url, about) = at(inspector, &one, &["deactivate"]);
    confirm(args.yes, &format!("End the access of {about}?"))?;
    let ended = inspector.post_json(url, &json!({"confirm": one.get("email")}), &about).await?;
    if global.json {
        return line(&ended.to_string());
    }
    let (tokens, sessions) = (number(&ended, "tokens_revoked"), number(&ended, "sessions_ended"));
    note(&format!("{about} is deactivated; {sessions} sessions and {tokens} tokens have ended"));
    Ok(())
}

async fn reset_password(global: &Global, inspector: &Endpoint, args: ResetArgs) -> Result<()> {
    let given = match &args.password_file {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("--password-file: {} cannot be read", path.display()))?;
            Some(text.strip_suffix('\n').unwrap_or(&text).to_owned())
        }
    };
    let is_made = given.is_none();
    let password = given.unwrap_or_else(|| URL_SAFE_NO_PAD.encode(rand::random::<[u8; 18]>()));
    let one = find(inspector, &args.user).await?;
    let (url, about) = at(inspector, &one, &["reset-password"]);
    inspector.post_json(url, &json!({"new_password": password}), &about).await?;
    match (is_made, global.json) {
        (false, _) => {
            note(&format!("{about} has the new password"));
            Ok(())
        }
        (true, true) => line(&json!({"email": one.get("email"), "password": password}).to_string()),
        (true, false) => {
            note(&format!("the new password of {about}, shown this once:"));
            line(&password)
        }
    }
}
