//! Our binaries as real processes, with real signals.

mod binary;
mod capture;
mod launch;
mod reaper;
mod usage;

use std::net::SocketAddr;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tempfile::TempDir;

pub use binary::{BIN_DIR_VARIABLE, Output, binary, run};
pub use launch::Launch;

use crate::http::{self, RawConnection};
use crate::until;
use capture::Capture;

/// How long a service may take to bind its ports on a busy machine.
const BIND_PATIENCE: Duration = Duration::from_secs(30);

/// The signals that tests send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Please stop.
    Term,
    /// Ctrl-C.
    Int,
    /// Ends it without a word.
    Kill,
    /// Freezes it, as a laptop's sleep does.
    Stop,
    /// Ends a freeze.
    Cont,
    /// Read the configuration again.
    Hup,
}

impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Term => Self::TERM,
            Signal::Int => Self::INT,
            Signal::Kill => Self::KILL,
            Signal::Stop => Self::STOP,
            Signal::Cont => Self::CONT,
            Signal::Hup => Self::HUP,
        }
    }
}

/// A running process: killed when dropped or when the test process ends, its output printed if a test panics.
#[derive(Debug)]
pub struct Service {
    name: String,
    pid: u32,
    child: Mutex<(Child, Option<ExitStatus>)>,
    capture: Capture,
    readers: Vec<JoinHandle<()>>,
    _home: Option<TempDir>,
}

