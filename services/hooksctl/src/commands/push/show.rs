//! Subscriptions listed and shown.

use super::find;
use crate::options::Global;
use crate::output::fields::{field, list as lines, moment, number, text};
use crate::output::{Colour, Paint, line, note};
use anyhow::Result;
use serde_json::Value;

/// List push subscriptions: how they stand and how much each is owed. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
}

/// Show one push subscription: its settings, its state and why, what it is owed. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Its id or its name
    subscription: String,
}

pub async fn list(global: &Global, args: ListArgs) -> Result<()> {
    let all = find::all(&global.inspector()?, args.source.as_deref()).await?;
    if all.is_empty() && !global.json {
        note("no push subscriptions; `hooksctl push add SOURCE URL` makes one");
    }
    lines(&all, global.json, row)
}

fn row(one: &Value) -> String {
    let paint = Paint::stdout();
    let shown = |name: &str| text(one, name).unwrap_or_default();
    [
        shown("id"),
        state(paint, one, 8),
        paint.paint(Colour::Strong, &shown("name")),
        paint.paint(Colour::Name, &shown("source")),
        shown("url"),
        format!("waiting={}", count(one, "queue_depth")),
        format!("failed={}", count(one, "failed")),
    ]
    .join("  ")
}

/// Counts stop at 1001, which stands for more than 1000.
fn count(one: &Value, name: &str) -> String {
    match number(one, name) {
        1001 if name != "queue_depth" => ">1000".to_owned(),
        n => n.to_string(),
    }
}

fn state(paint: Paint, one: &Value, width: usize) -> String {
    let state = text(one, "state").unwrap_or_default();
    let colour = match state.as_str() {
        "active" => Colour::Good,
        "paused" => Colour::Warning,
        _ => Colour::Bad,
    };
    paint.paint(colour, &format!("{state:<width$}"))
}

pub async fn show(global: &Global, args: ShowArgs) -> Result<()> {
    let inspector = global.inspector()?;
    let id = find::id_of(&inspector, &args.subscription).await?;
    let about = format!("push subscription {id}");
    let one = inspector.get_json(find::url(&inspector, &id, &[]), &about).await?;
    print(global, &one)
}

/// One subscription as lines, or as JSON.
pub fn print(global: &Global, one: &Value) -> Result<()> {
    if global.json {
        return line(&one.to_string());
    }
    let shown = |name: &str| text(one, name).unwrap_or_else(|| "-".to_owned());
    field("id", &shown("id"))?;
    field("name", &shown("name"))?;
    field("source", &shown("source"))?;
    field("url", &shown("url"))?;
    field("state", &standing(one))?;
    field("signing", &shown("signing"))?;
    if let Some(until) = moment(one, "previous_secret_until") {
        field("old secret", &format!("signs too until {until}"))?;
    }
    field("limits", &limits(one))?;
    if let Some(retry) = one.get("retry").filter(|retry| !retry.is_null()) {
        field("retry", &crate::output::printable(&retry.to_string()))?;
    }
    field(
        "cursor",
        &format!("{} ({} behind the newest event)", number(one, "cursor"), number(one, "behind")),
    )?;
    field("deliveries", &format!("{} open, {} failed", count(one, "open"), count(one, "failed")))?;
    field("receiver", &health(one))?;
    field("made", &format!("{} by {}", moment(one, "created_at").unwrap_or_default(), shown("created_by")))
}

fn standing(one: &Value) -> String {
    let by = text(one, "state_by").map(|by| format!(" by {by}")).unwrap_or_default();
    let why = text(one, "state_reason").map(|why| format!(": {why}")).unwrap_or_default();
    let since = moment(one, "state_at").unwrap_or_default();
    format!("{} since {since}{by}{why}", state(Paint::stdout(), one, 0))
}

fn limits(one: &Value) -> String {
    let mut all = vec![format!("{} at once", number(one, "max_in_flight"))];
    if let Some(rate) = one.get("rate").and_then(Value::as_f64) {
        all.push(format!("{rate} a second"));
    }
    if one.get("ordered").and_then(Value::as_bool) == Some(true) {
        all.push(format!("in order (on failure: {})", text(one, "on_failure").unwrap_or_default()));
    }
    all.join(", ")
}

fn health(one: &Value) -> String {
    let strikes = number(one, "consecutive_failures");
    let failing = moment(one, "failing_since").map(|since| format!("nothing but failures since {since}"));
    let Some(mut said) = failing else { return "no failure since its last success".to_owned() };
    match strikes {
        0 => {}
        1 => said.push_str(", no answer to the last request"),
        n => said.push_str(&format!(", no answer to the last {n} requests")),
    }
    if let Some(at) = moment(one, "probe_at") {
        said.push_str(&format!("; one request at a time, the next at {at}"));
    }
    said
}
