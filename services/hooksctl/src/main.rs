//! `hooksctl`: the relay's command line.

mod commands;
mod migrations;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "hooksctl", version, about = "Webhooks, relayed: run, forward, replay, administer")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring the database to the newest schema (talks to: the database)
    Migrate(commands::migrate::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    // One TLS provider for the process; a second call would be the only way to fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    hooks_shared::logging::start_at("hooksctl", "warn");
    let done = match Cli::parse().command {
        Command::Migrate(args) => commands::migrate::run(args).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hooksctl: {error:#}");
            ExitCode::from(commands::exit_code(&error))
        }
    }
}
