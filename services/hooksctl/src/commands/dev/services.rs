//! The four services together.

use super::console::Console;
use super::orphans::Register;
use super::ports;
use super::process::MARKER;
use super::service::{Announced, Plan, Supervisor};
use crate::commands::Failed;
use anyhow::{Context, Result};
use hooks_shared::Secret;
use hooks_shared::shutdown::{self, ShutdownTrigger};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// Name, program, and the variable with its own database URL.
const SERVICES: [(&str, &str, &str); 4] = [
    ("ingest", "hooks-ingest", "HOOKS_INGEST_DATABASE_URL"),
    ("subscribe", "hooks-subscribe", "HOOKS_SUBSCRIBE_DATABASE_URL"),
    ("inspector", "hooks-inspector", "HOOKS_INSPECTOR_DATABASE_URL"),
    ("push-worker", "hooks-push-worker", "HOOKS_PUSH_WORKER_DATABASE_URL"),
];

/// What all services are started with.
#[derive(Debug)]
pub struct Common {
    pub config: PathBuf,
    /// Where `hooks.yaml` and `.hooks` are.
    pub folder: PathBuf,
    pub marker: String,
    pub base_port: u16,
    pub secret_keys: Secret,
    pub maintenance_url: Secret,
}

/// A running service, from outside.
#[derive(Debug)]
struct Running {
    name: &'static str,
    announced: watch::Receiver<Option<Announced>>,
    reload: mpsc::Sender<()>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
pub struct Services {
    running: Vec<Running>,
    trigger: ShutdownTrigger,
}

/// The folder of this program, in which the services' programs are too. Checked before anything is started.
pub fn programs() -> Result<PathBuf> {
    let own = std::env::current_exe().context("the path of this program is not known")?;
    let folder = own.parent().map(Path::to_path_buf).context("this program is in no folder")?;
    let missing: Vec<&str> = SERVICES
        .iter()
        .map(|(_, program, _)| *program)
        .filter(|program| !folder.join(program).is_file())
        .collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    let release = if folder.ends_with("release") { " --release" } else { "" };
    Err(Failed(format!(
        "{} {} not beside hooksctl in {}; build all of them with `cargo build{release}`",
        missing.join(", "),
        if missing.len() == 1 { "is" } else { "are" },
        folder.display()
    ))
    .into())
}

impl Services {
    /// Starts all four. `url_of` gives a service's database URL by its role.
    pub fn start(
        programs: &Path,
        common: &Common,
        url_of: impl Fn(&str) -> Result<Secret>,
        register: &Register,
        console: Console,
    ) -> Result<Self> {
        let (trigger, shutdown) = shutdown::manual();
        let mut running = Vec::new();
        for (name, program, variable) in SERVICES {
            let url = url_of(&name.replace('-', "_"))?;
            let plan = plan(name, programs.join(program), common, (variable, url));
            let (announced, seen) = watch::channel(None);
            let (reload, requests) = mpsc::channel(1);
            let supervisor =
                Supervisor { plan, console, register: register.clone(), announced, reload: requests };
            let task = tokio::spawn(supervisor.run(shutdown.clone()));
            running.push(Running { name, announced: seen, reload, task });
        }
        Ok(Self { running, trigger })
    }

    /// Where a service listens, once it has said so.
    pub fn announced(&self, name: &str) -> Option<Announced> {
        *self.running.iter().find(|one| one.name == name)?.announced.borrow()
    }

    /// Waits until every service says that it is ready; the names and reasons of those that do not in time.
    pub async fn until_ready(&self, limit: Duration) -> Vec<String> {
        let http = reqwest::Client::new();
        let until = Instant::now() + limit;
        loop {
            let mut waiting = Vec::new();
            for one in &self.running {
                let announced = *one.announced.borrow();
                if let Err(why) = readiness(&http, announced).await {
                    waiting.push(format!("{}: {why}", one.name));
                }
            }
            if waiting.is_empty() || Instant::now() >= until {
                return waiting;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Tells every service that the configuration has changed.
    pub fn reload(&self) {
        for one in &self.running {
            // A full queue means that it will be told anyway.
            let _ = one.reload.try_send(());
        }
    }

    /// Stops all of them in order.
    pub async fn stop(self) {
        self.trigger.stop();
        for one in self.running {
            let _ = one.task.await;
        }
    }
}

fn plan(name: &'static str, program: PathBuf, common: &Common, own: (&'static str, Secret)) -> Plan {
    let mut env = vec![own, (MARKER, Secret::new(common.marker.as_str()))];
    env.push(("HOOKS_SECRET_KEYS", common.secret_keys.clone()));
    if name == "push-worker" {
        env.push(("HOOKS_MAINTENANCE_DATABASE_URL", common.maintenance_url.clone()));
    }
    Plan {
        name,
        program,
        config: common.config.clone(),
        folder: common.folder.clone(),
        ports: ports::of(common.base_port, name),
        rereads: matches!(name, "ingest" | "subscribe"),
        env,
    }
}

async fn readiness(http: &reqwest::Client, announced: Option<Announced>) -> Result<(), String> {
    let announced = announced.ok_or("has not said where it listens")?;
    let url = format!("http://{}/readyz", announced.admin);
    let answer = http.get(url).timeout(Duration::from_secs(5)).send().await;
    let answer = answer.map_err(|error| crate::server::cause(&error))?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(answer.text().await.unwrap_or_default().trim().replace('\n', "; "))
}
