//! The inspector: the operators' page and the JSON API behind it.

use clap::Parser;
use hooks_inspector::app::{self, Seams};
use hooks_shared::config::Service;
use hooks_shared::service::{ServiceArgs, begin};
use hooks_shared::shutdown;
use std::process::ExitCode;

/// Shows what was received and delivered, and lets operators act on it.
#[derive(Debug, Parser)]
#[command(name = "hooks-inspector", version)]
struct Args {
    #[command(flatten)]
    service: ServiceArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse().service;
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("hooks-inspector: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: ServiceArgs) -> Result<(), String> {
    let Some(config) = begin(Service::Inspector, &args)? else { return Ok(()) };
    let stopping = shutdown::on_signals().map_err(|error| format!("signals: {error}"))?;
    let listen = args.listen_address(Service::Inspector);
    let running =
        app::build(config, &listen, &args.admin_address(Service::Inspector), Seams::default()).await?;
    stopping.wait().await;
    running.stop().await;
    Ok(())
}
