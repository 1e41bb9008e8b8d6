//! The one pinned session over which heads, new events and replays are read: no pool, so no check before each
//! statement, and no waiting behind listeners that catch up.

use hooks_shared::backoff::Reconnect;
use hooks_shared::db::{Session, SessionOptions, Target, connect, describe};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// A statement of the link that takes longer has lost its server; statements end themselves after five seconds.
const LIMIT: Duration = Duration::from_secs(6);

/// Cheap to clone. The keeper opens the session, everybody may use it at once: statements are pipelined.
#[derive(Debug, Clone)]
pub struct Link {
    target: Target,
    session: watch::Sender<Option<Arc<Session>>>,
    /// What was last complained about, so that a lasting fault is not told with every try.
    told: Arc<Mutex<String>>,
}

impl Link {
    pub fn new(target: Target) -> Self {
        Self { target, session: watch::Sender::new(None), told: Arc::default() }
    }

    /// Opens the session, again and again until that succeeds. For the one keeper.
    pub async fn open(&self, pause: &mut Reconnect) -> Arc<Session> {
        loop {
            match connect(&self.target, &SessionOptions::service("hooks-subscribe")).await {
                Ok(session) => {
                    let session = Arc::new(session);
                    self.session.send_replace(Some(Arc::clone(&session)));
                    return session;
                }
                Err(error) => self.complain(format!("the database cannot be reached: {}", describe(&error))),
            }
            pause.wait().await;
        }
    }

    /// The session, as soon as there is one.
    pub async fn session(&self) -> Arc<Session> {
        let mut watched = self.session.subscribe();
        loop {
            let usable = watched.borrow_and_update().clone().filter(|session| !session.is_broken());
            match usable {
                Some(session) => return session,
                // The sender lives in self: this cannot end.
                None => {
                    let _ = watched.changed().await;
                }
            }
        }
    }

    /// Runs statements; a failure condemns the session, so that the keeper opens another.
    pub async fn run<T>(
        &self,
        session: &Arc<Session>,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Option<T> {
        match timeout(LIMIT, work).await {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => {
                self.complain(format!("reading the log failed, reconnecting: {}", describe(&error)))
            }
            Err(_) => self.complain("the database does not answer, reconnecting".to_owned()),
        }
        self.condemn(session);
        None
    }

    fn complain(&self, fault: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if *told == fault {
            log::debug!("{fault}");
        } else {
            log::warn!("{fault}");
            *told = fault;
        }
    }

    /// The link has worked for a while: the next fault is a new one.
    pub fn is_well(&self) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub fn condemn(&self, session: &Arc<Session>) {
        session.mark_broken();
        self.session.send_if_modified(|current| {
            let same = current.as_ref().is_some_and(|current| Arc::ptr_eq(current, session));
            if same {
                *current = None;
            }
            same
        });
    }

    /// Returns when the session is not to be used any more.
    pub async fn lost(&self, session: &Arc<Session>) {
        let mut watched = self.session.subscribe();
        let gone =
            |current: &Option<Arc<Session>>| !current.as_ref().is_some_and(|s| Arc::ptr_eq(s, session));
        let _ = watched.wait_for(gone).await;
    }
}
