//! The one LISTEN connection of a process. What arrives is a hint: whoever gets it reads the tables, and a
//! lost hint costs time, never an event (migrations/README.md, "Channel").

use super::session::{SessionOptions, configured, in_time};
use super::url::Target;
use super::{CHANNEL, failure_of};
use futures_util::future::poll_fn;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::AsyncMessage;

/// What a notification says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// These sources have new events.
    Sources(Vec<String>),
    /// Anything may have changed: sent after every (re)connection and for `*`.
    Everything,
    /// An operator asked for a replay to listeners.
    Replay,
    /// Push subscriptions or deliveries were changed by an operator.
    Push,
    /// Tokens were revoked.
    Tokens,
}

impl Hint {
    /// Reads a payload: comma-separated source names, or one of the words. Unknown words are ignored.
    pub fn parse(payload: &str) -> Option<Self> {
        match payload {
            "*" => Some(Hint::Everything),
            "!replay" => Some(Hint::Replay),
            "!push" => Some(Hint::Push),
            "!tokens" => Some(Hint::Tokens),
            word if word.starts_with('!') => None,
            names => {
                Some(Hint::Sources(names.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect()))
            }
        }
    }
}

/// Whether LISTEN is in place; the poll behind it is faster while it is not.
#[derive(Debug, Clone, Default)]
pub struct ListenState(Arc<AtomicBool>);

impl ListenState {
    pub fn is_healthy(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// How long a poller waits: a second behind a healthy LISTEN, a fifth of one without.
    pub fn poll_interval(&self) -> Duration {
        if self.is_healthy() { Duration::from_secs(1) } else { Duration::from_millis(200) }
    }
}

const CHECK_EVERY: Duration = Duration::from_secs(10);
const CHECK_LIMIT: Duration = Duration::from_secs(5);

/// Listens until the receiver is dropped, reconnecting for ever. The queue is bounded; when the receiver is
/// slow, hints collapse into [`Hint::Everything`].
pub fn listen(target: Target, application_name: &'static str) -> (mpsc::Receiver<Hint>, ListenState) {
    let (sender, receiver) = mpsc::channel(256);
    let state = ListenState::default();
    let flag = state.clone();
    tokio::spawn(async move {
        let mut pause = crate::backoff::Reconnect::default();
        while !sender.is_closed() {
            let ended = tokio::select! {
                ended = run(&target, application_name, &sender, &flag, &mut pause) => ended,
                () = sender.closed() => break,
            };
            flag.0.store(false, Ordering::Relaxed);
            if let Err(error) = ended {
                log::warn!("LISTEN lost, reconnecting: {error}");
            }
            pause.wait().await;
        }
        flag.0.store(false, Ordering::Relaxed);
    });
    (receiver, state)
}

async fn run(
    target: &Target,
    application_name: &'static str,
    sender: &mpsc::Sender<Hint>,
    state: &ListenState,
    pause: &mut crate::backoff::Reconnect,
) -> Result<(), String> {
    let options = SessionOptions::service(application_name);
    let config = configured(target, &options);
    let (client, mut connection) = in_time(&options, config.connect(target.tls.clone()))
        .await
        .map_err(|error| format!("{error} ({:?})", failure_of(&error)))?;
    let (messages, mut incoming) = mpsc::unbounded_channel();
    let driver = tokio::spawn(async move {
        // Unbounded, but drained at once below into a bounded queue that collapses.
        while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
            match message {
                Ok(AsyncMessage::Notification(note)) => {
                    if messages.send(note.payload().to_owned()).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    log::debug!("the LISTEN connection ended: {error}");
                    return;
                }
            }
        }
    });
    let _stop = StopOnDrop(driver);
    timeout(CHECK_LIMIT, client.batch_execute(&format!("listen {CHANNEL}")))
        .await
        .map_err(|_| "no answer to LISTEN".to_owned())?
        .map_err(|error| error.to_string())?;
    state.0.store(true, Ordering::Relaxed);
    pause.reset();
    // Registered first; what was sent before that is found by reading everything now.
    let mut backlog = VecDeque::from([Hint::Everything]);
    let mut check = tokio::time::interval_at(tokio::time::Instant::now() + CHECK_EVERY, CHECK_EVERY);
    loop {
        while let Some(hint) = backlog.pop_front() {
            if let Err(mpsc::error::TrySendError::Full(_)) = sender.try_send(hint) {
                // The reader is behind: it will read everything when it comes to what is queued.
                let _ = sender.send(Hint::Everything).await;
                backlog.clear();
            }
        }
        tokio::select! {
            payload = incoming.recv() => match payload {
                Some(payload) => backlog.extend(Hint::parse(&payload)),
                None => return Err("the server closed the connection".to_owned()),
            },
            _ = check.tick() => {
                timeout(CHECK_LIMIT, client.simple_query("select 1"))
                    .await
                    .map_err(|_| "no answer to the liveness check".to_owned())?
                    .map_err(|error| error.to_string())?;
            }
        }
    }
}

struct StopOnDrop(tokio::task::JoinHandle<()>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_read_and_unknown_words_are_ignored() {
        assert_eq!(Hint::parse("a,b"), Some(Hint::Sources(vec!["a".into(), "b".into()])));
        assert_eq!(Hint::parse("*"), Some(Hint::Everything));
        assert_eq!(Hint::parse("!replay"), Some(Hint::Replay));
        assert_eq!(Hint::parse("!later"), None);
    }
}
