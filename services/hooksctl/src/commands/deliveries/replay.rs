//! Failed deliveries made pending again: some by id, or all that a filter names.

use super::filter::each;
use crate::commands::confirm::confirm;
use crate::commands::{NotFound, Usage, exit_code, push};
use crate::interrupt::unless_interrupted;
use crate::moment::parse_moment;
use crate::options::Global;
use crate::output::fields::{moment, number};
use crate::output::{Screen, line, note};
use crate::server::Endpoint;
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// How often the progress is looked at.
const LOOK: Duration = Duration::from_millis(700);

/// Replay failed deliveries: by id, or by conditions, with a plan first. Talks to: the inspector.
///
/// A replayed delivery is due at once and begins its schedule anew; its history stays. Ended deliveries that have
/// not failed are sent again by `hooksctl events replay --to-push`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids (dlv_…)
    #[arg(conflicts_with_all = ["subscription", "source", "from", "to", "status", "all"])]
    ids: Vec<String>,
    /// All failed of this push subscription: its id or its name
    #[arg(long, short = 's', value_name = "SUBSCRIPTION")]
    subscription: Option<String>,
    /// All failed of this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Whose events arrived at or after this: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME")]
    from: Option<String>,
    /// Whose events arrived before this: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME")]
    to: Option<String>,
    /// Whose last attempt was answered with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<i32>,
    /// All failed ones there are
    #[arg(long)]
    all: bool,
    /// Only the plan: how many, the oldest and the newest
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Without asking
    #[arg(long, short = 'y')]
    yes: bool,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let inspector = global.inspector()?;
    if !args.ids.is_empty() && !args.dry_run {
        return each(global, &inspector, &args.ids, "replay", "replayed").await;
    }
    let filter = filter(&inspector, &args).await?;
    let plan = ask(&inspector, &filter, true).await?;
    say_plan(global, &plan, args.dry_run)?;
    let count = number(&plan, "count");
    if args.dry_run {
        return Ok(());
    }
    if count == 0 {
        return Err(NotFound("no failed delivery fits".to_owned()).into());
    }
    confirm(args.yes, &format!("Replay {count}?"))?;
    let done = unless_interrupted(all_of(global, &inspector, &filter, count)).await?;
    match global.json {
        true => line(&json!({"replayed": done}).to_string()),
        false => {
            note(&format!("replayed {done}"));
            Ok(())
        }
    }
}

async fn filter(inspector: &Endpoint, args: &Args) -> Result<Value> {
    let subscription = match &args.subscription {
        Some(called) => Some(push::id_of(inspector, called).await?),
        None => None,
    };
    let ids = (!args.ids.is_empty()).then_some(&args.ids);
    let filter = json!({
        "subscription": subscription, "source": args.source, "from": args.from, "to": args.to,
        "status": args.status, "ids": ids, "all": args.all,
    });
    let empty = filter.as_object().is_some_and(|all| all.values().all(|v| v.is_null() || v == &json!(false)));
    if empty {
        let what = "say which: ids, conditions (--subscription, --source, --from, --to, --status), or --all";
        return Err(Usage(what.to_owned()).into());
    }
    Ok(filter)
}

async fn ask(inspector: &Endpoint, filter: &Value, dry_run: bool) -> Result<Value> {
    let mut wish = filter.clone();
    wish["dry_run"] = dry_run.into();
    inspector.post_json(inspector.url(&["api", "deliveries", "replay"]), &wish, "deliveries").await
}

fn say_plan(global: &Global, plan: &Value, is_result: bool) -> Result<()> {
    if global.json {
        return if is_result { line(&plan.to_string()) } else { Ok(()) };
    }
    let said = match (number(plan, "count"), moment(plan, "oldest"), moment(plan, "newest")) {
        (count, Some(oldest), Some(newest)) => {
            format!("{count} failed deliveries; their events arrived from {oldest} to {newest}")
        }
        (count, ..) => format!("{count} failed deliveries"),
    };
    if is_result {
        return line(&said);
    }
    note(&said);
    Ok(())
}

/// Lets the inspector do it and watches how many are left. What takes longer than one request may is gone on with.
async fn all_of(global: &Global, inspector: &Endpoint, filter: &Value, count: i64) -> Result<i64> {
    let screen = Screen::with_progress(global.json, u64::try_from(count).unwrap_or(0));
    let (mut left, mut shown) = (count, 0);
    loop {
        let work = ask(inspector, filter, false);
        tokio::pin!(work);
        let ended = loop {
            tokio::select! {
                ended = &mut work => break ended,
                () = tokio::time::sleep(LOOK) => advance(&screen, inspector, filter, count, &mut shown).await,
            }
        };
        match ended {
            Ok(done) => return Ok(count - left + number(&done, "count")),
            Err(error) if exit_code(&error) == 5 => {
                let now = number(&ask(inspector, filter, true).await?, "count");
                if now >= left {
                    return Err(error);
                }
                left = now;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn advance(screen: &Screen, inspector: &Endpoint, filter: &Value, count: i64, shown: &mut u64) {
    let Ok(plan) = ask(inspector, filter, true).await else { return };
    let done = u64::try_from(count - number(&plan, "count")).unwrap_or(0);
    if done > *shown {
        screen.advance(done - *shown);
        *shown = done;
    }
}
