//! `hooksctl prune`: maintenance, now.

use super::{Failed, Unreachable, Usage, database};
use crate::options::Global;
use crate::output::line;
use anyhow::Result;
use hooks_shared::config::{self, Service};
use hooks_shared::maintenance::{self, Error, Outcome, Settings};
use std::path::PathBuf;

/// Do now what the push-workers do hourly: make partitions ahead, delete what is older than its retention,
/// tidy up. Sequences never start again. Talks to: the database.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The configuration file with the retentions
    #[arg(long, env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    config: PathBuf,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    let target = database::target()?;
    // Read as a worker reads it: retention needs no provider's secret.
    let config = config::load(&args.config, Service::PushWorker).map_err(|error| Usage(error.to_string()))?;
    let session = maintenance::open(&target).await.map_err(|error| explained(&target.describe(), error))?;
    let settings = Settings::from(&config);
    let outcome = maintenance::run_once(&session, &settings).await;
    match outcome.map_err(|error| explained(&target.describe(), error))? {
        Outcome::Busy => Err(Failed(
            "maintenance runs somewhere else at this moment, on a push-worker or in another prune; \
             look again in a minute"
                .to_owned(),
        )
        .into()),
        Outcome::Done(report) if global.json => {
            let shown = serde_json::json!({
                "partitions_made": report.partitions_made.len(),
                "partitions_dropped": report.partitions_dropped.len(),
                "partitions_postponed": report.partitions_postponed.len(),
                "events": report.events,
                "tokens": report.tokens,
                "replay_requests": report.replay_requests,
                "stale_instances": report.stale_instances,
                "handshakes": report.handshakes,
            });
            line(&shown.to_string())
        }
        Outcome::Done(report) => line(&report.to_string()),
    }
}

fn explained(place: &str, error: Error) -> anyhow::Error {
    match error {
        Error::Database(inner) if inner.code().is_none() => Unreachable(format!(
            "the database at {place} cannot be used: {}",
            hooks_shared::db::describe(&inner)
        ))
        .into(),
        Error::NotOwner { me, owner } => Failed(format!(
            "{me} does not own the tables, {owner} does: set HOOKS_DATABASE_URL to a role that may act as {owner}"
        ))
        .into(),
        other => Failed(other.to_string()).into(),
    }
}
