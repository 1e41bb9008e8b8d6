//! Puts the service together.

use crate::APPLICATION;
use crate::context::{Context, Cut, LARGE_BODIES_KIB};
use crate::metrics::Metrics;
use crate::seams::Seams;
use crate::slot::Slots;
use crate::worker::Worker;
use crate::{follow_up, record, store};
use actix_web::dev::{Server, ServerHandle};
use actix_web::web;
use hooks_shared::admin::{self, Readiness};
use hooks_shared::config::{Config, Listen, Source};
use hooks_shared::db::{self, ListenState, Pool, SessionOptions, Target};
use hooks_shared::instance::Instance;
use hooks_shared::maintenance;
use hooks_shared::push::declared;
use hooks_shared::push::destination::Policy;
use hooks_shared::sealed::Keyring;
use hooks_shared::shutdown::Shutdown;
use hooks_shared::spans::Spans;
use hooks_shared::verify;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

/// Time beyond the drain deadline for writing the last results down.
const LAST_WORDS: Duration = Duration::from_secs(5);

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
    keyring: Keyring,
    listen: &str,
    admin_listen: &str,
    seams: Seams,
    shutdown: Shutdown,
) -> Result<Running, String> {
    let target = Target::parse(&config.database_url).map_err(|error| error.to_string())?;
    let maintenance_target = match &config.maintenance_url {
        None => target.clone(),
        Some(url) => {
            Target::parse(url).map_err(|error| format!("HOOKS_MAINTENANCE_DATABASE_URL: {error}"))?
        }
    };
    check_declared(&config)?;
    let policy = Policy::parse(&config.push.allow_destinations)?;
    let (public, address) = admin::bind("--listen", listen)?;
    let (private, admin_address) = admin::bind("--admin-listen", admin_listen)?;
    let readiness = Readiness::waiting_for(&["database", "schema", "protocol"]);
    let page = admin::metrics();
    let metrics = Metrics::register(&page);
    let pool = db::pool(&target, SessionOptions::service(APPLICATION), 3, Duration::from_secs(3));
    let instance = Instance::new("push-worker", env!("CARGO_PKG_VERSION"), config.hash.clone());
    log::info!(worker:% = instance.id, concurrency = config.push.concurrency; "claims are held under this name");

    let (reports, reported) = mpsc::channel(config.push.concurrency);
    let (follow_ups, to_follow) = mpsc::channel(1024);
    let (cut, cut_seen) = watch::channel(false);
    let context = Arc::new(Context {
        worker: instance.id.to_string(),
        settings: config.push.clone(),
        policy,
        keyring,
        target: target.clone(),
        pool: pool.clone(),
        slots: Slots::new(config.push.concurrency, metrics.in_flight.clone()),
        metrics,
        shutdown: shutdown.clone(),
        cut: Cut(cut_seen),
        large_bodies: Arc::new(Semaphore::new(LARGE_BODIES_KIB)),
        wake: Arc::new(Notify::new()),
        credential_headers: credential_headers(&config),
        paused_sources: config.sources.values().filter(|s| s.paused).map(|s| s.name.clone()).collect(),
        seams,
    });
    let listen_state = start_listening(&config, &target, &context)?;
    let tasks = TaskTracker::new();
    let worker = Worker::new(context.clone(), listen_state, reports, follow_ups.clone(), tasks.clone());
    let push = Push {
        worker: tokio::spawn(worker.run()),
        recorder: tokio::spawn(record::run(context.clone(), reported, follow_ups)),
        follow_up: tokio::spawn(follow_up::run(context.clone(), to_follow)),
        tasks,
        cut,
        drain: config.push.drain,
    };
    let public = serve_health(public).map_err(|error| error.to_string())?;
    let private = admin::serve(private, readiness.clone(), page).map_err(|error| error.to_string())?;
    let background = vec![
        db::watch_database(pool.clone(), readiness.clone(), shutdown.clone()),
        watch_claims(context.clone(), readiness.clone()),
        maintenance::spawn(
            maintenance_target,
            maintenance::Settings::from(&config),
            readiness.clone(),
            shutdown.clone(),
        ),
    ];
    let alive = instance.keep_alive(pool.clone(), shutdown.clone());
    let servers = Servers::start([public, private]);
    let spans = context.seams.spans.clone();
    let parts = Parts { readiness: readiness.clone(), shutdown, push, background, alive, servers, spans };
    Ok(Running { address, admin: admin_address, readiness, main: tokio::spawn(parts.run()) })
}

