use clap::Parser;
use hooks_push_worker::app;
use hooks_push_worker::seams::Seams;
use hooks_shared::config::Service;
use hooks_shared::sealed::Keyring;
use hooks_shared::service::{ServiceArgs, announce, begin};
use hooks_shared::shutdown;
use std::process::ExitCode;

/// Pushes stored webhooks to the URLs that are subscribed to them.
#[derive(Debug, Parser)]
#[command(name = "hooks-push-worker", version)]
struct Args {
    #[command(flatten)]
    service: ServiceArgs,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse().service;
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("hooks-push-worker: {message}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: ServiceArgs) -> Result<(), String> {
    let Some(config) = begin(Service::PushWorker, &args)? else { return Ok(()) };
    let shutdown = shutdown::on_signals().map_err(|error| error.to_string())?;
    let (listen, admin) = (args.listen_address(Service::PushWorker), args.admin_address(Service::PushWorker));
    let keyring = Keyring::required(&|name| std::env::var(name).ok())?;
    let seams = Seams::real(&config.push)?;
    let running = app::build(config, keyring, &listen, &admin, seams, shutdown).await?;
    announce(running.address, running.admin);
    running.finished().await;
    Ok(())
}
