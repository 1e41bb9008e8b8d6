//! Puts the service together and takes it apart again.

use crate::behind::Behind;
use crate::budget::Budget;
use crate::head::{self, TappedStream};
use crate::lane::{LaneSettings, Lanes};
use crate::metrics::Metrics;
use crate::ready;
use crate::routes::{self, Ingest};
use crate::sources::{Current, Sources};
use actix_http::{ConnectionType, HttpService};
use actix_service::{ServiceFactoryExt, fn_service, map_config};
use actix_web::dev::{AppConfig, Server, ServerHandle, Service as _};
use actix_web::rt::net::TcpStream;
use actix_web::{App, web};
use hooks_shared::admin::{self, Readiness};
use hooks_shared::clock::Clock;
use hooks_shared::config::Config;
use hooks_shared::db::{self, Notifier, SessionOptions, Target};
use hooks_shared::instance::Instance;
use hooks_shared::service::announce;
use hooks_shared::shutdown::{self, Shutdown, ShutdownTrigger};
use hooks_shared::spans::Spans;
use hooks_shared::verify::Fetch;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const NAME: &str = "hooks-ingest";
/// What requests under way get to finish after SIGTERM: longer than a commit is pursued.
const DRAIN_SECONDS: u64 = 20;

/// What a test may put in the place of the real thing.
#[derive(Debug, Clone)]
pub struct Seams {
    pub clock: Clock,
    /// Fetches keys and confirms subscriptions; over HTTPS from this machine without it.
    pub fetch: Option<Arc<dyn Fetch>>,
    pub spans: Spans,
}

impl Default for Seams {
    fn default() -> Self {
        Self { clock: Clock::system(), fetch: None, spans: Spans::default() }
    }
}

/// The running service.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub admin_address: SocketAddr,
    readiness: Readiness,
    sources: Current,
    behind: Behind,
    pool: db::Pool,
    server: ServerHandle,
    admin: ServerHandle,
    lanes: Vec<tokio::task::JoinHandle<()>>,
    draining: ShutdownTrigger,
    background: ShutdownTrigger,
    instance: Instance,
    spans: Spans,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

/// Everything that [`build`] would refuse in a configuration.
pub fn check(config: &Config) -> Result<(), String> {
    Sources::compile(config).map_err(|faults| faults.join("\n"))?;
    Target::parse(&config.database_url).map_err(|error| format!("database_url: {error}"))?;
    Ok(())
}

/// Opens the ports and starts everything. The database may be down: the service then waits for it, says so in
/// `/readyz`, and answers 503.
pub async fn build(
    config: Config,
    listen: &str,
    admin_listen: &str,
    seams: Seams,
) -> Result<Running, String> {
    let (sources, warnings) = Sources::compile(&config).map_err(|faults| faults.join("\n"))?;
    for warning in warnings {
        log::warn!("{warning}");
    }
    let target = Target::parse(&config.database_url).map_err(|error| format!("database_url: {error}"))?;
    let (listener, address) = admin::bind("--listen", listen)?;
    let (admin_listener, admin_address) = admin::bind("--admin-listen", admin_listen)?;

    let registry = admin::metrics();
    let metrics = Metrics::register(&registry);
    let readiness = Readiness::waiting_for(&[db::DATABASE, db::SCHEMA, ready::HEADS, ready::PARTITION]);
    let (background, stopping) = shutdown::manual();
    let notifier = Notifier::start(target.clone(), "hooks-ingest notify");
    let settings = LaneSettings {
        target: target.clone(),
        lanes: config.ingest.lanes,
        deadline: config.ingest.commit_deadline,
    };
    let (lanes, lane_tasks) = Lanes::start(&settings, &notifier, &metrics.lanes);
    let sources = Current::new(sources);
    let behind = Behind::start(&target, &config, &sources, &seams, &stopping)?;
    let ingest = Ingest {
        behind: behind.clone(),
        sources: sources.clone(),
        lanes,
        budget: Budget::new(config.ingest.byte_budget),
        clock: seams.clock,
        metrics,
        spans: seams.spans.clone(),
        trusted_proxies: config.trusted_proxies.clone(),
    };

    let pool = db::pool(&target, SessionOptions::service(NAME), 2, Duration::from_secs(3));
    let instance = Instance::new("ingest", env!("CARGO_PKG_VERSION"), config.hash);
    start_background(&pool, &sources, &readiness, &stopping, &instance);
    let (draining, drained) = shutdown::manual();
    let server = serve(listener, ingest, drained).map_err(|error| format!("--listen {address}: {error}"))?;
    let admin = admin::serve(admin_listener, readiness.clone(), registry)
        .map_err(|error| format!("--admin-listen {admin_address}: {error}"))?;
    let (server_handle, admin_handle) = (server.handle(), admin.handle());
    tokio::spawn(admin);
    let serving = tokio::spawn(server);
    announce(address, admin_address);
    Ok(Running {
        address,
        admin_address,
        readiness,
        sources,
        behind,
        pool,
        server: server_handle,
        admin: admin_handle,
        lanes: lane_tasks,
        draining,
        background,
        instance,
        spans: seams.spans,
        serving,
    })
}

