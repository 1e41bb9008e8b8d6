//! `hooksctl audit`: who did what, through the inspector's API.

use super::window::Window;
use crate::options::Global;
use crate::output::fields::{list, moment, number, text};
use crate::output::{Colour, Paint, note, printable, raw};
use crate::server::{Pages, refusal, unreachable};
use anyhow::Result;
use reqwest::Method;
use serde_json::Value;

/// Show what was done and refused, the newest first. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only by this actor: an address, `token NAME`, or the id of a user, token or session
    #[arg(long, value_name = "ACTOR")]
    actor: Option<String>,
    /// Only this action, or those that begin so where it ends with a dot: `push.`
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only on this target: `<type>:<id>`, or the id of a subscription or delivery
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Only what was done, or what was refused
    #[arg(long, value_parser = ["done", "refused"])]
    outcome: Option<String>,
    #[command(flatten)]
    window: Window,
    /// All that fits, as a file on standard output
    #[arg(long, value_parser = ["csv", "jsonl"], conflicts_with = "limit")]
    export: Option<String>,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let inspector = global.inspector()?;
    let way: &[&str] = if args.export.is_some() { &["api", "audit", "export"] } else { &["api", "audit"] };
    let mut url = inspector.url(way);
    let page = args.export.is_none().then(|| args.window.page());
    let given = [
        ("actor", &args.actor),
        ("action", &args.action),
        ("target", &args.target),
        ("outcome", &args.outcome),
        ("since", &args.window.from),
        ("until", &args.window.to),
        ("format", &args.export),
        ("limit", &page),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    url.query_pairs_mut().extend_pairs(given);
    if args.export.is_some() {
        let answer = inspector.request(Method::GET, url)?.send().await;
        let mut answer = answer.map_err(|error| unreachable(&inspector, &error))?;
        if !answer.status().is_success() {
            return Err(refusal(&inspector, "audit", answer).await);
        }
        while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&inspector, &error))? {
            raw(&chunk)?;
        }
        return Ok(());
    }
    let (rows, more) =
        Pages::new(&inspector, url, "events", "audit").take(args.window.limit as usize).await?;
    if rows.is_empty() && !global.json {
        note("nothing");
    }
    list(&rows, global.json, row)?;
    if more {
        note("there is more; --limit or --export shows it");
    }
    Ok(())
}

fn row(one: &Value) -> String {
    let paint = Paint::stdout();
    let shown = |name: &str| text(one, name).unwrap_or_default();
    let good = shown("outcome") == "done";
    let target = match shown("target_type").as_str() {
        "" => shown("target_id"),
        kind => format!("{kind}:{}", shown("target_id")),
    };
    let metadata = one.get("metadata").filter(|metadata| !metadata.is_null());
    [
        paint.paint(Colour::Faint, &moment(one, "at").unwrap_or_default()),
        paint.paint(if good { Colour::Good } else { Colour::Bad }, &format!("{:<7}", shown("outcome"))),
        paint.paint(Colour::Strong, &shown("action")),
        target,
        paint.paint(Colour::Name, &shown("actor")),
        shown("address"),
        if number(one, "affected") == 1 {
            String::new()
        } else {
            format!("affected={}", number(one, "affected"))
        },
        metadata.map(|metadata| printable(&metadata.to_string())).unwrap_or_default(),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect::<Vec<_>>()
    .join("  ")
}
