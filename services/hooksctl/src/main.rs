//! `hooksctl`: the relay's command line.

mod commands;
mod cursor;
mod dev_folder;
mod interrupt;
mod logins;
mod migrations;
mod moment;
mod options;
mod output;
mod resign;
mod server;
mod store;
mod stream;
mod target;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Webhooks, relayed: run the relay, forward events to this machine, replay and look at them, administer.
#[derive(Debug, Parser)]
#[command(name = "hooksctl", version, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    #[command(flatten)]
    global: options::Global,
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Exit codes: 0 done, 1 failed, 2 used wrongly, 3 not found, 4 refused, \
5 server or database unreachable, 130 interrupted.
NO_COLOR switches colours off; they are off anyway where output is no terminal.";

#[derive(Debug, Subcommand)]
enum Command {
    Dev(commands::dev::Args),
    Forward(commands::forward::Args),
    Tail(commands::tail::Args),
    Replay(commands::replay::Args),
    Send(commands::send::Args),
    #[command(subcommand)]
    Events(commands::events::Command),
    #[command(subcommand)]
    Push(commands::push::Command),
    #[command(subcommand)]
    Deliveries(commands::deliveries::Command),
    #[command(subcommand)]
    User(commands::user::Command),
    #[command(subcommand)]
    Invite(commands::invite::Command),
    Audit(commands::audit::Args),
    Login(commands::login::LoginArgs),
    Logout(commands::login::LogoutArgs),
    Whoami(commands::login::WhoamiArgs),
    #[command(subcommand)]
    Token(commands::token::Command),
    #[command(subcommand)]
    Sources(commands::sources::Command),
    #[command(subcommand)]
    Signature(commands::signature::Command),
    #[command(subcommand)]
    Admin(commands::admin::Command),
    #[command(subcommand)]
    Secrets(commands::secrets::Command),
    Migrate(commands::migrate::Args),
    Verify(commands::verify::Args),
    Prune(commands::prune::Args),
    Doctor(commands::doctor::Args),
    Completions(commands::completions::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    // One TLS provider for the process; a second call would be the only way to fail.
    let _ = rustls::crypto::ring::default_provider().install_default();
    hooks_shared::logging::start_at("hooksctl", "warn");
    let cli = Cli::parse();
    match run(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !commands::is_silent(&error) {
                output::note(&format!("hooksctl: {error:#}"));
            }
            ExitCode::from(commands::exit_code(&error))
        }
    }
}

async fn run(cli: Cli) -> anyhow::Result<()> {
    let global = &cli.global;
    match cli.command {
        Command::Dev(args) => commands::dev::run(args).await,
        Command::Forward(args) => commands::forward::run(global, args).await,
        Command::Tail(args) => commands::tail::run(global, args).await,
        Command::Replay(args) => commands::replay::run(global, args).await,
        Command::Send(args) => commands::send::run(global, args).await,
        Command::Events(command) => commands::events::run(global, command).await,
        Command::Push(command) => commands::push::run(global, command).await,
        Command::Deliveries(command) => commands::deliveries::run(global, command).await,
        Command::User(command) => commands::user::run(global, command).await,
        Command::Invite(command) => commands::invite::run(global, command).await,
        Command::Audit(args) => commands::audit::run(global, args).await,
        Command::Login(args) => commands::login::login(global, args).await,
        Command::Logout(args) => commands::login::logout(global, args).await,
        Command::Whoami(args) => commands::login::whoami(global, args).await,
        Command::Token(command) => commands::token::run(global, command).await,
        Command::Sources(command) => commands::sources::run(global, command).await,
        Command::Signature(command) => commands::signature::run(global, command).await,
        Command::Admin(command) => commands::admin::run(global, command).await,
        Command::Secrets(command) => commands::secrets::run(global, command).await,
        Command::Migrate(args) => commands::migrate::run(args).await,
        Command::Verify(args) => commands::verify::run(global, args).await,
        Command::Prune(args) => commands::prune::run(global, args).await,
        Command::Doctor(args) => commands::doctor::run(global, args).await,
        Command::Completions(args) => commands::completions::run(args),
    }
}
