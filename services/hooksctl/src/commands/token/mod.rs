//! `hooksctl token`: bearer tokens, in the database where HOOKS_DATABASE_URL is set, else through the
//! inspector.

mod api;
mod stored;

use super::{Usage, lifetime};
use crate::options::Global;
use crate::output::fields::{list as lines, text, texts, warn_of_unknown_sources};
use crate::output::{Colour, Paint, line, note, printable};
use anyhow::Result;
use hooks_shared::name;
use hooks_shared::token::{ADMIN_SCOPE, TokenKind};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// Make, list and revoke bearer tokens
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Create(CreateArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// Make a token and print it, once. Talks to: the database if HOOKS_DATABASE_URL is set, else the inspector.
///
/// A listener's scopes are the sources it may listen to. `--scope admin` makes a token for the inspector.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// What it may do: a source's name, or `admin`; several by repeating it or with commas
    #[arg(
        long = "scope",
        visible_alias = "scopes",
        short = 's',
        value_delimiter = ',',
        required = true,
        value_name = "SCOPE"
    )]
    scopes: Vec<String>,
    /// What it is for; shown in lists
    #[arg(long, short = 'n', default_value = "hooksctl", value_name = "NAME")]
    name: String,
    /// Its kind; without this `pat` for admin and `listener` for sources
    #[arg(long, value_parser = ["listener", "pat"])]
    kind: Option<String>,
    /// It ends after this time, such as 30d, at most 365d; without this when it is revoked
    #[arg(long, value_parser = lifetime::of_token, value_name = "DURATION")]
    expires_in: Option<Duration>,
}

/// List tokens, without their secret. Talks to: the database if HOOKS_DATABASE_URL is set, else the inspector.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Those that were revoked or have expired, too
    #[arg(long, visible_alias = "include-revoked")]
    all: bool,
}

/// End a token; its open streams end within seconds. Talks to: the database if HOOKS_DATABASE_URL is set,
/// else the inspector.
#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// Its id, as `token list` shows it
    id: Uuid,
}

/// A token to be made.
#[derive(Debug)]
pub struct Wanted {
    pub name: String,
    pub kind: TokenKind,
    pub scopes: Vec<String>,
    pub expires_in: Option<Duration>,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Create(args) => create(global, wanted(args)?).await,
        Command::List(args) => list(global, args.all).await,
        Command::Revoke(args) => revoke(global, args.id).await,
    }
}

fn in_database() -> bool {
    std::env::var_os("HOOKS_DATABASE_URL").is_some_and(|url| !url.is_empty())
}

fn wanted(args: CreateArgs) -> Result<Wanted> {
    let scopes: Vec<String> = args.scopes.iter().map(|scope| scope.trim().to_owned()).collect();
    if scopes.iter().any(String::is_empty) {
        return Err(Usage("--scope has an empty name: write a source's name, or admin".to_owned()).into());
    }
    name::check(&args.name).map_err(|why| Usage(format!("--name {why}")))?;
    let admin = scopes.iter().any(|scope| scope == ADMIN_SCOPE);
    let kind = match args.kind.as_deref().and_then(TokenKind::parse) {
        Some(kind) => kind,
        None if admin => TokenKind::Pat,
        None => TokenKind::Listener,
    };
    if kind == TokenKind::Pat && scopes.iter().any(|scope| scope != ADMIN_SCOPE) {
        note(
            "note: a token of kind pat does not listen to sources, whatever its scopes; that takes kind listener",
        );
    }
    Ok(Wanted { name: args.name, kind, scopes, expires_in: args.expires_in })
}

async fn create(global: &Global, wanted: Wanted) -> Result<()> {
    let made =
        if in_database() { stored::create(&wanted).await? } else { api::create(global, &wanted).await? };
    if global.json {
        return line(&made.to_string());
    }
    note(&format!(
        "{} token {} for {}; it is shown this once:",
        wanted.kind.as_str(),
        text(&made, "id").unwrap_or_default(),
        wanted.scopes.join(", ")
    ));
    warn_of_unknown_sources(&made);
    line(&text(&made, "plaintext").unwrap_or_default())
}

async fn list(global: &Global, all: bool) -> Result<()> {
    let tokens = if in_database() { stored::list(all).await? } else { api::list(global, all).await? };
    if tokens.is_empty() && !global.json {
        note("no tokens; `hooksctl token create` makes one");
    }
    lines(&tokens, global.json, row)
}

fn row(token: &Value) -> String {
    let paint = Paint::stdout();
    let shown = |name: &str| text(token, name);
    let state = match (shown("revoked_at"), shown("expires_at")) {
        (Some(at), _) => paint.paint(Colour::Warning, &format!("revoked {at}")),
        (None, Some(at)) => format!("ends {at}"),
        (None, None) => String::new(),
    };
    [
        shown("id").unwrap_or_default(),
        format!("{:<8}", shown("kind").unwrap_or_default()),
        paint.paint(Colour::Strong, &shown("name").unwrap_or_default()),
        paint.paint(Colour::Name, &texts(token, "scopes")),
        shown("last_used_at").map_or_else(|| "never used".to_owned(), |at| format!("used {at}")),
        state,
    ]
    .join("  ")
    .trim_end()
    .to_owned()
}

async fn revoke(global: &Global, id: Uuid) -> Result<()> {
    let name = if in_database() { stored::revoke(id).await? } else { api::revoke(global, id).await? };
    let name = name.map(|name| format!(" ({})", printable(&name))).unwrap_or_default();
    note(&format!("revoked {id}{name}"));
    Ok(())
}
