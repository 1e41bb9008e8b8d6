//! Coalesced NOTIFY, on a connection of its own and never in the transaction that stores events: a notifying
//! commit holds a cluster-wide lock through its flush.

use super::CHANNEL;
use super::session::{Session, SessionOptions, connect};
use super::url::Target;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Longest list of names sent; above it `*` goes out. PostgreSQL's own limit is 7,999 bytes.
const LONGEST: usize = 7_000;
const AT_MOST_EVERY: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(5);

/// Collects the words to send; a background task sends them, at most once every 10 ms, at once when idle.
#[derive(Debug, Clone, Default)]
pub struct Notifier(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    words: Mutex<BTreeSet<String>>,
    wake: Notify,
}

impl Notifier {
    /// Starts the sending task; it ends when the last clone of the notifier is gone.
    pub fn start(target: Target, application_name: &'static str) -> Self {
        let notifier = Notifier::default();
        let weak = Arc::downgrade(&notifier.0);
        tokio::spawn(async move {
            let mut session: Option<Session> = None;
            let mut pause = crate::backoff::Reconnect::default();
            loop {
                // Wait without keeping the notifier alive for longer than a second at a time.
                let Some(waiting) = weak.upgrade() else { return };
                let woken = timeout(Duration::from_secs(1), waiting.wake.notified()).await;
                if woken.is_err() && waiting.is_empty() {
                    continue;
                }
                let started = Instant::now();
                let words = waiting.take();
                drop(waiting);
                if words.is_empty() {
                    continue;
                }
                if let Err(error) = send(&mut session, &target, application_name, &words).await {
                    // Readers poll: dropping the hint delays them by at most their poll.
                    log::warn!("a NOTIFY could not be sent, readers will poll: {error}");
                    session = None;
                    pause.wait().await;
                } else {
                    pause.reset();
                }
                tokio::time::sleep_until(started + AT_MOST_EVERY).await;
            }
        });
        notifier
    }

    /// Says that these sources have new events.
    pub fn sources<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut words = self.0.lock();
        for name in names {
            if !words.contains(name) {
                words.insert(name.to_owned());
            }
        }
        drop(words);
        self.0.wake.notify_one();
    }
}

impl Waiting {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.words.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.lock())
    }
}

async fn send(
    session: &mut Option<Session>,
    target: &Target,
    application_name: &'static str,
    words: &BTreeSet<String>,
) -> Result<(), String> {
    let open = match session.take() {
        Some(open) if !open.is_broken() => open,
        _ => connect(target, &SessionOptions::service(application_name))
            .await
            .map_err(|error| error.to_string())?,
    };
    let open = session.insert(open);
    timeout(LIMIT, notify_payload(open, &payload(words)))
        .await
        .map_err(|_| "no answer in time".to_owned())?
        .map_err(|error| error.to_string())
}

fn payload(words: &BTreeSet<String>) -> String {
    let length: usize = words.iter().map(|word| word.len() + 1).sum();
    if length > LONGEST {
        return "*".to_owned();
    }
    words.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}

async fn notify_payload(session: &Session, payload: &str) -> Result<(), tokio_postgres::Error> {
    session.query("select pg_notify($1, $2)", &[&CHANNEL, &payload]).await.map(|_| ())
}

/// Sends one word (`!replay`, `!push`, `!tokens`) after an operator's change has been committed.
/// A failure is logged and otherwise ignored: readers poll.
pub async fn notify_once(session: &Session, word: &str) {
    if let Err(error) = notify_payload(session, word).await {
        log::warn!("a NOTIFY could not be sent, readers will poll: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_becomes_a_star() {
        let few: BTreeSet<String> = ["b", "a"].map(str::to_owned).into();
        assert_eq!(payload(&few), "a,b");
        let many: BTreeSet<String> = (0..1000).map(|n| format!("source-{n}")).collect();
        assert_eq!(payload(&many), "*");
    }
}
