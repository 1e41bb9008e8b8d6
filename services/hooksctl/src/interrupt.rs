//! Ctrl-C and SIGTERM.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The command was ended from outside: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Waits for signals that end the command.
#[derive(Debug)]
pub struct Interrupts {
    int: Signal,
    term: Signal,
    hup: Signal,
}

impl Interrupts {
    /// From here on these signals no longer end the process by themselves.
    pub fn watch() -> std::io::Result<Self> {
        Ok(Self {
            int: signal(SignalKind::interrupt())?,
            term: signal(SignalKind::terminate())?,
            hup: signal(SignalKind::hangup())?,
        })
    }

    /// Forgets those that have come.
    pub async fn drain(&mut self) {
        while tokio::time::timeout(std::time::Duration::ZERO, self.next()).await.is_ok() {}
    }

    /// Returns with the next of them. SIGHUP is the terminal going away.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
            _ = self.hup.recv() => {}
        }
    }
}

/// Runs `work` until it is done or a signal comes.
pub async fn unless_interrupted<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let mut interrupts = Interrupts::watch()?;
    tokio::select! {
        done = work => done,
        () = interrupts.next() => Err(Interrupted.into()),
    }
}