impl Service {
    /// Starts what `launch` describes.
    pub fn start(launch: &Launch) -> Self {
        let home = launch.home.is_none().then(|| tempfile::tempdir().expect("make a home directory"));
        let home_path = launch.home.as_deref().or(home.as_ref().map(TempDir::path));
        let mut env: Vec<_> =
            home_path.map(|path| ("HOME".into(), path.display().to_string())).into_iter().collect();
        env.extend(launch.env.iter().cloned());
        let mut command = binary::command(&launch.binary, &launch.args, &env);
        if let Some(dir) = launch.dir.as_deref().or(home_path) {
            command.current_dir(dir);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        reaper::watch(child.id());
        let capture = Capture::default();
        let readers = vec![
            capture.read(child.stdout.take().expect("the pipe just asked for"), true),
            capture.read(child.stderr.take().expect("the pipe just asked for"), false),
        ];
        let pid = child.id();
        Self {
            name: launch.binary.clone(),
            pid,
            child: Mutex::new((child, None)),
            capture,
            readers,
            _home: home,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Where it listens; waits for the line that says so.
    pub async fn address(&self) -> SocketAddr {
        self.bound("listening address=").await
    }

    /// Where its admin routes are; waits for the line that says so.
    pub async fn admin(&self) -> SocketAddr {
        self.bound(" admin=").await
    }

    async fn bound(&self, key: &str) -> SocketAddr {
        self.wait("it to say where it listens", BIND_PATIENCE, async || {
            let line = self.capture.find("listening address=").ok_or("no such line yet".to_owned())?;
            address_after(&line, key).ok_or(format!("no `{key}<ip:port>` in: {line}"))
        })
        .await
    }

    /// `http://<address>` plus `path`.
    pub async fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address().await)
    }

    /// Waits until `/readyz` on the admin port answers 200.
    pub async fn wait_ready(&self, deadline: Duration) {
        let admin = self.admin().await;
        self.wait("/readyz to say 200", deadline, async || {
            let mut connection =
                RawConnection::try_connect(admin).await.map_err(|error| error.to_string())?;
            let get = http::request("GET", "/readyz", &[("Connection", "close")], b"");
            connection.send(&get).await.map_err(|error| error.to_string())?;
            let answer = connection.recv().await.map_err(|error| error.to_string())?;
            if answer.status == 200 { Ok(()) } else { Err(format!("{}: {}", answer.status, answer.text())) }
        })
        .await;
    }

    /// Sends a signal; panics if the process has already been seen to end.
    pub fn signal(&self, signal: Signal) {
        assert!(self.try_status().is_none(), "{} has ended already:\n{}", self.name, self.logs());
        kill_process(self.rustix_pid(), signal.into())
            .unwrap_or_else(|error| panic!("signal {}: {error}", self.name));
    }

    fn rustix_pid(&self) -> Pid {
        Pid::from_raw(self.pid as i32).expect("a process id is never zero")
    }

    /// How it ended, if it has.
    pub fn try_status(&self) -> Option<ExitStatus> {
        let mut child = self.child();
        if child.1.is_none() {
            child.1 = child.0.try_wait().expect("wait for a child");
            if child.1.is_some() {
                reaper::forget(self.pid);
            }
        }
        child.1
    }

    fn child(&self) -> MutexGuard<'_, (Child, Option<ExitStatus>)> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end; all its output is in [`Self::logs`] then.
    pub async fn wait_exit(&self, deadline: Duration) -> ExitStatus {
        let what = format!("{} to end", self.name);
        until(deadline, &what, async || {
            let status = self.try_status().ok_or_else(|| Verbatim(self.logs()))?;
            let read = self.readers.iter().all(JoinHandle::is_finished);
            if read { Ok(status) } else { Err(Verbatim("its output is still being read".into())) }
        })
        .await
    }

    /// Everything it has written to standard output and standard error.
    pub fn logs(&self) -> String {
        self.capture.all()
    }

    /// Everything it has written to standard output.
    pub fn stdout(&self) -> String {
        self.capture.stdout()
    }

    /// Waits for a line that contains `substring` and returns the first such line, also one written before.
    pub async fn wait_log(&self, substring: &str, deadline: Duration) -> String {
        self.wait(&format!("the line {substring:?}"), deadline, async || {
            self.capture.find(substring).ok_or("no such line".to_owned())
        })
        .await
    }

    /// Waits with [`until`], giving up early when the process has ended, and shows its output on failure.
    async fn wait<T, F>(&self, what: &str, deadline: Duration, probe: impl Fn() -> F) -> T
    where
        F: Future<Output = Result<T, String>>,
    {
        let outcome = until(deadline, &format!("{}: {what}", self.name), async || {
            let ended = self.try_status();
            match (probe().await, ended) {
                (Ok(value), _) => Ok(Ok(value)),
                (Err(seen), Some(status)) if self.readers.iter().all(JoinHandle::is_finished) => {
                    Ok(Err(format!("{seen}; it has ended: {status}")))
                }
                (Err(seen), _) => Err(Verbatim(format!("{seen}\noutput:\n{}", self.logs()))),
            }
        })
        .await;
        outcome.unwrap_or_else(|seen| {
            panic!("{}: waited for {what}: {seen}\noutput:\n{}", self.name, self.logs())
        })
    }

    /// Resident memory now, in KiB.
    pub fn rss_kib(&self) -> u64 {
        usage::rss_kib(self.pid)
    }

    /// Processor time used so far, user and system, in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        usage::cpu_seconds(self.pid)
    }
}

/// Text that `{:?}` shows as it is, so that logs keep their lines.
struct Verbatim(String);

impl std::fmt::Debug for Verbatim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn address_after(line: &str, key: &str) -> Option<SocketAddr> {
    let rest = line.split_once(key)?.1;
    let end = rest.find(|c: char| !(c.is_ascii_hexdigit() || ".:[]".contains(c))).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.try_status().is_none() {
            let mut child = self.child();
            let _ = child.0.kill();
            let _ = child.0.wait();
            reaper::forget(self.pid);
        }
        if std::thread::panicking() {
            eprintln!("---- output of {} (pid {}):\n{}\n----", self.name, self.pid, self.logs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_out_of_the_line_that_says_them() {
        let line = "[2026-01-01T00:00:00Z INFO  hooks] listening address=127.0.0.1:4321 admin=[::1]:9, more";
        assert_eq!(address_after(line, "listening address="), Some(([127, 0, 0, 1], 4321).into()));
        assert_eq!(address_after(line, " admin=").map(|a| a.port()), Some(9));
        assert_eq!(address_after("listening address=nowhere", "listening address="), None);
    }
}
