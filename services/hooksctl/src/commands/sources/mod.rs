//! `hooksctl sources`: what is configured, what has come, and the secrets that providers hand over.

mod captured;
mod check;

use super::{Failed, database};
use crate::options::Global;
use crate::output::{Colour, Paint, line, note, printable, rfc3339};
use crate::store;
use anyhow::Result;
use hooks_shared::db::SessionOptions;
use serde_json::{Value, json};
use time::OffsetDateTime;

/// List sources, check their configuration, and see to secrets that providers hand over
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the sources and how far each has got. Talks to: the database if HOOKS_DATABASE_URL is set, else the
    /// inspector.
    List,
    Check(check::CheckArgs),
    /// Let the provider's next handshake replace the secret it handed over (Asana, Notion), for ten minutes. Talks to:
    /// the database.
    RenewSecret(captured::SourceArg),
    /// Print the secret that a provider handed over in a handshake, once, to paste it back at the provider (Notion).
    /// Needs HOOKS_SECRET_KEYS as ingest has them; written into the audit. Talks to: the database.
    ShowSecret(captured::SourceArg),
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::List => list(global).await,
        Command::Check(args) => check::run(global, &args),
        Command::RenewSecret(args) => captured::renew(global, &args).await,
        Command::ShowSecret(args) => captured::show(global, &args).await,
    }
}

async fn list(global: &Global) -> Result<()> {
    let sources = if database::url().is_some() { stored().await? } else { from_inspector(global).await? };
    if sources.is_empty() && !global.json {
        note("no sources yet; ingest adds those of hooks.yaml when it starts");
    }
    for source in sources {
        if global.json { line(&source.to_string())? } else { line(&row(&source))? }
    }
    Ok(())
}

async fn stored() -> Result<Vec<Value>> {
    let session = database::connect(SessionOptions::service("hooksctl sources")).await?;
    database::expect_schema(&session).await?;
    let rows = session.rows(store::LIST_SOURCES, &[]).await.map_err(database::failed)?;
    let source = |row: &tokio_postgres::Row| {
        json!({
            "name": row.get::<_, String>("source"),
            "last_sequence": row.get::<_, i64>("last_sequence"),
            "last_received_at": row.get::<_, Option<OffsetDateTime>>("last_received_at").map(rfc3339),
            "listeners": row.get::<_, i64>("listeners"),
        })
    };
    Ok(rows.iter().map(source).collect())
}

async fn from_inspector(global: &Global) -> Result<Vec<Value>> {
    let inspector = global.inspector()?;
    let answer = inspector.get_json(inspector.url(&["api", "sources"]), "sources API").await?;
    let list = answer.get("sources").unwrap_or(&answer).as_array().cloned();
    list.ok_or_else(|| Failed(format!("the inspector at {} answers with no list", inspector.base)).into())
}

fn row(source: &Value) -> String {
    let paint = Paint::stdout();
    let text = |name: &str| source.get(name).and_then(Value::as_str).map(printable);
    let number = |name: &str| source.get(name).and_then(Value::as_i64).unwrap_or(0);
    format!(
        "{} last={} received={} listeners={}",
        paint.paint(Colour::Name, &format!("{:<20}", text("name").unwrap_or_default())),
        number("last_sequence"),
        text("last_received_at").unwrap_or_else(|| "never".to_owned()),
        number("listeners"),
    )
}
