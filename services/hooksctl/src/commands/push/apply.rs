//! `hooksctl push apply`: makes the subscriptions that `hooks.yaml` declares.

use super::{change, find};
use crate::commands::{Failed, Told, confirm::confirm};
use crate::options::Global;
use crate::output::{Colour, Paint, line, note, printable};
use crate::server::Endpoint;
use anyhow::Result;
use hooks_shared::config::{self, Config, Service};
use hooks_shared::push::declared::{self, Step};
use hooks_shared::push::definition::{NewSubscription, Patch};
use hooks_shared::push::subscriptions::Subscription;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Make the push subscriptions that hooks.yaml declares (push.subscriptions): shows the plan, then asks.
/// Talks to: the inspector.
///
/// Names tell them apart. What is not declared is left alone without --prune. A declared secret counts when a
/// subscription is made; later `push rotate-secret` changes it. Secrets that are made are printed, once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The configuration file
    #[arg(env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    file: PathBuf,
    /// Only the plan; exits with 1 if there is anything to do
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Without asking
    #[arg(long, short = 'y')]
    yes: bool,
    /// Delete those that are not declared
    #[arg(long)]
    prune: bool,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let config = load(&args.file)?;
    let declared = match &config.push.subscriptions {
        Some(value) => declared::read(value).map_err(|faults| {
            let lines: Vec<String> = faults.iter().map(|f| format!("{}: {}", f.field, f.message)).collect();
            Failed(format!("{}:\n  {}", args.file.display(), lines.join("\n  ")))
        })?,
        None => Vec::new(),
    };
    let inspector = global.inspector()?;
    let plan = declared::plan(&declared, &existing(&inspector).await?);
    for step in &plan {
        show(global, step, args.prune)?;
    }
    let todo: Vec<&Step> = plan.iter().filter(|step| args.prune || !is_undeclared(step)).collect();
    if todo.is_empty() {
        note(&format!("nothing to do: {} declared subscriptions are as they should be", declared.len()));
        return Ok(());
    }
    if args.dry_run {
        note(&format!("{} to do", todo.len()));
        return Err(Told.into());
    }
    confirm(args.yes, "Do this?")?;
    for step in todo {
        take(global, &inspector, step).await?;
    }
    Ok(())
}

/// As push-worker reads it: secrets of providers are not needed for this, nor is a database.
fn load(file: &std::path::Path) -> Result<Config> {
    let folder = file.parent().unwrap_or(std::path::Path::new("."));
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failed(format!("{} cannot be read: {error}", file.display())))?;
    let env = |name: &str| match name {
        // Only asked for because every service has one.
        "HOOKS_PUSH_WORKER_DATABASE_URL" => Some("postgres://localhost/unused".to_owned()),
        _ => std::env::var(name).ok(),
    };
    config::parse(&file.display().to_string(), &text, folder, Service::PushWorker, &env)
        .map_err(|error| Failed(error.to_string()).into())
}

async fn existing(inspector: &Endpoint) -> Result<Vec<Subscription>> {
    let all = find::all(inspector, None).await?;
    let read = all.into_iter().map(|one| serde_json::from_value(one).map_err(|_| inspector.not_ours()));
    read.collect()
}

fn is_undeclared(step: &Step) -> bool {
    matches!(step, Step::Undeclared { .. })
}

fn show(global: &Global, step: &Step, prune: bool) -> Result<()> {
    if global.json {
        let mut shown = serde_json::to_value(step)?;
        if let (Step::Undeclared { .. }, Value::Object(fields)) = (step, &mut shown) {
            fields.insert("delete".into(), prune.into());
        }
        return line(&shown.to_string());
    }
    let paint = Paint::stdout();
    let sign = |colour, sign: &str, text: String| line(&format!("{} {text}", paint.paint(colour, sign)));
    match step {
        Step::Create { subscription } => sign(Colour::Good, "+", made(subscription)),
        Step::Update { name, patch, .. } => {
            sign(Colour::Warning, "~", format!("{}: {}", printable(name), changes(patch)))
        }
        Step::Replace { id, subscription } => {
            let text = format!("{} (replaces {id}, which is of another source)", made(subscription));
            sign(Colour::Bad, "!", text)
        }
        Step::Undeclared { name, id } if prune => {
            sign(Colour::Bad, "-", format!("{} ({id}) is not declared: delete it", printable(name)))
        }
        Step::Undeclared { name, id } => {
            let text = format!("{} ({id}) is not declared: left alone", printable(name));
            line(&paint.paint(Colour::Faint, &format!("  {text}")))
        }
    }
}

fn made(new: &NewSubscription) -> String {
    printable(&format!("{}: {} to {}", new.name, new.source, new.url))
}

fn changes(patch: &Patch) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(patch) else { return String::new() };
    // `rate` and `retry` are there only where they change; their null takes away.
    let changed =
        fields.iter().filter(|(name, value)| !value.is_null() || matches!(name.as_str(), "rate" | "retry"));
    let texts: Vec<String> = changed.map(|(name, value)| format!("{name} {value}")).collect();
    printable(&texts.join(", "))
}

async fn take(global: &Global, inspector: &Endpoint, step: &Step) -> Result<()> {
    match step {
        Step::Create { subscription } => create(global, inspector, subscription).await,
        Step::Update { id, name, patch } => {
            let body = serde_json::to_value(patch)?;
            let url = find::url(inspector, id, &[]);
            inspector.patch_json(url, &without_absent(body), &format!("push subscription {id}")).await?;
            note(&format!("changed {} ({id})", printable(name)));
            Ok(())
        }
        Step::Replace { id, subscription } => {
            delete(inspector, id).await?;
            create(global, inspector, subscription).await
        }
        Step::Undeclared { id, .. } => delete(inspector, id).await,
    }
}

/// A patch says by absence that something stays.
fn without_absent(body: Value) -> Value {
    match body {
        Value::Object(fields) => {
            let keep = |name: &str, value: &Value| !value.is_null() || matches!(name, "rate" | "retry");
            Value::Object(fields.into_iter().filter(|(name, value)| keep(name, value)).collect())
        }
        other => other,
    }
}

async fn delete(inspector: &Endpoint, id: &str) -> Result<()> {
    inspector.delete(find::url(inspector, id, &[]), &format!("push subscription {id}")).await?;
    note(&format!("deleted {id}"));
    Ok(())
}

async fn create(global: &Global, inspector: &Endpoint, new: &NewSubscription) -> Result<()> {
    let wish: Map<String, Value> = match serde_json::to_value(new)? {
        Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    };
    let mut wish = wish;
    // Left out when it is written as JSON, so that no plan shows it.
    if let Some(secret) = &new.secret {
        wish.insert("secret".into(), secret.clone().into());
    }
    let made = change::create(inspector, wish).await?;
    let text = |name: &str| made.get(name).and_then(Value::as_str).unwrap_or_default();
    if global.json {
        let mut shown = json!({"created": text("id"), "name": text("name")});
        if new.secret.is_none() {
            shown["signing_secret"] = text("signing_secret").into();
        }
        return line(&shown.to_string());
    }
    note(&format!("made {} ({})", printable(text("name")), text("id")));
    if new.secret.is_none() {
        note("its signing secret, shown this once:");
        line(text("signing_secret"))?;
    }
    Ok(())
}
