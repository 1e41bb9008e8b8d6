//! One service: started, listened to, started again when it falls over, stopped.

use super::console::Console;
use super::orphans::Register;
use super::ports::Ports;
use super::process::signal;
use anyhow::{Context, Result};
use hooks_shared::Secret;
use hooks_shared::shutdown::Shutdown;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

/// A service is given this long to stop by itself.
const STOP_LIMIT: Duration = Duration::from_secs(20);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Who has run for so long did not fall over at its start.
const STEADY: Duration = Duration::from_secs(60);

/// How to start a service.
#[derive(Debug, Clone)]
pub struct Plan {
    pub name: &'static str,
    pub program: PathBuf,
    pub config: PathBuf,
    pub folder: PathBuf,
    pub ports: Ports,
    /// Whether it reads its configuration again on SIGHUP; else it is started again.
    pub rereads: bool,
    pub env: Vec<(&'static str, Secret)>,
}

/// Where a service has said that it listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    pub address: SocketAddr,
    pub admin: SocketAddr,
}

/// What keeps a service running.
#[derive(Debug)]
pub struct Supervisor {
    pub plan: Plan,
    pub console: Console,
    pub register: Register,
    pub announced: watch::Sender<Option<Announced>>,
    /// Each message means: the configuration has changed.
    pub reload: mpsc::Receiver<()>,
}

/// Why a process is no longer watched.
enum End {
    ByItself(std::io::Result<ExitStatus>),
    Stopping,
    Restart,
}

impl Supervisor {
    /// Until the shutdown.
    pub async fn run(mut self, shutdown: Shutdown) {
        let mut failures = 0u32;
        while !shutdown.is_stopping() {
            let started = Instant::now();
            let end = match self.start() {
                Ok(child) => self.watch(child, &shutdown).await,
                Err(error) => End::ByItself(Err(std::io::Error::other(format!("{error:#}")))),
            };
            self.register.ended(self.plan.name);
            let status = match end {
                End::Stopping => return,
                End::Restart => continue,
                End::ByItself(status) => status,
            };
            failures = if started.elapsed() > STEADY { 0 } else { failures + 1 };
            let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(8).saturating_sub(1)).min(LONGEST_PAUSE);
            self.console.warn(&format!(
                "{} ended ({}); starting it again in {:.1} s",
                self.plan.name,
                describe(&status),
                pause.as_secs_f64()
            ));
            tokio::select! {
                () = sleep(pause) => {}
                () = shutdown.wait() => return,
            }
        }
    }

    fn start(&mut self) -> Result<Child> {
        let ports = self.ports();
        let plan = &self.plan;
        let mut command = Command::new(&plan.program);
        command
            .arg("--config")
            .arg(&plan.config)
            .args(["--listen", &format!("127.0.0.1:{}", ports.listen)])
            .args(["--admin-listen", &format!("127.0.0.1:{}", ports.admin)])
            .current_dir(&plan.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Out of reach of the terminal's Ctrl-C: dev stops it, and in order.
            .process_group(0);
        for (name, value) in &plan.env {
            command.env(name, value.expose());
        }
        let mut child =
            command.spawn().with_context(|| format!("{} cannot be started", plan.program.display()))?;
        if let Some(pid) = child.id() {
            let program = plan.program.file_name().unwrap_or_default().to_string_lossy();
            self.register.started(plan.name, pid, &program);
            self.console.say(&format!("{} started (process {pid})", plan.name));
        }
        if let Some(out) = child.stdout.take() {
            tokio::spawn(listen(plan.name, out, self.console, self.announced.clone()));
        }
        if let Some(err) = child.stderr.take() {
            tokio::spawn(listen(plan.name, err, self.console, self.announced.clone()));
        }
        Ok(child)
    }

    /// Free ports are chosen once: a service that comes back is where it was.
    fn ports(&self) -> Ports {
        match *self.announced.borrow() {
            Some(announced) if self.plan.ports.listen == 0 => {
                Ports { listen: announced.address.port(), admin: announced.admin.port() }
            }
            _ => self.plan.ports,
        }
    }

    async fn watch(&mut self, mut child: Child, shutdown: &Shutdown) -> End {
        let pid = child.id().map(|pid| pid as i32);
        loop {
            tokio::select! {
                status = child.wait() => return End::ByItself(status),
                () = shutdown.wait() => {
                    stop(self.plan.name, &mut child, self.console).await;
                    return End::Stopping;
                }
                Some(()) = self.reload.recv() => match pid {
                    Some(pid) if self.plan.rereads => signal(pid, libc::SIGHUP),
                    _ => {
                        stop(self.plan.name, &mut child, self.console).await;
                        return End::Restart;
                    }
                }
            }
        }
    }
}

async fn stop(name: &str, child: &mut Child, console: Console) {
    let Some(pid) = child.id().map(|pid| pid as i32) else { return };
    signal(pid, libc::SIGTERM);
    if timeout(STOP_LIMIT, child.wait()).await.is_err() {
        console.warn(&format!("{name} does not stop; killing it"));
        let _ = child.kill().await;
    }
}

fn describe(status: &std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Passes a service's lines on and picks out the one that says where it listens.
async fn listen(
    name: &'static str,
    pipe: impl AsyncRead + Unpin,
    console: Console,
    announced: watch::Sender<Option<Announced>>,
) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while matches!(reader.read_until(b'\n', &mut line).await, Ok(n) if n > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if let Some(found) = announcement(text) {
            announced.send_replace(Some(found));
        }
        console.of(name, text);
        line.clear();
    }
}

/// Reads `… listening address=127.0.0.1:8080 admin=127.0.0.1:9080`, or the same as JSON.
fn announcement(line: &str) -> Option<Announced> {
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(line) {
        let address = |name: &str| json.get(name)?.as_str()?.parse().ok();
        let listening = json.get("message").and_then(|message| message.as_str()) == Some("listening");
        return listening.then_some(Announced { address: address("address")?, admin: address("admin")? });
    }
    let rest = line.split_once(" listening ")?.1;
    let value = |key: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(key))?.parse().ok();
    Some(Announced { address: value("address=")?, admin: value("admin=")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_where_a_service_listens_is_found_in_both_forms() {
        let expected = Announced {
            address: "127.0.0.1:8080".parse().expect("an address"),
            admin: "127.0.0.1:9080".parse().expect("an address"),
        };
        let text = "2026-05-09T14:00:00Z INFO  ingest listening address=127.0.0.1:8080 admin=127.0.0.1:9080";
        assert_eq!(announcement(text), Some(expected));
        let json =
            r#"{"level":"info","message":"listening","address":"127.0.0.1:8080","admin":"127.0.0.1:9080"}"#;
        assert_eq!(announcement(json), Some(expected));
        for other in ["", "{}", "INFO ingest listening address=nowhere", "INFO address=127.0.0.1:1"] {
            assert_eq!(announcement(other), None, "{other}");
        }
    }
}
