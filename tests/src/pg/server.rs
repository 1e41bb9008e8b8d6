//! One data directory and the server process on it.

use std::fs::{File, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::binaries::{self, Account};
use super::watchdog::Watchdog;
use super::{SUPERUSER, SUPERUSER_PASSWORD, connect, place};
use crate::{port, until};

/// How long a start, a crash recovery or a stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The directory, the process and what cleans both up.
#[derive(Debug)]
pub(super) struct Server {
    pub dir: PathBuf,
    pub port: u16,
    /// Real flushes to a real disk.
    pub durable: bool,
    bindir: PathBuf,
    account: Option<Account>,
    child: Mutex<Option<Child>>,
    // Last: dropped after the server has been stopped and reaped.
    _watchdog: Watchdog,
}

impl Server {
    /// A fresh directory with an empty place for the data; nothing runs yet.
    pub fn prepare(durable: bool) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("hooks-pg-")
            .tempdir_in(place::parent(durable))
            .expect("make a temporary directory for a test cluster")
            .keep();
        let watchdog = Watchdog::over(&dir);
        let account = binaries::account();
        if let Some(account) = account {
            std::os::unix::fs::chown(&dir, Some(account.uid), Some(account.gid))
                .expect("chown the cluster's dir");
        }
        Self {
            dir,
            port: port::free(),
            durable,
            bindir: binaries::bindir(),
            account,
            child: Mutex::new(None),
            _watchdog: watchdog,
        }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://{SUPERUSER}:{SUPERUSER_PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// One of PostgreSQL's programs, as the account that owns the data.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bindir.join(program));
        command.current_dir(&self.dir).stdin(Stdio::null()).env("LC_ALL", "C").process_group(0);
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command
    }

    /// Runs one of them to its end; panics with its output if it fails.
    pub fn run(&self, command: &mut Command) {
        let output = command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    }

    /// Writes a file that belongs to the server's account.
    pub fn write(&self, path: &Path, text: &str) {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        if let Some(account) = self.account {
            std::os::unix::fs::chown(path, Some(account.uid), Some(account.gid))
                .expect("chown a cluster's file");
        }
    }

    /// Adds lines to `postgresql.conf`.
    pub fn append_conf(&self, lines: &str) {
        let path = self.data().join("postgresql.conf");
        let conf = std::fs::read_to_string(&path).expect("read postgresql.conf");
        self.write(&path, &format!("{conf}\n{lines}"));
    }

    /// Starts the server for the first time, on another port if somebody was quicker.
    pub async fn start_first(&mut self) {
        for _ in 0..5 {
            match self.start().await {
                Ok(()) => return,
                Err(log) if log.contains("could not bind") => self.port = port::free(),
                Err(log) => panic!("postgres did not start:\n{log}"),
            }
        }
        panic!("postgres found its port taken five times:\n{}", self.log());
    }

    /// Starts the server and waits until it answers; its log if it ends instead.
    pub async fn start(&self) -> Result<(), String> {
        let log = self.log_file();
        let mut command = self.command("postgres");
        command
            .arg("-D")
            .arg(self.data())
            .args(["-c", &format!("port={}", self.port)])
            .args(["-c", &format!("unix_socket_directories={}", self.dir.display())])
            .stdout(log.try_clone().expect("share the log file"))
            .stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        let earlier = self.child().replace(child);
        assert!(earlier.is_none(), "the test cluster runs already");
        let url = self.url("postgres");
        let ended = until(PATIENCE, "postgres to answer", async || {
            if self.exited() {
                return Ok(true);
            }
            let client = connect(&url).await?;
            client.simple_query("select 1").await.map(|_| false)
        })
        .await;
        if ended { Err(self.log()) } else { Ok(()) }
    }

    fn log_file(&self) -> File {
        let path = self.dir.join("log");
        OpenOptions::new().create(true).append(true).open(path).expect("open the cluster's log")
    }

    /// Everything the server has logged.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.dir.join("log")).unwrap_or_default()).into_owned()
    }

    pub fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True once no server process is left; reaps it.
    fn exited(&self) -> bool {
        let mut child = self.child();
        match child.as_mut().map(|child| child.try_wait().expect("wait for postgres")) {
            Some(None) => false,
            Some(Some(_)) => {
                *child = None;
                true
            }
            None => true,
        }
    }

    fn pid(&self) -> Option<Pid> {
        self.child().as_ref().map(Pid::from_child)
    }

    /// Signals the postmaster and waits for its end.
    pub async fn stop(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            kill_process(pid, signal).expect("signal postgres");
        }
        until(PATIENCE, "postgres to stop (a smart stop waits for every client)", async || self.exited())
            .await;
    }

    /// Signals the postmaster and all its children at once.
    pub fn signal_all(&self, signal: Signal) {
        let Some(pid) = self.pid() else { return };
        let children = children(pid);
        for pid in std::iter::once(pid).chain(children) {
            // A child may have ended in between.
            let _ = kill_process(pid, signal);
        }
    }
}

fn children(pid: Pid) -> Vec<Pid> {
    let pid = pid.as_raw_nonzero();
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|word| Pid::from_raw(word.parse().ok()?)).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal_all(Signal::CONT);
        if let Some(mut child) = self.child().take() {
            let _ = kill_process(Pid::from_child(&child), Signal::QUIT);
            let _ = child.wait();
        }
    }
}
