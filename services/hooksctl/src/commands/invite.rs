//! `hooksctl invite`: how people come in, through the inspector's API.

use super::lifetime;
use crate::options::Global;
use crate::output::fields::{list as lines, moment, text, texts, warn_of_unknown_sources};
use crate::output::{Colour, Paint, line, note};
use crate::server::Pages;
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

const ABOUT: &str = "invites";

/// Invites: links by which people make their account
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Create(CreateArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// Invite somebody; prints the link, once. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// What they will be
    #[arg(long, value_parser = ["admin", "member"], default_value = "member")]
    role: String,
    /// A source that a member may see; several by repeating it or with commas
    #[arg(
        long = "scope",
        visible_alias = "scopes",
        short = 's',
        value_delimiter = ',',
        value_name = "SOURCE"
    )]
    scopes: Vec<String>,
    /// For how long the link is good, at most 90d
    #[arg(long, visible_alias = "ttl", value_parser = lifetime::of_invite, default_value = "7d", value_name = "DURATION")]
    expires_in: Duration,
}

/// List invites, without their codes. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Those that were used, too
    #[arg(long, visible_alias = "include-consumed")]
    all: bool,
}

/// End an invite that was not used. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct RevokeArgs {
    /// Its id, as `invite list` shows it, or its code
    invite: String,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Create(args) => create(global, args).await,
        Command::List(args) => list(global, args.all).await,
        Command::Revoke(args) => revoke(global, &args.invite).await,
    }
}

async fn create(global: &Global, args: CreateArgs) -> Result<()> {
    let inspector = global.inspector()?;
    let wish =
        json!({"role": args.role, "default_scopes": args.scopes, "ttl_seconds": args.expires_in.as_secs()});
    let made = inspector.post_json(inspector.url(&["api", "invites"]), &wish, ABOUT).await?;
    let Some(link) = made.get("url").and_then(Value::as_str) else { return Err(inspector.not_ours()) };
    if global.json {
        return line(&made.to_string());
    }
    let until = moment(&made, "expires_at").unwrap_or_default();
    note(&format!(
        "invite {} ({}), good until {until}; shown this once:",
        text(&made, "id").unwrap_or_default(),
        args.role
    ));
    warn_of_unknown_sources(&made);
    line(link)
}

async fn list(global: &Global, all: bool) -> Result<()> {
    let inspector = global.inspector()?;
    let mut url = inspector.url(&["api", "invites"]);
    if !all {
        url.query_pairs_mut().append_pair("consumed", "false");
    }
    let (invites, _) = Pages::new(&inspector, url, "invites", ABOUT).take(usize::MAX).await?;
    if invites.is_empty() && !global.json {
        note("no invites; `hooksctl invite create` makes one");
    }
    lines(&invites, global.json, row)
}

fn row(one: &Value) -> String {
    let paint = Paint::stdout();
    let used = moment(one, "consumed_at").map(|at| paint.paint(Colour::Good, &format!("used {at}")));
    let state = used.unwrap_or_else(|| format!("until {}", moment(one, "expires_at").unwrap_or_default()));
    [
        text(one, "id").unwrap_or_default(),
        format!("{:<6}", text(one, "role").unwrap_or_default()),
        state,
        paint.paint(Colour::Name, &texts(one, "default_scopes")),
    ]
    .join("  ")
}

async fn revoke(global: &Global, invite: &str) -> Result<()> {
    let inspector = global.inspector()?;
    // A code is as good as a password: it is not repeated.
    inspector.delete(inspector.url(&["api", "invites", invite]), "such invite").await?;
    note("the invite has ended");
    Ok(())
}
