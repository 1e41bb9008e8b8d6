//! Puts the service together and takes it apart again.

use crate::auth::password::Hasher;
use crate::http;
use crate::routes;
use crate::schemes::Schemes;
use crate::state::{Inner, State};
use crate::tasks::live::Live;
use crate::tasks::{indexer, sampler};
use actix_web::dev::{Server, ServerHandle};
use actix_web::{App, HttpServer, web};
use hooks_shared::admin::{self, Readiness};
use hooks_shared::config::Listen;
use hooks_shared::db::{self, SessionOptions, Target};
use hooks_shared::instance::Instance;
use hooks_shared::push::destination::{Policy, Resolver, SystemResolver};
use hooks_shared::sealed::Keyring;
use hooks_shared::service::announce;
use hooks_shared::shutdown::{self, ShutdownTrigger};
use hooks_shared::{Clock, Config};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

const NAME: &str = "hooks-inspector";
const SESSIONS: u32 = 8;
const SESSION_WAIT: Duration = Duration::from_secs(3);
const BODY_TIME: Duration = Duration::from_secs(20);
/// What requests under way get to finish after SIGTERM.
const DRAIN_SECONDS: u64 = 10;

/// What tests put in the place of the real thing.
#[derive(Clone)]
pub struct Seams {
    pub clock: Clock,
    /// Looks up the names of destinations.
    pub resolver: Arc<dyn Resolver>,
    /// Instead of `HOOKS_SECRET_KEYS`.
    pub keyring: Option<Keyring>,
    /// How long a request body may take to arrive.
    pub body_time: Duration,
}

impl Default for Seams {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            resolver: Arc::new(SystemResolver),
            keyring: None,
            body_time: BODY_TIME,
        }
    }
}

impl std::fmt::Debug for Seams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seams").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// The running service.
#[derive(Debug)]
pub struct Running {
    pub address: SocketAddr,
    pub admin_address: SocketAddr,
    readiness: Readiness,
    background: ShutdownTrigger,
    tasks: Vec<JoinHandle<()>>,
    servers: [ServerHandle; 2],
}

/// Opens the ports and serves. The database is waited for in the background: until it is there, `/readyz` says what is
/// missing and requests that need it are answered with 503.
pub async fn build(
    config: Config,
    listen: &str,
    admin_listen: &str,
    seams: Seams,
) -> Result<Running, String> {
    let target = Target::parse(&config.database_url).map_err(|error| format!("database_url: {error}"))?;
    let listen_target = match &config.listen {
        Listen::Same => Some(target.clone()),
        Listen::Url(url) => {
            Some(Target::parse(url).map_err(|error| format!("listen_database_url: {error}"))?)
        }
        Listen::Off => None,
    };
    let policy = Policy::parse(&config.push.allow_destinations)?;
    let keyring = match seams.keyring {
        Some(keyring) => Some(keyring),
        None => Keyring::from_env(&|name| std::env::var(name).ok())?,
    };
    let (listener, address) = admin::bind("--listen", listen)?;
    let (admin_listener, admin_address) = admin::bind("--admin-listen", admin_listen)?;
    let pool = db::pool(&target, SessionOptions::service(NAME), SESSIONS, SESSION_WAIT);
    let readiness = Readiness::waiting_for(&[db::DATABASE, db::SCHEMA]);
    let (background, stopping) = shutdown::manual();
    let instance = Instance::new("inspector", env!("CARGO_PKG_VERSION"), config.hash.clone());
    let registry = admin::metrics();
    if keyring.is_none() {
        let reason = "HOOKS_SECRET_KEYS is not set: push subscriptions can be seen and paused, not made";
        readiness.note("secret_keys", Some(reason.to_owned()));
    }
    let live = Live::default();
    let state = State::new(Inner {
        schemes: Schemes::of(&config),
        live: live.clone(),
        keyring,
        policy,
        resolver: seams.resolver,
        body_time: seams.body_time,
        config,
        pool: pool.clone(),
        clock: seams.clock,
        hasher: Hasher::default(),
        stopping: stopping.clone(),
        runtime: Handle::current(),
    });
    let hints = listen_target.map(|target| db::listen(target, "hooks-inspector listen").0);
    let tasks = vec![
        db::watch_database(pool.clone(), readiness.clone(), stopping.clone()),
        tokio::spawn(indexer::run(target, live.hints(), stopping.clone())),
        tokio::spawn(sampler::run(state.clone(), stopping.clone())),
        tokio::spawn(live.run(state.clone(), hints, stopping.clone())),
        instance.keep_alive(pool, stopping),
    ];
    let cannot = |error: std::io::Error| format!("the server cannot be started: {error}");
    let public = serve(listener, state).map_err(cannot)?;
    let private = admin::serve(admin_listener, readiness.clone(), registry).map_err(cannot)?;
    let servers = [public.handle(), private.handle()];
    tokio::spawn(public);
    tokio::spawn(private);
    announce(address, admin_address);
    Ok(Running { address, admin_address, readiness, background, tasks, servers })
}

fn serve(listener: TcpListener, state: State) -> std::io::Result<Server> {
    let state = web::Data::new(state);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(state.clone())
            .route("/healthz", web::get().to(http::healthz))
            .configure(|config| http::configure(config, routes::table()))
    })
    .workers(2)
    .client_request_timeout(Duration::from_secs(10))
    .disable_signals()
    .shutdown_timeout(DRAIN_SECONDS)
    .listen(listener)?
    .run();
    Ok(server)
}

impl Running {
    /// Not ready, no new connections, requests under way answered, then gone.
    pub async fn stop(self) {
        self.readiness.fail("stopping", "the service is stopping");
        let [public, private] = self.servers;
        self.background.stop();
        public.stop(true).await;
        for task in self.tasks {
            let _ = tokio::time::timeout(Duration::from_secs(2), task).await;
        }
        private.stop(false).await;
    }
}
