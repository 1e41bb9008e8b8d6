//! Deliveries listed.

use crate::commands::push;
use crate::commands::window::Window;
use crate::options::Global;
use crate::output::fields::{list, moment, number, text};
use crate::output::{Colour, Paint, note};
use crate::server::Pages;
use anyhow::Result;
use serde_json::Value;

/// List deliveries, the newest first. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only of this push subscription: its id or its name
    #[arg(long, short = 's', value_name = "SUBSCRIPTION")]
    subscription: Option<String>,
    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only in this state
    #[arg(long, value_parser = ["pending", "processing", "delivered", "failed", "cancelled"])]
    state: Option<String>,
    #[command(flatten)]
    window: Window,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let inspector = global.inspector()?;
    let subscription = match &args.subscription {
        Some(called) => Some(push::id_of(&inspector, called).await?),
        None => None,
    };
    let mut url = inspector.url(&["api", "deliveries"]);
    let given = [
        ("subscription", subscription),
        ("source", args.source),
        ("state", args.state),
        ("limit", Some(args.window.page())),
        ("from", args.window.from),
        ("to", args.window.to),
    ];
    let given = given.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    url.query_pairs_mut().extend_pairs(given);
    let pages = Pages::new(&inspector, url, "deliveries", "deliveries");
    let (rows, more) = pages.take(args.window.limit as usize).await?;
    if rows.is_empty() && !global.json {
        note("no deliveries");
    }
    list(&rows, global.json, row)?;
    if more {
        note("there are more; --limit shows them");
    }
    Ok(())
}

fn row(one: &Value) -> String {
    let paint = Paint::stdout();
    let shown = |name: &str| text(one, name).unwrap_or_default();
    [
        shown("id"),
        paint.paint(colour(&shown("state")), &format!("{:<10}", shown("state"))),
        paint.paint(Colour::Name, &format!("{}/{}", shown("source"), number(one, "sequence"))),
        paint.paint(Colour::Strong, &shown("subscription_name")),
        format!("attempts={}", number(one, "attempts")),
        last(one),
        due(one),
    ]
    .join("  ")
}

/// How a state is painted.
pub fn colour(state: &str) -> Colour {
    match state {
        "delivered" => Colour::Good,
        "failed" => Colour::Bad,
        "cancelled" => Colour::Faint,
        _ => Colour::Warning,
    }
}

fn last(one: &Value) -> String {
    let status = one.get("last_status").and_then(Value::as_i64).map(|status| status.to_string());
    status.or_else(|| text(one, "last_outcome")).map(|last| format!("last={last}")).unwrap_or_default()
}

fn due(one: &Value) -> String {
    match text(one, "state").as_deref() {
        Some("pending") => format!("due {}", moment(one, "next_attempt_at").unwrap_or_default()),
        Some("processing") => format!("held until {}", moment(one, "claim_expires_at").unwrap_or_default()),
        _ => moment(one, "completed_at").map(|at| format!("ended {at}")).unwrap_or_default(),
    }
}
