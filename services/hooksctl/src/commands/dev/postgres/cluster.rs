//! The server: made, started, taken over from a `dev` that was killed, watched and stopped.

use super::super::console::Console;
use super::super::process::{command_of, is_alive, signal};
use super::super::secrets::{Passwords, SUPERUSER};
use super::account::{self, Account, give};
use super::binaries::{self, Binaries};
use super::home::Home;
use super::postmaster::Postmaster;
use crate::commands::Failed;
use anyhow::{Context, Result, bail};
use hooks_shared::Secret;
use hooks_shared::db::{Session, SessionOptions, Target, connect};
use std::fs::OpenOptions;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::error::SqlState;

/// The database in it.
const DATABASE: &str = "hooks";
/// A start may include the recovery from a crash.
const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// A server process, ours or taken over.
#[derive(Debug)]
enum Process {
    None,
    Child(Child),
    Adopted(i32),
}

#[derive(Debug)]
pub struct Cluster {
    home: Home,
    account: Option<Account>,
    passwords: Passwords,
    port: u16,
    socket_folder: Option<PathBuf>,
    process: Process,
    console: Console,
}

impl Cluster {
    pub fn new(folder: &Path, passwords: Passwords, console: Console) -> Result<Self> {
        let account = account::account()?;
        let home = Home::of(folder, account)?;
        let port = usual_port(&home);
        Ok(Self { home, account, passwords, port, socket_folder: None, process: Process::None, console })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The connection string of a role (`postgres` or one without its `hooks_`).
    pub fn url(&self, role: &str) -> Result<Secret> {
        self.url_of(role, DATABASE)
    }

    fn url_of(&self, role: &str, database: &str) -> Result<Secret> {
        let password = self.passwords.of(role).with_context(|| format!("there is no password for {role}"))?;
        let user = if role == SUPERUSER { role.to_owned() } else { format!("hooks_{role}") };
        let text = format!(
            "postgres://{user}:{}@127.0.0.1:{}/{database}?sslmode=disable",
            password.expose(),
            self.port
        );
        Ok(Secret::new(text))
    }

    /// Brings the server up, whatever the last `dev` left behind.
    pub async fn start(&mut self) -> Result<()> {
        if !self.adopt().await? {
            let binaries = binaries::find(self.home.version())?;
            if self.home.version().is_none() {
                self.console.say(&format!("making a database with PostgreSQL {}", binaries.major));
                self.init(&binaries).await?;
            }
            self.launch(&binaries).await?;
        }
        self.create_database().await
    }

    /// Takes over a server that outlived its `dev`. Only one that lets us in with our password and says that
    /// it works on our data is ours.
    async fn adopt(&mut self) -> Result<bool> {
        let Some(left) = Postmaster::read(&self.home.data()) else { return Ok(false) };
        let until = Instant::now() + STOP_LIMIT;
        // It may be starting, recovering or on its way out.
        while left.is_alive() && Instant::now() < until {
            self.port = left.port;
            if let Some(session) = self.enter().await?
                && self.works_on_our_data(&session).await
            {
                self.process = Process::Adopted(left.pid);
                self.socket_folder = Some(left.socket_folder);
                self.console.say(&format!(
                    "took over PostgreSQL (process {}), left by a dev that was killed",
                    left.pid
                ));
                return Ok(true);
            }
            if !self.is_our_server(left.pid) {
                // The number belongs to some other program now: the file is stale, and postgres replaces it.
                break;
            }
            sleep(LOOK).await;
        }
        if left.is_alive() && self.is_our_server(left.pid) {
            bail!(Failed(format!(
                "a PostgreSQL (process {}) runs on {} but does not answer; stop it, then start again",
                left.pid,
                self.home.data().display()
            )));
        }
        self.port = usual_port(&self.home);
        Ok(false)
    }

    async fn works_on_our_data(&self, session: &Session) -> bool {
        let row = session.query_one("select current_setting('data_directory')", &[]).await;
        row.is_ok_and(|row| same_file(Path::new(row.get::<_, &str>(0)), &self.home.data()))
    }

    /// A postgres works in its data folder. Where that cannot be seen, its name has to do.
    fn is_our_server(&self, pid: i32) -> bool {
        match std::fs::read_link(format!("/proc/{pid}/cwd")) {
            Ok(cwd) => same_file(&cwd, &self.home.data()),
            Err(_) => command_of(pid).is_some_and(|name| name.contains("postgres")),
        }
    }

    async fn init(&self, binaries: &Binaries) -> Result<()> {
        let (making, password_file) = (self.home.data_in_making(), self.home.base().join("pg.password"));
        let _ = std::fs::remove_dir_all(&making);
        let password = self.passwords.of(SUPERUSER).context("there is no password for the superuser")?;
        self.write_private(&password_file, password.expose())?;
        let mut initdb = self.command(binaries, "initdb", self.home.base());
        initdb.args(["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--no-instructions"]);
        initdb.arg(format!("--username={SUPERUSER}")).arg("--pwfile").arg(&password_file);
        initdb.arg("-D").arg(&making).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let output = initdb.output().await;
        let _ = std::fs::remove_file(&password_file);
        let output = output.context("initdb cannot be started")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(Failed(format!("initdb failed ({}):\n{}", output.status, said.trim())));
        }
        std::fs::rename(&making, self.home.data()).context("the new database cannot be put in its place")
    }

