//! Puts the service together.

use crate::APPLICATION;
use actix_web::dev::{Server, ServerHandle};
use actix_web::web;
use hooks_shared::admin::{self, Readiness};
use hooks_shared::config::Config;
use hooks_shared::db::{self, SessionOptions, Target};
use hooks_shared::instance::Instance;
use hooks_shared::maintenance;
use hooks_shared::shutdown::Shutdown;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tokio::task::JoinHandle;

/// What tests replace.
#[derive(Debug, Clone)]
pub struct Seams {}

impl Seams {
    pub fn real() -> Self {
        Self {}
    }
}

/// A running service.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub admin: SocketAddr,
    pub readiness: Readiness,
    main: JoinHandle<()>,
}

impl Running {
    /// Returns when the service has stopped in order.
    pub async fn finished(self) {
        if let Err(error) = self.main.await {
            log::error!("the service ended badly: {error}");
        }
    }
}

/// Opens the ports and starts everything; a database that is away is waited for, not an error. The error is text
/// for people.
pub async fn build(
    config: Config,
    listen: &str,
    admin_listen: &str,
    seams: Seams,
    shutdown: Shutdown,
) -> Result<Running, String> {
    let _ = seams;
    let target = Target::parse(&config.database_url).map_err(|error| error.to_string())?;
    let maintenance_target = match &config.maintenance_url {
        None => target.clone(),
        Some(url) => {
            Target::parse(url).map_err(|error| format!("HOOKS_MAINTENANCE_DATABASE_URL: {error}"))?
        }
    };
    let (public, address) = admin::bind("--listen", listen)?;
    let (private, admin_address) = admin::bind("--admin-listen", admin_listen)?;
    let readiness = Readiness::waiting_for(&["database", "schema"]);
    let metrics = admin::metrics();
    let pool = db::pool(&target, SessionOptions::service(APPLICATION), 2, Duration::from_secs(3));

    let public = serve_health(public).map_err(|error| error.to_string())?;
    let private = admin::serve(private, readiness.clone(), metrics).map_err(|error| error.to_string())?;
    let instance = Instance::new("push-worker", env!("CARGO_PKG_VERSION"), config.hash.clone());
    let tasks = vec![
        db::watch_database(pool.clone(), readiness.clone(), shutdown.clone()),
        instance.keep_alive(pool, shutdown.clone()),
        maintenance::spawn(
            maintenance_target,
            maintenance::Settings::from(&config),
            readiness.clone(),
            shutdown.clone(),
        ),
    ];
    let servers = Servers::start([public, private]);
    let main = tokio::spawn(run(readiness.clone(), shutdown, servers, tasks));
    Ok(Running { address, admin: admin_address, readiness, main })
}

async fn run(readiness: Readiness, shutdown: Shutdown, servers: Servers, tasks: Vec<JoinHandle<()>>) {
    shutdown.wait().await;
    readiness.fail("running", "stopping");
    for task in tasks {
        if let Err(error) = task.await {
            log::error!("a task ended badly: {error}");
        }
    }
    servers.stop().await;
}

/// The public port of a service nobody outside talks to: `/healthz` and nothing else.
fn serve_health(listener: TcpListener) -> std::io::Result<Server> {
    let app = || actix_web::App::new().route("/healthz", web::get().to(admin::healthz));
    let server = actix_web::HttpServer::new(app).workers(1).disable_signals().shutdown_timeout(1);
    Ok(server.listen(listener)?.run())
}

/// The HTTP servers and how to stop them.
struct Servers(Vec<(ServerHandle, JoinHandle<std::io::Result<()>>)>);

impl Servers {
    fn start(servers: impl IntoIterator<Item = Server>) -> Self {
        Self(servers.into_iter().map(|server| (server.handle(), tokio::spawn(server))).collect())
    }

    async fn stop(self) {
        for (handle, task) in self.0 {
            handle.stop(true).await;
            let _ = task.await;
        }
    }
}
