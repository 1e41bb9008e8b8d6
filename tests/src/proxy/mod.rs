//! A TCP proxy that breaks links on purpose: between a service and its database, or a client and a service.

mod frames;
mod link;
mod trip;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use trip::{At, Cut, Trip};

use crate::gate::Gate;
use crate::{port, until};
use trip::{Action, Tripwire};

/// How long a change of mode may take to be carried out.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which way a piece of data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client that connected to the proxy.
    ToServer,
    /// From what the proxy connects to.
    ToClient,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pass,
    Refuse,
    Blackhole,
}

type Delay = Arc<dyn Fn(Direction) -> Duration + Send + Sync>;

/// A proxy on a port of 127.0.0.1 that stays the same. It lives on the runtime of the test that started it and
/// closes its connections when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    target: Mutex<SocketAddr>,
    mode: watch::Sender<Mode>,
    listening: watch::Sender<bool>,
    /// Counts cuts; whoever holds a connection watches for a change.
    cuts: watch::Sender<u64>,
    delay: Mutex<Option<Delay>>,
    tripwires: Mutex<Vec<Tripwire>>,
    open: Mutex<BTreeSet<u64>>,
    accepted: AtomicU64,
}

impl Proxy {
    /// A proxy that passes everything on to `target`.
    pub async fn to(target: SocketAddr) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port::free()));
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            mode: watch::Sender::new(Mode::Pass),
            listening: watch::Sender::new(false),
            cuts: watch::Sender::new(0),
            delay: Mutex::default(),
            tripwires: Mutex::default(),
            open: Mutex::default(),
            accepted: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept(address, shared.clone()));
        let proxy = Self { address, shared, accepting };
        proxy.set(Mode::Pass).await;
        proxy
    }

    /// A proxy to the server in a database URL.
    pub async fn to_database(url: &str) -> Self {
        let parsed = parse(url);
        let host = parsed.host_str().expect("a database URL with a host");
        let target = format!("{host}:{}", parsed.port().unwrap_or(5432));
        Self::to(target.parse().unwrap_or_else(|error| panic!("{target} is no IP address and port: {error}")))
            .await
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// `url` (of a database or of a service) with host and port replaced by the proxy's.
    pub fn url(&self, url: &str) -> String {
        let mut parsed = parse(url);
        parsed.set_ip_host(self.address.ip()).expect("a URL with a host");
        parsed.set_port(Some(self.address.port())).expect("a URL with a port");
        parsed.into()
    }

    /// Sends new connections to another server, as after a failover.
    pub fn retarget(&self, target: SocketAddr) {
        *lock(&self.shared.target) = target;
    }

    /// Passes everything on again, beginning with what a black hole has held back.
    pub async fn pass(&self) {
        self.set(Mode::Pass).await;
    }

    /// Stops listening: new connections are refused. Open ones live on: see [`Self::cut`].
    pub async fn refuse(&self) {
        self.set(Mode::Refuse).await;
    }

    /// Forwards nothing any more in either direction, not even an end; open connections stay open and new ones
    /// hang: a cable pulled, a laptop asleep.
    pub async fn blackhole(&self) {
        self.set(Mode::Blackhole).await;
    }

    async fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
        let mut listening = self.shared.listening.subscribe();
        let wanted = mode != Mode::Refuse;
        let changed = tokio::time::timeout(PATIENCE, listening.wait_for(|now| *now == wanted)).await;
        assert!(matches!(changed, Ok(Ok(_))), "the proxy on {} did not become {mode:?}", self.address);
    }

    /// Resets every open connection on both sides, and returns when that is done.
    pub async fn cut(&self) {
        let open = lock(&self.shared.open).clone();
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
        until(PATIENCE, "the proxy's connections to be cut", async || {
            lock(&self.shared.open).is_disjoint(&open)
        })
        .await;
    }

    /// Holds every piece of data back for as long as `delay` says, in order; asked anew for each.
    pub fn delay(&self, delay: impl Fn(Direction) -> Duration + Send + Sync + 'static) {
        *lock(&self.shared.delay) = Some(Arc::new(delay));
    }

    /// Delays by the same time always.
    pub fn delay_by(&self, time: Duration) {
        self.delay(move |_| time);
    }

    /// Delays by a random time between `least` and `most`.
    pub fn delay_between(&self, least: Duration, most: Duration) {
        self.delay(move |_| rand::random_range(least..=most));
    }

    /// Ends all delays.
    pub fn no_delay(&self) {
        *lock(&self.shared.delay) = None;
    }

    /// Cuts the connection on which `at` happens, once unless `at` says otherwise.
    pub fn cut_when(&self, at: At, cut: Cut) -> Trip {
        self.trip(at, Action::Cut(cut))
    }

    /// Holds the connection on which `at` happens at `gate`, before the server sees anything of it.
    pub fn hold_when(&self, at: At, gate: Gate) -> Trip {
        self.trip(at, Action::Hold(gate))
    }

    fn trip(&self, at: At, action: Action) -> Trip {
        let (tripwire, trip) = Tripwire::new(at, action);
        lock(&self.shared.tripwires).push(tripwire);
        trip
    }

    /// Removes everything set by [`Self::cut_when`] and [`Self::hold_when`].
    pub fn clear_trips(&self) {
        lock(&self.shared.tripwires).clear();
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        lock(&self.shared.open).len()
    }

    /// How many connections there ever were.
    pub fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, mode) = (lock(&self.target), self.mode.borrow());
        f.debug_struct("Shared").field("target", &target).field("mode", &mode).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parse(url: &str) -> url::Url {
    url::Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

async fn accept(address: SocketAddr, shared: Arc<Shared>) {
    let mut links = JoinSet::new();
    let mut mode = shared.mode.subscribe();
    loop {
        if mode.wait_for(|mode| *mode != Mode::Refuse).await.is_err() {
            return;
        }
        let listener = bind(address).await;
        shared.listening.send_replace(true);
        loop {
            while links.try_join_next().is_some() {}
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((client, _)) = accepted else { continue };
                    let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
                    // Before it counts as open: a cut that waits for it must reach it.
                    let cuts = shared.cuts.subscribe();
                    lock(&shared.open).insert(number);
                    links.spawn(link::serve(client, number, cuts, shared.clone()));
                }
                _ = mode.wait_for(|mode| *mode == Mode::Refuse) => break,
            }
        }
        drop(listener);
        shared.listening.send_replace(false);
    }
}

/// Binds the proxy's own port (again), which nobody else uses: see [`port::free`].
async fn bind(address: SocketAddr) -> TcpListener {
    TcpListener::bind(address).await.unwrap_or_else(|error| panic!("the proxy's own port {address}: {error}"))
}
