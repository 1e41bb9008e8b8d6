//! The `hooks-subscribe` process.

use anyhow::Context as _;
use clap::Parser;
use hooks_shared::config::{self, Service};
use hooks_shared::service::{ServiceArgs, begin};
use hooks_shared::shutdown;
use hooks_subscribe::app::{self, Running, Seams};
use std::path::Path;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Sends stored webhooks to listeners as event streams.
#[derive(Debug, Parser)]
#[command(name = "hooks-subscribe", version)]
struct Args {
    #[command(flatten)]
    service: ServiceArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse().service).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hooks-subscribe: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &ServiceArgs) -> anyhow::Result<()> {
    let Some(config) = begin(Service::Subscribe, args).map_err(anyhow::Error::msg)? else { return Ok(()) };
    let stopping = shutdown::on_signals().context("signals cannot be received")?;
    let mut changed = signal(SignalKind::hangup()).context("signals cannot be received")?;
    let (listen, admin) = (args.listen_address(Service::Subscribe), args.admin_address(Service::Subscribe));
    let running = app::build(config, &listen, &admin, Seams::default()).await?;
    loop {
        tokio::select! {
            () = stopping.wait() => break,
            _ = changed.recv() => reload(&running, &args.config),
        }
    }
    running.stop().await;
    Ok(())
}

fn reload(running: &Running, path: &Path) {
    let read = config::load(path, Service::Subscribe).map_err(|error| error.to_string());
    let taken = read.and_then(|config| {
        running.reload(&config).map_err(|error| error.to_string())?;
        Ok(config.hash)
    });
    match taken {
        Ok(config_hash) => log::info!(config_hash; "sources read again"),
        Err(error) => log::error!("the configuration stays as it was: {error}"),
    }
}
