//! `hooksctl doctor`: is everything as it should be, and if not, what to do.

mod database;
mod finding;
mod services;
mod stream;

use super::{Failed, Unreachable};
use crate::interrupt::unless_interrupted;
use crate::options::Global;
use crate::output::{Colour, Paint, line};
use anyhow::Result;
use finding::{Finding, State};
use hooks_shared::config::{self, Config, Service};
use serde_json::json;
use std::path::PathBuf;

/// Check the database, the services and the stream, and say what to do about what is wrong.
/// Talks to: the database if HOOKS_DATABASE_URL is set; ingest, subscribe and the inspector.
///
/// With --after-failover or --after-restore it also raises every source's number past whatever a lost server
/// may have given, so that no number is ever used twice.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose stream to open; without it the first source of hooks.yaml
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// The configuration file
    #[arg(long, env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    config: PathBuf,
    /// A standby was promoted: raise every source's number by 1,000,000 (where the server tells its timeline
    /// the services do this by themselves)
    #[arg(long)]
    after_failover: bool,
    /// The database was restored from a backup: the same
    #[arg(long)]
    after_restore: bool,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    unless_interrupted(examine(global, args)).await
}

async fn examine(global: &Global, args: Args) -> Result<()> {
    let paint = Paint::stdout();
    let mut worst = Worst::default();
    let mut show = |finding: Finding| {
        worst.see(&finding);
        if global.json { line(&as_json(&finding).to_string()) } else { line(&as_text(paint, &finding)) }
    };
    let config = read_config(&args, &mut show)?;
    let raise = args.after_failover || args.after_restore;
    database::examine(config.as_ref(), raise, &mut show).await?;
    services::examine(global, &mut show).await?;
    let source = args.source.or_else(|| config.as_ref()?.sources.keys().next().cloned());
    stream::examine(global, source.as_deref(), &mut show).await?;
    worst.verdict()
}

/// Shows a finding; fails only when standard output is closed.
type Show<'a> = dyn FnMut(Finding) -> Result<()> + 'a;

fn read_config(args: &Args, show: &mut Show<'_>) -> Result<Option<Config>> {
    if !args.config.exists() {
        show(Finding::skipped("config", format!("there is no {} here", args.config.display())))?;
        return Ok(None);
    }
    // As the subscribe service reads it: no provider's secret is needed to look at names and windows.
    let read = config::load(&args.config, Service::Subscribe);
    let read = read.or_else(|_| config::load(&args.config, Service::Hooksctl));
    match read {
        Ok(config) => {
            show(Finding::good(
                "config",
                format!("{}: {} sources", args.config.display(), config.sources.len()),
            ))?;
            Ok(Some(config))
        }
        Err(error) => {
            show(Finding::bad("config", error.to_string()))?;
            Ok(None)
        }
    }
}

fn as_json(finding: &Finding) -> serde_json::Value {
    json!({"check": finding.name, "state": finding.state.word(), "detail": finding.detail})
}

fn as_text(paint: Paint, finding: &Finding) -> String {
    let colour = match finding.state {
        State::Good => Colour::Good,
        State::Warning => Colour::Warning,
        State::Bad | State::Away => Colour::Bad,
        State::Skipped => Colour::Faint,
    };
    format!(
        "{} {:<18} {}",
        paint.paint(colour, &format!("{:<4}", finding.state.word())),
        finding.name,
        finding.detail
    )
}

/// What the exit code says.
#[derive(Debug, Default)]
struct Worst {
    bad: usize,
    away: usize,
}

impl Worst {
    fn see(&mut self, finding: &Finding) {
        match finding.state {
            State::Bad => self.bad += 1,
            State::Away => self.away += 1,
            _ => {}
        }
    }

    fn verdict(&self) -> Result<()> {
        let problems = self.bad + self.away;
        let said = format!("{problems} {} found", if problems == 1 { "problem" } else { "problems" });
        match (self.bad, self.away) {
            (0, 0) => Ok(()),
            (0, _) => Err(Unreachable(said).into()),
            _ => Err(Failed(said).into()),
        }
    }
}