/// A declared subscription that makes no sense, an unknown signing scheme for one, is not found out at three o'clock.
fn check_declared(config: &Config) -> Result<(), String> {
    let Some(value) = &config.push.subscriptions else { return Ok(()) };
    declared::read(value).map(drop).map_err(|faults| {
        let lines: Vec<String> = faults.iter().map(|f| format!("{}: {}", f.field, f.message)).collect();
        lines.join("\n")
    })
}

/// By source, the headers in which its scheme carries a credential: they are not passed on.
fn credential_headers(config: &Config) -> BTreeMap<String, Vec<String>> {
    let of = |source: &Source| (source.name.clone(), verify::credential_headers(&source.verifier));
    config.sources.values().map(of).collect()
}

/// Hints wake the worker. Without LISTEN it polls, which gives the same result later (L13).
fn start_listening(config: &Config, target: &Target, context: &Arc<Context>) -> Result<ListenState, String> {
    let target = match &config.listen {
        Listen::Off => return Ok(ListenState::default()),
        Listen::Same => target.clone(),
        Listen::Url(url) => Target::parse(url).map_err(|error| format!("listen_database_url: {error}"))?,
    };
    let (mut hints, state) = db::listen(target, "hooks-push-worker-listen");
    let (wake, shutdown) = (context.wake.clone(), context.shutdown.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                hint = hints.recv() => match hint {
                    Some(_) => wake.notify_one(),
                    None => return,
                },
                () = shutdown.wait() => return,
            }
        }
    });
    Ok(state)
}

/// Keeps the readiness condition `protocol` (L12) and the gauges of what is owed.
fn watch_claims(context: Arc<Context>, readiness: Readiness) -> JoinHandle<()> {
    let (pool, shutdown) = (context.pool.clone(), context.shutdown.clone());
    let (ours, metrics) = (context.seams.protocol, context.metrics.clone());
    drop(context);
    tokio::spawn(async move {
        loop {
            let known = look_at_claims(&pool, ours, &metrics, &readiness).await;
            let pause = Duration::from_secs(if known { 10 } else { 1 });
            tokio::select! {
                () = sleep(pause) => {}
                () = shutdown.wait() => return,
            }
        }
    })
}

async fn look_at_claims(pool: &Pool, ours: i32, metrics: &Metrics, readiness: &Readiness) -> bool {
    let Ok(session) = pool.get().await else { return false };
    match store::protocol(&session).await {
        Ok(theirs) if theirs > ours => readiness.fail(
            "protocol",
            format!("this worker speaks claim protocol {ours}, the database {theirs}: it claims nothing; start a newer build"),
        ),
        Ok(_) => readiness.hold("protocol"),
        Err(error) => {
            log::debug!("the claim protocol could not be read: {}", db::describe(&error));
            return false;
        }
    }
    if let Ok(depth) = store::depth(&session).await {
        metrics.open.set(depth.open);
        metrics.due.set(depth.due);
        metrics.oldest_due.set(depth.oldest);
    }
    true
}

/// The parts that push.
struct Push {
    worker: JoinHandle<()>,
    recorder: JoinHandle<()>,
    follow_up: JoinHandle<()>,
    tasks: TaskTracker,
    cut: watch::Sender<bool>,
    drain: Duration,
}

impl Push {
    /// L14: no new claims; what is under way ends and is recorded, what is not yet sent goes back; at the drain
    /// deadline the rest is cut.
    async fn drain(self) {
        let started = tokio::time::Instant::now();
        let _ = self.worker.await;
        self.tasks.close();
        if timeout(self.drain.saturating_sub(started.elapsed()), self.tasks.wait()).await.is_err() {
            log::warn!(left = self.tasks.len(); "the drain deadline has passed: requests under way are cut");
            self.cut.send_replace(true);
            let _ = timeout(LAST_WORDS, self.tasks.wait()).await;
        }
        if timeout(LAST_WORDS, self.recorder).await.is_err() {
            log::warn!("results could not be recorded before the end: their leases will run out");
        }
        let _ = timeout(LAST_WORDS, self.follow_up).await;
    }
}

struct Parts {
    readiness: Readiness,
    shutdown: Shutdown,
    push: Push,
    background: Vec<JoinHandle<()>>,
    alive: JoinHandle<()>,
    servers: Servers,
    spans: Spans,
}

impl Parts {
    async fn run(self) {
        self.shutdown.wait().await;
        self.readiness.fail("running", "stopping");
        self.push.drain().await;
        for task in self.background.into_iter().chain([self.alive]) {
            // Maintenance may be in the middle of something that the next round finishes.
            let abort = task.abort_handle();
            if timeout(Duration::from_secs(2), task).await.is_err() {
                abort.abort();
            }
        }
        self.spans.stop().await;
        self.servers.stop().await;
    }
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