    fn write_private(&self, path: &Path, text: &str) -> Result<()> {
        let write = || {
            use std::io::Write;
            let _ = std::fs::remove_file(path);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(text.as_bytes())?;
            give(path, self.account)
        };
        write().with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Starts the server, on another port if somebody was quicker.
    async fn launch(&mut self, binaries: &Binaries) -> Result<()> {
        for _ in 0..5 {
            self.spawn(binaries)?;
            if self.until_it_answers().await? {
                return Ok(());
            }
            if !self.home.log_tail().contains("could not bind") {
                break;
            }
            self.port = free_port();
        }
        bail!(Failed(format!("PostgreSQL does not start; its log ends with:{}", self.home.log_tail())))
    }

    fn spawn(&mut self, binaries: &Binaries) -> Result<()> {
        let log = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(self.home.log())
            .with_context(|| format!("{} cannot be written", self.home.log().display()))?;
        let sockets = match &self.socket_folder {
            Some(folder) => folder.clone(),
            None => self.home.make_socket_folder()?,
        };
        self.socket_folder = Some(sockets.clone());
        let mut postgres = self.command(binaries, "postgres", &self.home.data());
        postgres.arg("-D").arg(self.home.data());
        for setting in [
            format!("port={}", self.port),
            "listen_addresses=127.0.0.1".to_owned(),
            format!("unix_socket_directories={}", sockets.display()),
            "max_connections=100".to_owned(),
            "logging_collector=off".to_owned(),
            "log_timezone=UTC".to_owned(),
        ] {
            postgres.arg("-c").arg(setting);
        }
        postgres.stdout(log.try_clone()?).stderr(log);
        self.process = Process::Child(postgres.spawn().context("postgres cannot be started")?);
        Ok(())
    }

    /// One of PostgreSQL's programs, as the server's account and out of reach of the terminal's Ctrl-C: the
    /// services are to be stopped first.
    fn command(&self, binaries: &Binaries, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(binaries.dir.join(program));
        command.current_dir(folder).stdin(Stdio::null()).env("LC_ALL", "C").process_group(0);
        // A variable of libpq must not lead the server's own programs elsewhere.
        for name in ["PGDATA", "PGPORT", "PGHOST", "PGOPTIONS", "PGUSER", "PGDATABASE"] {
            command.env_remove(name);
        }
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }

    /// False if it ended instead.
    async fn until_it_answers(&mut self) -> Result<bool> {
        let until = Instant::now() + START_LIMIT;
        while Instant::now() < until {
            if let Process::Child(child) = &mut self.process
                && child.try_wait()?.is_some()
            {
                self.process = Process::None;
                return Ok(false);
            }
            if self.enter().await?.is_some() {
                return Ok(true);
            }
            sleep(LOOK).await;
        }
        bail!(Failed(format!(
            "PostgreSQL does not answer after {} s; its log ends with:{}",
            START_LIMIT.as_secs(),
            self.home.log_tail()
        )))
    }

    /// A superuser's session, if the server answers. A password that is not the data's will never do.
    async fn enter(&self) -> Result<Option<Session>> {
        let target = Target::parse(&self.url_of(SUPERUSER, "postgres")?)?;
        match connect(&target, &SessionOptions::unhurried("hooksctl dev")).await {
            Ok(session) => Ok(Some(session)),
            Err(error) if error.code() == Some(&SqlState::INVALID_PASSWORD) => bail!(Failed(format!(
                "the database in {} was made with other passwords than those in .hooks (was .hooks removed?); \
                 remove that folder to start afresh",
                self.home.base().display()
            ))),
            Err(_) => Ok(None),
        }
    }

    async fn create_database(&self) -> Result<()> {
        let session = self.enter().await?.context("the database does not answer")?;
        let there = session.query_opt("select 1 from pg_database where datname = $1", &[&DATABASE]).await?;
        if there.is_none() {
            session.batch_execute(&format!("create database {DATABASE}")).await?;
        }
        Ok(())
    }

    /// Returns when the server has ended by itself.
    pub async fn ended(&mut self) {
        match &mut self.process {
            Process::Child(child) => {
                let _ = child.wait().await;
            }
            Process::Adopted(pid) => {
                while is_alive(*pid) {
                    sleep(Duration::from_secs(1)).await;
                }
            }
            Process::None => std::future::pending().await,
        }
        self.process = Process::None;
    }

    /// Starts it again on its port, after [`Cluster::ended`].
    pub async fn start_again(&mut self) -> Result<()> {
        let binaries = binaries::find(self.home.version())?;
        self.launch(&binaries).await
    }

    /// Stops it in order; its data stays.
    pub async fn stop(&mut self) {
        match std::mem::replace(&mut self.process, Process::None) {
            Process::None => {}
            Process::Child(mut child) => {
                let Some(pid) = child.id().map(|pid| pid as i32) else { return };
                // SIGINT: end every session, write everything down.
                signal(pid, libc::SIGINT);
                if timeout(STOP_LIMIT, child.wait()).await.is_err() {
                    self.console.warn("PostgreSQL does not stop; ending it at once");
                    signal(pid, libc::SIGQUIT);
                    let _ = timeout(STOP_LIMIT, child.wait()).await;
                }
            }
            Process::Adopted(pid) => {
                signal(pid, libc::SIGINT);
                let until = Instant::now() + STOP_LIMIT;
                while is_alive(pid) && Instant::now() < until {
                    sleep(LOOK).await;
                }
            }
        }
        if let Some(folder) = self.socket_folder.take() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

fn same_file(one: &Path, two: &Path) -> bool {
    match (one.canonicalize(), two.canonicalize()) {
        (Ok(one), Ok(two)) => one == two,
        _ => false,
    }
}

/// The same for a folder every time, so that a client's saved address stays right.
fn usual_port(home: &Home) -> u16 {
    use sha2::{Digest, Sha256};
    use std::os::unix::ffi::OsStrExt;
    let hash = Sha256::digest(home.base().as_os_str().as_bytes());
    let port = 20_000 + u16::from_be_bytes([hash[0], hash[1]]) % 10_000;
    if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() { port } else { free_port() }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map_or(54_329, |address| address.port())
}
