//! `hooksctl deliveries`: events owed to push subscriptions, through the inspector's API.

mod cancel;
mod filter;
mod list;
mod replay;
mod show;

use crate::options::Global;
use anyhow::Result;

/// Deliveries: events owed to push subscriptions, and why they are where they are
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(list::Args),
    Show(show::Args),
    Replay(replay::Args),
    Cancel(cancel::Args),
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::List(args) => list::run(global, args).await,
        Command::Show(args) => show::run(global, args).await,
        Command::Replay(args) => replay::run(global, args).await,
        Command::Cancel(args) => cancel::run(global, args).await,
    }
}
