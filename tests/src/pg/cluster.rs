//! The cluster as tests see it.

use std::sync::Arc;

use rustix::process::Signal;
use tokio::sync::OnceCell;

use super::server::Server;
use super::{SUPERUSER, SUPERUSER_PASSWORD, connect};

/// How a cluster differs from the default: `fsync` off, replication possible, 300 connections.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Real flushes to a real disk: needed where something is said about durability, time or a lot of data.
    pub fsync: bool,
    /// Further lines for `postgresql.conf`, as (name, value); they win over the kit's.
    pub settings: Vec<(String, String)>,
}

impl Options {
    /// The default with one more setting.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// The default with real flushes.
    pub fn durable() -> Self {
        Self { fsync: true, ..Self::default() }
    }

    fn to_conf(&self) -> String {
        let switch = if self.fsync { "on" } else { "off" };
        // Without flushes a checkpoint costs little, and the directory may be in memory.
        let wal = if self.fsync { "4GB" } else { "512MB" };
        let mut lines = format!(
            "listen_addresses = '127.0.0.1'\n\
             fsync = {switch}\n\
             full_page_writes = {switch}\n\
             max_connections = 300\n\
             max_prepared_transactions = 20\n\
             max_wal_senders = 10\n\
             wal_level = replica\n\
             hot_standby = on\n\
             checkpoint_timeout = 30min\n\
             max_wal_size = {wal}\n\
             timezone = 'UTC'\n\
             log_timezone = 'UTC'\n\
             log_line_prefix = '%m [%p] %a@%d '\n"
        );
        for (name, value) in &self.settings {
            lines.push_str(&format!("{name} = '{}'\n", value.replace('\'', "''")));
        }
        lines
    }
}

/// How [`Cluster::stop`] treats clients, as in `pg_ctl stop -m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Waits until every client has left.
    Smart,
    /// Ends every session, then shuts down cleanly.
    Fast,
    /// Drops everything: the next start goes through crash recovery.
    Immediate,
}

/// A private PostgreSQL server on 127.0.0.1 with its data in a temporary directory. Clones are the same
/// cluster; it is stopped and removed with the last of them, and also if the test process is killed.
#[derive(Debug, Clone)]
pub struct Cluster {
    pub(super) server: Arc<Server>,
    pub(crate) template: Arc<OnceCell<Result<(), String>>>,
}

impl Cluster {
    /// The cluster that all tests of this process share: never stop, freeze or reconfigure this one.
    pub async fn shared() -> Self {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        SHARED.get_or_init(|| Self::start(Options::default())).await.clone()
    }

    /// A cluster of this test's own.
    pub async fn start(options: Options) -> Self {
        let mut server = Server::prepare(options.fsync);
        let password_file = server.dir.join("password");
        server.write(&password_file, SUPERUSER_PASSWORD);
        let mut initdb = server.command("initdb");
        initdb.args(["--no-sync", "--encoding=UTF8", "--locale=C", "--auth-local=trust"]);
        initdb.args(["--auth-host=scram-sha-256", &format!("--username={SUPERUSER}")]);
        initdb.arg("--pwfile").arg(&password_file).arg("-D").arg(server.data());
        server.run(&mut initdb);
        server.append_conf(&options.to_conf());
        server.start_first().await;
        Self::of(server)
    }

    pub(super) fn of(server: Server) -> Self {
        Self { server: Arc::new(server), template: Arc::default() }
    }

    /// The TCP port on 127.0.0.1; the same after every restart.
    pub fn port(&self) -> u16 {
        self.server.port
    }

    /// The superuser's connection string for `database`.
    pub fn url(&self, database: &str) -> String {
        self.server.url(database)
    }

    /// A superuser's connection to `database`.
    pub async fn superuser_client(&self, database: &str) -> tokio_postgres::Client {
        let url = self.url(database);
        connect(&url).await.unwrap_or_else(|error| panic!("connect to {url}: {error}"))
    }

    /// Stops the server; [`Self::start_again`] brings it back on the same port.
    pub async fn stop(&self, mode: StopMode) {
        let signal = match mode {
            StopMode::Smart => Signal::TERM,
            StopMode::Fast => Signal::INT,
            StopMode::Immediate => Signal::QUIT,
        };
        self.server.stop(signal).await;
    }

    /// Kills the postmaster and every backend at once, as a power cut would (the page cache survives).
    pub async fn kill_9(&self) {
        self.server.signal_all(Signal::KILL);
        self.server.stop(Signal::KILL).await;
    }

    /// Starts a stopped or killed server on the same data and port, and waits until it answers.
    pub async fn start_again(&self) {
        if let Err(log) = self.server.start().await {
            panic!("postgres did not start again:\n{log}");
        }
    }

    /// Stops every process of the server in its tracks: connections stay open, nothing answers.
    pub fn freeze(&self) {
        self.server.signal_all(Signal::STOP);
    }

    /// Ends [`Self::freeze`].
    pub fn thaw(&self) {
        self.server.signal_all(Signal::CONT);
    }

    /// Everything the server has logged so far.
    pub fn log(&self) -> String {
        self.server.log()
    }
}
