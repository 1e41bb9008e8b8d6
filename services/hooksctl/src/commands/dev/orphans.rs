//! Which services run, written down, so that a `dev` that comes after a killed one can stop them.

use super::console::Console;
use super::folder::Folder;
use super::process::{Identity, signal};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const FILE: &str = "processes";
const PATIENCE: Duration = Duration::from_secs(10);

/// The running services by name. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Register {
    folder: Arc<Folder>,
    running: Arc<Mutex<BTreeMap<String, Identity>>>,
}

impl Register {
    pub fn new(folder: Arc<Folder>) -> Self {
        Self { folder, running: Arc::default() }
    }

    pub fn started(&self, service: &str, pid: u32, program: &str) {
        if let Some(identity) = Identity::of(pid as i32, program) {
            let mut running = self.lock();
            running.insert(service.to_owned(), identity);
            self.write(&running);
        }
    }

    pub fn ended(&self, service: &str) {
        let mut running = self.lock();
        running.remove(service);
        self.write(&running);
    }

    /// Under the lock: one after the other.
    fn write(&self, running: &BTreeMap<String, Identity>) {
        let text: String = running.values().map(Identity::to_line).collect();
        // Without the file an orphan would have to be stopped by hand; that is no reason not to run.
        if let Err(error) = self.folder.write(FILE, &text) {
            log::warn!("{error:#}");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Identity>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the services that a killed `dev` left behind. Whoever cannot be told for certain is left alone.
pub async fn stop(folder: &Folder, console: Console) {
    let text = folder.read(FILE).ok().flatten().unwrap_or_default();
    let place = folder.path().display().to_string();
    let orphans: Vec<Identity> =
        text.lines().filter_map(Identity::from_line).filter(|one| one.is_still(&place)).collect();
    for orphan in &orphans {
        console.say(&format!(
            "stopping {} (process {}), left by a dev that was killed",
            orphan.program, orphan.pid
        ));
        signal(orphan.pid, libc::SIGTERM);
    }
    let until = Instant::now() + PATIENCE;
    while orphans.iter().any(|orphan| orphan.is_still(&place)) {
        if Instant::now() >= until {
            for orphan in orphans.iter().filter(|orphan| orphan.is_still(&place)) {
                signal(orphan.pid, libc::SIGKILL);
            }
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    folder.remove(FILE);
}
