//! `hooksctl dev`: the whole relay on this machine, with a database of its own.

mod config;
mod console;
mod database;
mod folder;
mod orphans;
mod ports;
mod postgres;
mod process;
mod run;
mod secrets;
mod service;
mod services;
mod welcome;

use crate::interrupt::{Interrupted, Interrupts};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Run everything on this machine: a private database and the four services; Ctrl-C stops all of it.
/// Talks to: nothing that runs already, unless HOOKS_DATABASE_URL names a database to use.
///
/// The data, the tokens and the secrets are kept in .hooks beside hooks.yaml, which is written if there is none.
/// The database runs from this machine's own PostgreSQL programs.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The configuration file
    #[arg(long, env = "HOOKS_CONFIG", default_value = "hooks.yaml", value_name = "FILE")]
    config: PathBuf,
    /// The first of four ports for ingest, subscribe, inspector and push-worker; their administration ports lie
    /// 1000 above. 0 takes any free ones
    #[arg(long, default_value_t = ports::DEFAULT_BASE, value_name = "PORT")]
    ports: u16,
}

/// Signals that come so soon after the first say nothing new.
const REPEATED: std::time::Duration = std::time::Duration::from_millis(500);

pub async fn run(args: Args) -> Result<()> {
    let mut interrupts = Interrupts::watch()?;
    let mut dev = run::Dev::prepare(absolute(args.config)?, args.ports)?;
    let done = tokio::select! {
        done = dev.work() => done,
        () = interrupts.next() => Ok(()),
    };
    // A second signal means: now. Some senders (`timeout`, a terminal's process group) repeat the first.
    let again = async {
        tokio::time::sleep(REPEATED).await;
        interrupts.drain().await;
        interrupts.next().await;
    };
    tokio::select! {
        () = dev.stop() => done,
        () = again => {
            dev.abandon();
            Err(Interrupted.into())
        }
    }
}

fn absolute(path: PathBuf) -> Result<PathBuf> {
    std::path::absolute(&path).with_context(|| format!("{} is no path", path.display()))
}
