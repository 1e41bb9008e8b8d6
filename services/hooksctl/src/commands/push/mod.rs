//! `hooksctl push`: push subscriptions, through the inspector's API.

mod apply;
mod change;
mod find;
mod settings;
mod show;

pub use find::id_of;

use crate::options::Global;
use anyhow::Result;

/// Push subscriptions: URLs that get every event of a source
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Add(change::AddArgs),
    List(show::ListArgs),
    Show(show::ShowArgs),
    Update(change::UpdateArgs),
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
    RotateSecret(change::RotateArgs),
    Test(change::TestArgs),
    Rm(change::RemoveArgs),
    Apply(apply::Args),
}

pub async fn run(global: &Global, command: Command) -> Result<()> {
    match command {
        Command::Add(args) => change::add(global, args).await,
        Command::List(args) => show::list(global, args).await,
        Command::Show(args) => show::show(global, args).await,
        Command::Update(args) => change::update(global, args).await,
        Command::Pause(args) => change::pause(global, args).await,
        Command::Resume(args) => change::resume(global, args).await,
        Command::RotateSecret(args) => change::rotate(global, args).await,
        Command::Test(args) => change::test(global, args).await,
        Command::Rm(args) => change::remove(global, args).await,
        Command::Apply(args) => apply::run(global, args).await,
    }
}
