//! The ingest service.

use clap::Parser;
use hooks_ingest::app::{self, Seams};
use hooks_shared::config::{self, Service};
use hooks_shared::service::{ServiceArgs, begin};
use hooks_shared::shutdown;
use hooks_shared::spans::Spans;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Takes providers' webhooks, verifies them and commits them before answering.
#[derive(Debug, Parser)]
#[command(name = "hooks-ingest", version)]
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
            eprintln!("hooks-ingest: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: ServiceArgs) -> Result<(), String> {
    if args.check_config {
        let config = config::load(&args.config, Service::Ingest).map_err(|error| error.to_string())?;
        app::check(&config)?;
    }
    let Some(config) = begin(Service::Ingest, &args)? else { return Ok(()) };
    let stopping = shutdown::on_signals().map_err(|error| format!("signals: {error}"))?;
    let mut hangup = signal(SignalKind::hangup()).map_err(|error| format!("signals: {error}"))?;
    let listen = args.listen_address(Service::Ingest);
    let seams = Seams { spans: Spans::from_env("hooks-ingest")?, ..Seams::default() };
    let running = app::build(config, &listen, &args.admin_address(Service::Ingest), seams).await?;
    loop {
        tokio::select! {
            () = stopping.wait() => break,
            _ = hangup.recv() => match config::load(&args.config, Service::Ingest) {
                Ok(config) => running.reload(&config).await,
                Err(error) => log::error!("the changed configuration is not used: {error}"),
            },
        }
    }
    running.stop().await;
    Ok(())
}
