//! `hooksctl sources`: what is configured, and what has come.

use super::{Failed, Usage, database};
use crate::options::Global;
use crate::output::{Colour, Paint, line, note, printable, rfc3339};
use crate::store;
use anyhow::Result;
use hooks_shared::config::{self, Config, Retention, Service, Source, effective_skew};
use hooks_shared::db::SessionOptions;
use hooks_shared::verify::{Verifier, max_age};
use serde_json::{Value, json};
use std::path::PathBuf;
use time::OffsetDateTime;

/// List sources, and check their configuration
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the sources and how far each has got. Talks to: the database if HOOKS_DATABASE_URL is set, else the
    /// inspector.
    List,
    Check(CheckArgs),
}

/// Read hooks.yaml as the services would and say everything that is wrong with it. Talks to: nothing.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The configuration file
    #[arg(env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    file: PathBuf,
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::List => list(global).await,
        Command::Check(args) => check(global, args),
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

fn check(global: &Global, args: CheckArgs) -> Result<()> {
    let config = config::load(&args.file, Service::Hooksctl).map_err(|error| Failed(error.to_string()))?;
    let mut faults = Vec::new();
    for warning in &config.warnings {
        note(&format!("warning: {warning}"));
    }
    for source in config.sources.values() {
        match Verifier::compile(&source.verification(&config)) {
            Ok(compiled) => {
                for warning in &compiled.warnings {
                    note(&format!("warning: sources.{}: {warning}", source.name));
                }
                show(global, &config, source, &compiled.verifier)?;
            }
            Err(found) => faults.extend(found.iter().map(|fault| format!("sources.{}.{fault}", source.name))),
        }
    }
    match faults.len() {
        0 => {
            note(&format!("{}: no faults, {} sources", args.file.display(), config.sources.len()));
            Ok(())
        }
        _ => Err(Failed(format!("{}:\n  {}", args.file.display(), faults.join("\n  "))).into()),
    }
}

fn show(global: &Global, config: &Config, source: &Source, verifier: &Verifier) -> Result<()> {
    let own = max_age(&source.verifier).map_err(|fault| Usage(fault.to_string()))?;
    let skew = effective_skew(source, own);
    let url = config.public_url.as_ref().map(|base| format!("{base}/ingest/{}", source.name));
    let what: Vec<String> = verifier.summary().into_iter().map(|summary| summary.what).collect();
    let retention = match source.retention {
        Retention::Forever => "forever".to_owned(),
        Retention::For(time) => format!("{} h", time.as_secs() / 3600),
    };
    if global.json {
        let shown = json!({
            "name": source.name, "preset": verifier.preset(), "verification": what, "url": url,
            "skew_seconds": skew.as_secs(), "retention": retention, "paused": source.paused,
        });
        return line(&shown.to_string());
    }
    let paint = Paint::stdout();
    let paused = if source.paused { " (paused)" } else { "" };
    line(&format!("{}{paused}", paint.paint(Colour::Name, &source.name)))?;
    for way in &what {
        line(&format!("  verified by   {way}"))?;
    }
    line(&format!("  skew window   {} s", skew.as_secs()))?;
    line(&format!("  kept          {retention}"))?;
    line(&format!("  address       {}", url.unwrap_or_else(|| format!("…/ingest/{}", source.name))))
}