fn start_background(
    pool: &db::Pool,
    sources: &Current,
    readiness: &Readiness,
    stopping: &Shutdown,
    instance: &Instance,
) {
    db::watch_database(pool.clone(), readiness.clone(), stopping.clone());
    tokio::spawn(ready::watch(pool.clone(), sources.clone(), readiness.clone(), stopping.clone()));
    instance.clone().keep_alive(pool.clone(), stopping.clone());
}

/// The HTTP server. Not `HttpServer`, which has no place for a stream that shows its bytes to the tap.
fn serve(listener: std::net::TcpListener, ingest: Ingest, draining: Shutdown) -> std::io::Result<Server> {
    let data = web::Data::new(ingest);
    let server = actix_server::Server::build()
        .disable_signals()
        .shutdown_timeout(DRAIN_SECONDS)
        .listen("ingest", listener, move || {
            let data = data.clone();
            let (stopping, draining) = (draining.clone(), draining.clone());
            let app = move || {
                let stopping = stopping.clone();
                App::new()
                    .app_data(data.clone())
                    // For every request, wherever it goes: the next head belongs to the next request.
                    .wrap_fn(move |request, service| {
                        let handling = head::claim(request.request());
                        let upgrade = request.head().upgrade();
                        let (answering, stopping) = (service.call(request), stopping.clone());
                        async move {
                            let mut response = answering.await?;
                            // An upgrade that is not taken up ends the connection in actix: say so.
                            if upgrade || stopping.is_stopping() {
                                response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
                            }
                            drop(handling);
                            Ok(response)
                        }
                    })
                    .route("/healthz", web::get().to(admin::healthz))
                    .route("/ingest/{source}", web::route().to(routes::ingest))
                    .route("/ingest/{source}/{rest:.*}", web::route().to(routes::ingest))
            };
            fn_service(move |stream: TcpStream| {
                let draining = draining.clone();
                async move {
                    let peer = stream.peer_addr().ok();
                    let _ = stream.set_nodelay(true);
                    Ok::<_, actix_http::error::DispatchError>((TappedStream::new(stream, draining), peer))
                }
            })
            .and_then(
                HttpService::build()
                    .keep_alive(Duration::from_secs(75))
                    .client_request_timeout(Duration::from_secs(15))
                    .client_disconnect_timeout(Duration::from_secs(5))
                    .on_connect_ext(|stream: &TappedStream, data| {
                        data.insert(stream.tap());
                    })
                    .h1(map_config(app(), |()| AppConfig::default())),
            )
        })?
        .run();
    Ok(server)
}

impl Running {
    /// Reads a changed configuration's sources. What cannot be used changes nothing.
    pub async fn reload(&self, config: &Config) {
        match Sources::compile(config) {
            Ok((sources, warnings)) => {
                for warning in warnings {
                    log::warn!("{warning}");
                }
                self.sources.replace(sources);
                self.behind.reload(config);
                self.instance.reconfigured(&config.hash);
                match ready::ensure_heads(&self.pool, &self.sources).await {
                    Ok(()) => {
                        log::info!(sources = self.sources.all().names().len(); "configuration read again")
                    }
                    Err(reason) => self.readiness.fail(ready::HEADS, reason),
                }
            }
            Err(faults) => log::error!("the changed configuration is not used: {}", faults.join("; ")),
        }
    }

    /// Not ready, no new connections, requests under way answered, lanes emptied, then gone.
    pub async fn stop(self) {
        self.readiness.fail("stopping", "the service is stopping");
        let stopped = self.server.stop(true);
        self.draining.stop();
        stopped.await;
        let _ = self.serving.await;
        // The server held the last clones of the lanes: they end when their queues are empty.
        for lane in self.lanes {
            let _ = lane.await;
        }
        self.background.stop();
        self.spans.stop().await;
        self.admin.stop(false).await;
    }
}
