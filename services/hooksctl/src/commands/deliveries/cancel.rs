//! Pending deliveries that are not to be sent.

use super::filter::each;
use crate::commands::confirm::confirm;
use crate::commands::{NotFound, Usage, push};
use crate::moment::parse_moment;
use crate::options::Global;
use crate::output::fields::{number, text};
use crate::output::{line, note};
use crate::server::{Endpoint, Pages};
use anyhow::Result;
use serde_json::json;

/// Cancel pending deliveries: by id, or all of a push subscription, with a plan first. Talks to: the inspector.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids (dlv_…)
    #[arg(conflicts_with_all = ["subscription", "from", "to"])]
    ids: Vec<String>,
    /// All pending of this push subscription: its id or its name
    #[arg(long, short = 's', value_name = "SUBSCRIPTION")]
    subscription: Option<String>,
    /// Whose events arrived at or after this: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME", requires = "subscription")]
    from: Option<String>,
    /// Whose events arrived before this: RFC 3339, or how long ago
    #[arg(long, value_parser = parse_moment, value_name = "TIME", requires = "subscription")]
    to: Option<String>,
    /// Only the plan: how many
    #[arg(long, conflicts_with_all = ["yes", "ids"])]
    dry_run: bool,
    /// Without asking
    #[arg(long, short = 'y')]
    yes: bool,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let inspector = global.inspector()?;
    if !args.ids.is_empty() {
        return each(global, &inspector, &args.ids, "cancel", "cancelled").await;
    }
    let called = args.subscription.as_deref().ok_or_else(|| {
        Usage("say which: ids, or --subscription with --from and --to if you like".to_owned())
    })?;
    let id = push::id_of(&inspector, called).await?;
    let count = pending(&inspector, &id, args.from.as_deref(), args.to.as_deref()).await?;
    let said = format!("{count} pending deliveries");
    if args.dry_run {
        return line(&if global.json { json!({"count": count, "dry_run": true}).to_string() } else { said });
    }
    note(&said);
    if count == 0 {
        return Err(NotFound("no pending delivery fits".to_owned()).into());
    }
    confirm(args.yes, &format!("Cancel {count}?"))?;
    let wish = json!({"subscription": id, "from": args.from, "to": args.to});
    let url = inspector.url(&["api", "deliveries", "cancel"]);
    let done = inspector.post_json(url, &wish, &format!("push subscription {id}")).await?;
    match global.json {
        true => line(&done.to_string()),
        false => {
            note(&format!("cancelled {}", number(&done, "cancelled")));
            Ok(())
        }
    }
}

/// How many there are: counted page by page, by the arrival of their events.
async fn pending(inspector: &Endpoint, id: &str, from: Option<&str>, to: Option<&str>) -> Result<usize> {
    let mut url = inspector.url(&["api", "deliveries"]);
    url.query_pairs_mut().extend_pairs([("subscription", id), ("state", "pending"), ("limit", "500")]);
    let about = format!("push subscription {id}");
    let mut pages = Pages::new(inspector, url, "deliveries", &about);
    let (from, to) = (from.map(moment), to.map(moment));
    let mut count = 0;
    while let Some(page) = pages.next().await? {
        let fits = page.iter().filter_map(|one| text(one, "received_at")).map(|at| moment(&at));
        count +=
            fits.filter(|at| from.is_none_or(|from| *at >= from) && to.is_none_or(|to| *at < to)).count();
    }
    Ok(count)
}

fn moment(text: &str) -> Option<time::OffsetDateTime> {
    time::OffsetDateTime::parse(text, &time::format_description::well_known::Rfc3339).ok()
}
