//! Stopping in order: one signal, many who wait for it.

use tokio::sync::watch;

/// Told once that the process is to stop. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<bool>);

/// Says it. Dropping it says it too.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

/// A shutdown that only [`ShutdownTrigger::stop`] starts.
pub fn manual() -> (ShutdownTrigger, Shutdown) {
    let (sender, receiver) = watch::channel(false);
    (ShutdownTrigger(sender), Shutdown(receiver))
}

/// A shutdown that SIGTERM or SIGINT starts.
pub fn on_signals() -> std::io::Result<Shutdown> {
    use tokio::signal::unix::{SignalKind, signal};
    let (trigger, shutdown) = manual();
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = term.recv() => "SIGTERM",
            _ = int.recv() => "SIGINT",
        };
        log::info!("stopping on {name}");
        trigger.stop();
    });
    Ok(shutdown)
}

impl ShutdownTrigger {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Returns when the process is to stop.
    pub async fn wait(&self) {
        let mut receiver = self.0.clone();
        // An error means that the trigger is gone, which says the same.
        let _ = receiver.wait_for(|stopping| *stopping).await;
    }
}
