//! Subscriptions made and changed.

use super::settings::Settings;
use super::{find, show};
use crate::commands::Usage;
use crate::commands::confirm::confirm;
use crate::options::Global;
use crate::output::fields::text;
use crate::output::{line, note};
use crate::server::Endpoint;
use crate::stream::Start;
use anyhow::{Context, Result};
use hooks_shared::config::parse_duration;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Subscribe a URL to a source; prints the signing secret, once. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The source whose events it gets
    source: String,
    /// Where they are sent
    url: String,
    /// What it is called; made of source and host where nothing is said
    #[arg(long, short = 'n', value_name = "NAME")]
    name: Option<String>,
    /// The sequence after which it begins (0: everything that is kept), or latest
    #[arg(long, value_parser = crate::moment::parse_since, default_value = "latest", value_name = "SEQUENCE")]
    since: Start,
    #[command(flatten)]
    secret: GivenSecret,
    #[command(flatten)]
    settings: Settings,
}

/// A secret that is brought along.
#[derive(Debug, clap::Args)]
pub struct GivenSecret {
    /// The signing secret from this file (one line end at its end is not part of it); made where none is given
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
}

impl GivenSecret {
    fn read(&self) -> Result<Option<String>> {
        let Some(path) = &self.secret_file else { return Ok(None) };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("--secret-file: {} cannot be read", path.display()))?;
        Ok(Some(text.strip_suffix('\n').unwrap_or(&text).to_owned()))
    }
}

pub async fn add(global: &Global, args: AddArgs) -> Result<()> {
    let mut wish = args.settings.to_json();
    wish.insert("source".into(), args.source.into());
    wish.insert("url".into(), args.url.into());
    let start = match args.since {
        Start::Latest => Value::from("latest"),
        Start::After(sequence) => Value::from(sequence),
    };
    wish.insert("start".into(), start);
    for (name, value) in [("name", args.name), ("secret", args.secret.read()?)] {
        value.and_then(|value| wish.insert(name.to_owned(), value.into()));
    }
    let made = create(&global.inspector()?, wish).await?;
    if global.json {
        return line(&made.to_string());
    }
    let shown = |name: &str| text(&made, name).unwrap_or_default();
    note(&format!(
        "push subscription {} ({}): {} to {}",
        shown("id"),
        shown("name"),
        shown("source"),
        shown("url")
    ));
    note("its signing secret, shown this once:");
    line(made.get("signing_secret").and_then(Value::as_str).unwrap_or_default())
}

/// Makes one.
pub async fn create(inspector: &Endpoint, wish: Map<String, Value>) -> Result<Value> {
    let url = inspector.url(&["api", "push-subscriptions"]);
    let made = inspector.post_json(url, &Value::Object(wish), "push subscriptions").await?;
    match made.get("signing_secret").and_then(Value::as_str) {
        Some(_) => Ok(made),
        None => Err(inspector.not_ours()),
    }
}

/// Change a push subscription; every attempt from then on uses it. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct UpdateArgs {
    /// Its id or its name
    subscription: String,
    /// Another name
    #[arg(long, short = 'n', value_name = "NAME")]
    name: Option<String>,
    /// Another URL
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    settings: Settings,
    /// No rate any more
    #[arg(long, conflicts_with = "rate")]
    no_rate: bool,
    /// The service's own waits again
    #[arg(long, conflicts_with = "retry")]
    no_retry: bool,
}

pub async fn update(global: &Global, args: UpdateArgs) -> Result<()> {
    let mut patch = args.settings.to_json();
    for (name, value) in [("name", args.name), ("url", args.url)] {
        value.and_then(|value| patch.insert(name.to_owned(), value.into()));
    }
    for (name, taken_away) in [("rate", args.no_rate), ("retry", args.no_retry)] {
        taken_away.then(|| patch.insert(name.to_owned(), Value::Null));
    }
    if patch.is_empty() {
        return Err(Usage("nothing to change: give at least one option; see --help".to_owned()).into());
    }
    let (inspector, id) = named(global, &args.subscription).await?;
    let url = find::url(&inspector, &id, &[]);
    let changed = inspector.patch_json(url, &Value::Object(patch), &about(&id)).await?;
    show::print(global, &changed)
}

