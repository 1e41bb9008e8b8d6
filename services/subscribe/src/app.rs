//! Puts the service together.

use crate::hub::{Hub, HubSettings};
use crate::metrics::SubscribeMetrics;
use crate::registry::{Cut, Registry};
use crate::routes::{Service, not_found, request_id, routes};
use crate::socket::StreamSocket;
use crate::store::Database;
use crate::watchers::{TokenUse, tell_listeners, watch_stalls, watch_tokens};
use crate::{limits, rules};
use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer, middleware, web};
use hooks_shared::admin::{self, Readiness};
use hooks_shared::config::Listen;
use hooks_shared::db::{DATABASE, Pool, SCHEMA, SessionOptions, Target, pool, watch_database};
use hooks_shared::instance::Instance;
use hooks_shared::shutdown::{Shutdown, ShutdownTrigger, manual};
use hooks_shared::{Clock, Config, service};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Connections that wait to be accepted: after a deploy everybody comes back at once.
const BACKLOG: i32 = 4096;
/// Sessions beside those of listeners that catch up: tokens, lists, housekeeping.
const OTHER_SESSIONS: u32 = 4;
const SESSION_WAIT: Duration = Duration::from_secs(3);
/// A peer whose kernel acknowledges nothing for so long is gone.
const GONE_AFTER: Duration = Duration::from_secs(60);
/// How long the last words to the database may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// What tests put in the place of the real thing.
#[derive(Debug, Clone)]
pub struct Seams {
    /// Decides what is stale in a first drain.
    pub clock: Clock,
    /// A source's ring is dropped so long after its last listener has left.
    pub ring_idle: Duration,
}

impl Default for Seams {
    fn default() -> Self {
        Self { clock: Clock::system(), ring_idle: Duration::from_secs(60) }
    }
}

/// Why the service could not start, in words for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BuildError(String);

/// The running service.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub admin_address: SocketAddr,
    hub: Arc<Hub>,
    registry: Registry,
    instance: Instance,
    readiness: Readiness,
    trigger: ShutdownTrigger,
    servers: [ServerHandle; 2],
    /// Tasks that say farewell to the database.
    tasks: Vec<JoinHandle<()>>,
}

/// Opens the ports and serves. The database is waited for in the background: until it is there, `/readyz` says
/// what is missing and requests that need it are answered with 503.
pub async fn build(config: Config, listen: &str, admin: &str, seams: Seams) -> Result<Running, BuildError> {
    let settings = hub_settings(&config, seams.ring_idle)?;
    let (listener, address) = admin::bind("--listen", listen).map_err(BuildError)?;
    let (admin_listener, admin_address) = admin::bind("--admin-listen", admin).map_err(BuildError)?;
    service::announce(address, admin_address);

    let (trigger, shutdown) = manual();
    let pool = pool_for(&settings);
    let database = Database::new(pool.clone());
    let readiness = Readiness::waiting_for(&[DATABASE, SCHEMA]);
    let metrics = admin::metrics();
    let counts = SubscribeMetrics::register(&metrics);
    let registry = Registry::new(counts.clone());
    let hub = Hub::start(settings, database.clone(), counts, shutdown.clone());
    let service = Service {
        hub: Arc::clone(&hub),
        registry: registry.clone(),
        database,
        clock: seams.clock,
        settings: config.subscribe,
        used: TokenUse::default(),
        downloads: Arc::new(Semaphore::new(config.subscribe.catch_up_reads)),
    };
    watch_database(pool.clone(), readiness.clone(), shutdown.clone());
    let instance = Instance::new("subscribe", env!("CARGO_PKG_VERSION"), config.hash.clone());
    let tasks = look_after(&service, &config, &instance, pool, &shutdown);
    let gone_after = GONE_AFTER.max(config.subscribe.stall_timeout);
    let public = serve(listener, service, gone_after).map_err(cannot_serve)?;
    let private = admin::serve(admin_listener, readiness.clone(), metrics).map_err(cannot_serve)?;
    let servers = [public.handle(), private.handle()];
    tokio::spawn(public);
    tokio::spawn(private);
    Ok(Running { address, admin_address, hub, registry, instance, readiness, trigger, servers, tasks })
}

