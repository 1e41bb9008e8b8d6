//! The command line that the four services have in common, and how each begins.

mod healthcheck;
pub mod production;

pub use healthcheck::Health;

use crate::config::{self, Config, Service};
use clap::Parser;
use std::path::PathBuf;

/// Arguments of a service.
#[derive(Debug, Clone, Parser)]
pub struct ServiceArgs {
    /// The configuration file.
    #[arg(long, env = "HOOKS_CONFIG", default_value = "hooks.yaml")]
    pub config: PathBuf,
    /// Address and port to serve on; port 0 takes a free one.
    #[arg(long, env = "HOOKS_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Address and port of /healthz, /readyz and /metrics.
    #[arg(long, env = "HOOKS_ADMIN_LISTEN", value_name = "ADDRESS:PORT")]
    pub admin_listen: Option<String>,
    /// Read the configuration, say what is wrong with it, and stop.
    #[arg(long)]
    pub check_config: bool,
    /// Ask the service that runs with these addresses how it is, and exit with 0 (well) or 1.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, default_missing_value = "alive")]
    pub healthcheck: Option<Health>,
}

/// A service's ports when nothing else is said.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub listen: &'static str,
    pub admin: &'static str,
}

impl Service {
    pub fn ports(self) -> Ports {
        match self {
            Service::Ingest => Ports { listen: "0.0.0.0:8080", admin: "127.0.0.1:9080" },
            Service::Subscribe => Ports { listen: "0.0.0.0:8081", admin: "127.0.0.1:9081" },
            Service::Inspector => Ports { listen: "127.0.0.1:8082", admin: "127.0.0.1:9082" },
            Service::PushWorker | Service::Hooksctl => {
                Ports { listen: "127.0.0.1:8083", admin: "127.0.0.1:9083" }
            }
        }
    }
}

impl ServiceArgs {
    pub fn listen_address(&self, service: Service) -> String {
        self.listen.clone().unwrap_or_else(|| service.ports().listen.to_owned())
    }

    pub fn admin_address(&self, service: Service) -> String {
        self.admin_listen.clone().unwrap_or_else(|| service.ports().admin.to_owned())
    }
}

/// Starts logging and reads the configuration. None when `--check-config` has said all there is to say.
/// The error is text for people, several lines where several things are wrong.
pub fn begin(service: Service, args: &ServiceArgs) -> Result<Option<Config>, String> {
    if let Some(health) = args.healthcheck {
        return healthcheck::ask(&args.admin_address(service), health).map(|()| None);
    }
    production::check()?;
    crate::logging::start(service.name());
    let config = config::load(&args.config, service).map_err(|error| error.to_string())?;
    for warning in &config.warnings {
        log::warn!("{warning}");
    }
    if args.check_config {
        println!("{}: ok, {} sources", args.config.display(), config.sources.len());
        return Ok(None);
    }
    Ok(Some(config))
}

/// The one log line by which scripts and people learn where a service listens.
pub fn announce(listen: std::net::SocketAddr, admin: std::net::SocketAddr) {
    log::info!(address:% = listen, admin:% = admin; "listening");
}