/// Stop sending to it; its backlog stays. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    /// Its id or its name
    subscription: String,
    /// Why; shown where people wonder
    #[arg(long, short = 'r', value_name = "TEXT")]
    reason: Option<String>,
}

pub async fn pause(global: &Global, args: PauseArgs) -> Result<()> {
    act(global, &args.subscription, "pause", &json!({"reason": args.reason}), "paused").await
}

/// Go on sending to it, also after it was disabled. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    /// Its id or its name
    subscription: String,
}

pub async fn resume(global: &Global, args: ResumeArgs) -> Result<()> {
    act(global, &args.subscription, "resume", &json!({}), "resumed").await
}

/// Give it another signing secret and print it, once; for a while both sign. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct RotateArgs {
    /// Its id or its name
    subscription: String,
    #[command(flatten)]
    secret: GivenSecret,
    /// For how long the old secret signs too, at most 30d
    #[arg(long, value_parser = parse_duration, default_value = "24h", value_name = "DURATION")]
    overlap: Duration,
}

pub async fn rotate(global: &Global, args: RotateArgs) -> Result<()> {
    let secret = args.secret.read()?;
    let (inspector, id) = named(global, &args.subscription).await?;
    let wish = json!({"secret": secret, "overlap_seconds": args.overlap.as_secs()});
    let url = find::url(&inspector, &id, &["rotate-secret"]);
    let rotated = inspector.post_json(url, &wish, &about(&id)).await?;
    let Some(secret) = rotated.get("signing_secret").and_then(Value::as_str) else {
        return Err(inspector.not_ours());
    };
    if global.json {
        return line(&rotated.to_string());
    }
    note(&format!("{id}: the new signing secret, shown this once:"));
    line(secret)
}

/// Send it a test event of `hooks.system`; prints the delivery's id. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// Its id or its name
    subscription: String,
}

pub async fn test(global: &Global, args: TestArgs) -> Result<()> {
    let (inspector, id) = named(global, &args.subscription).await?;
    let url = find::url(&inspector, &id, &["test"]);
    let delivery = inspector.post_for_location(url, &json!({}), &about(&id)).await?;
    if global.json {
        return line(&json!({"delivery": delivery}).to_string());
    }
    note("a test event is on its way; `hooksctl deliveries show` with this id says how it goes:");
    line(&delivery)
}

/// Delete it and cancel all it is owed. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// Its id or its name
    subscription: String,
    /// Without asking
    #[arg(long, short = 'y')]
    yes: bool,
}

pub async fn remove(global: &Global, args: RemoveArgs) -> Result<()> {
    let (inspector, id) = named(global, &args.subscription).await?;
    let one = inspector.get_json(find::url(&inspector, &id, &[]), &about(&id)).await?;
    let shown = |name: &str| text(&one, name).unwrap_or_default();
    let waiting = crate::output::fields::number(&one, "queue_depth");
    note(&format!("{id} ({}) to {}: {waiting} events wait for it", shown("name"), shown("url")));
    confirm(args.yes, "Delete it and cancel what it is owed?")?;
    inspector.delete(find::url(&inspector, &id, &[]), &about(&id)).await?;
    done(global, &id, "deleted")
}

async fn named(global: &Global, called: &str) -> Result<(Endpoint, String)> {
    let inspector = global.inspector()?;
    let id = find::id_of(&inspector, called).await?;
    Ok((inspector, id))
}

fn about(id: &str) -> String {
    format!("push subscription {id}")
}

async fn act(global: &Global, called: &str, action: &str, wish: &Value, word: &str) -> Result<()> {
    let (inspector, id) = named(global, called).await?;
    inspector.post_json(find::url(&inspector, &id, &[action]), wish, &about(&id)).await?;
    done(global, &id, word)
}

fn done(global: &Global, id: &str, word: &str) -> Result<()> {
    match global.json {
        true => line(&json!({"id": id, "done": word}).to_string()),
        false => {
            note(&format!("{word} {id}"));
            Ok(())
        }
    }
}