fn hub_settings(config: &Config, ring_idle: Duration) -> Result<HubSettings, BuildError> {
    let target = Target::parse(&config.database_url).map_err(|error| BuildError(error.to_string()))?;
    let listen_target = match &config.listen {
        Listen::Same => Some(target.clone()),
        Listen::Url(url) => {
            Some(Target::parse(url).map_err(|error| BuildError(format!("listen_database_url: {error}")))?)
        }
        Listen::Off => None,
    };
    Ok(HubSettings {
        rules: rules::of(config).map_err(BuildError)?,
        ring_bytes: config.subscribe.ring_bytes,
        ring_idle,
        catch_up_reads: config.subscribe.catch_up_reads,
        target,
        listen_target,
    })
}

fn pool_for(settings: &HubSettings) -> Pool {
    let sessions = u32::try_from(settings.catch_up_reads).unwrap_or(u32::MAX).saturating_add(OTHER_SESSIONS);
    pool(&settings.target, SessionOptions::service("hooks-subscribe"), sessions, SESSION_WAIT)
}

/// Starts what looks after open streams; the tasks that have last words for the database come back.
fn look_after(
    service: &Service,
    config: &Config,
    instance: &Instance,
    pool: Pool,
    shutdown: &Shutdown,
) -> Vec<JoinHandle<()>> {
    let (registry, database) = (&service.registry, &service.database);
    watch_tokens(Arc::clone(&service.hub), registry.clone(), database.clone(), shutdown.clone());
    watch_stalls(registry.clone(), config.subscribe.stall_timeout, shutdown.clone());
    let used = service.used.clone();
    let told = tell_listeners(instance.id, registry.clone(), used, database.clone(), shutdown.clone());
    vec![told, instance.clone().keep_alive(pool, shutdown.clone())]
}

fn cannot_serve(error: std::io::Error) -> BuildError {
    BuildError(format!("the server cannot be started: {error}"))
}

fn serve(
    listener: TcpListener,
    service: Service,
    gone_after: Duration,
) -> std::io::Result<actix_web::dev::Server> {
    // Listening again on the same socket only widens its queue.
    socket2::SockRef::from(&listener).listen(BACKLOG)?;
    let service = web::Data::new(service);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(service.clone())
            .wrap(middleware::from_fn(request_id))
            .configure(routes)
            .default_service(web::to(not_found))
    })
    .workers(workers)
    .max_connections((limits::connections() / workers).max(64))
    .on_connect(move |connection, extensions| {
        let stream = connection.downcast_ref::<actix_web::rt::net::TcpStream>();
        match stream.map(|stream| StreamSocket::of(stream, gone_after)) {
            Some(Ok(socket)) => {
                extensions.insert(Arc::new(socket));
            }
            Some(Err(error)) => log::warn!("a connection cannot become a stream: {error}"),
            None => {}
        }
    })
    .tcp_nodelay(true)
    // A client that is gone is noticed at once, not with the second keepalive.
    .h1_allow_half_closed(false)
    .client_request_timeout(Duration::from_secs(10))
    .disable_signals()
    .shutdown_timeout(1)
    .listen(listener)?
    .run();
    Ok(server)
}

impl Running {
    /// Takes what a changed configuration says about sources; everything else needs a restart.
    pub fn reload(&self, config: &Config) -> Result<(), BuildError> {
        for gone in self.hub.set_rules(&rules::of(config).map_err(BuildError)?) {
            self.registry.cut_where(Cut::SourceGone, |connected| connected.source == gone.source);
        }
        self.instance.reconfigured(&config.hash);
        Ok(())
    }

    /// Stops in order: not ready, no new streams, every stream cut, the last rows removed.
    pub async fn stop(self) {
        self.readiness.fail("running", "the service is stopping");
        let [public, private] = self.servers;
        public.pause().await;
        self.registry.close();
        self.trigger.stop();
        public.stop(true).await;
        for task in self.tasks {
            let _ = timeout(FAREWELL, task).await;
        }
        private.stop(false).await;
    }
}
