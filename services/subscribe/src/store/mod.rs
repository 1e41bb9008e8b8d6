//! The statements of this service, one file each, and the typed functions around them. Nothing else here
//! names a table.

mod list;
mod listeners;
mod log;
mod push;
mod replays;
mod tokens;

pub use list::{ListPage, Listed, list};
pub use listeners::{ListenerRow, forget_listeners, say_listeners};
pub use log::{Day, Head, PageAsk, PageRow, body, day_after, day_of, event, heads, newest, page};
pub use push::{PushState, push_state};
pub use replays::{ReplayRow, replay_head, replays};
pub use tokens::{Token, find_token, note_token_use, valid_tokens};

use hooks_shared::db::{Pool, PoolError, PooledSession, Sql, describe};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

/// Statements end themselves after five seconds; what takes longer has lost its server.
const LIMIT: Duration = Duration::from_secs(15);

/// Every statement; a test prepares them all on the migrated database.
pub const STATEMENTS: &[Sql] = &[
    list::DAYS_NEWEST,
    list::DAYS_OLDEST,
    list::LIST_NEWEST,
    list::LIST_OLDEST,
    listeners::FORGET_LISTENERS,
    listeners::SAY_LISTENERS,
    log::BODY,
    log::DAY_AFTER,
    log::DAY_OF,
    log::EVENT,
    log::HEADS,
    log::NEWEST,
    log::PAGE,
    push::PUSH_STATE,
    replays::REPLAYS,
    replays::REPLAY_HEAD,
    tokens::FIND_TOKEN,
    tokens::NOTE_TOKEN_USE,
    tokens::VALID_TOKENS,
];

/// The database could not answer. Callers treat all causes alike: later, again.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no session to be had: {}", pool_reason(.0))]
    Pool(#[from] PoolError),
    #[error("{}", describe(.0))]
    Query(#[from] tokio_postgres::Error),
    #[error("the server is read-only (a standby or a demoted primary)")]
    ReadOnly,
    #[error("the server does not answer")]
    Silent,
    #[error("the work was interrupted")]
    Interrupted,
}

fn pool_reason(error: &PoolError) -> String {
    match error {
        PoolError::User(error) => describe(error),
        PoolError::TimedOut => "none in time".to_owned(),
    }
}

/// The pool, used from the runtime that owns its connections: the HTTP workers' own runtimes end before the
/// pool does, and a statement must not depend on whether a client waits for it.
#[derive(Debug, Clone)]
pub struct Database {
    pool: Pool,
    runtime: Handle,
}

impl Database {
    /// Must be called on the runtime that is to own the connections.
    pub fn new(pool: Pool) -> Self {
        Self { pool, runtime: Handle::current() }
    }

    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Spawns work on the owning runtime; it ends with the handle.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> AbortOnDropHandle<T> {
        AbortOnDropHandle::new(self.runtime.spawn(work))
    }

    /// Runs statements on a session of the pool.
    pub async fn run<T, F, Fut>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(Arc<PooledSession>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, tokio_postgres::Error>> + Send,
    {
        let pool = self.pool.clone();
        let task = self.spawn(async move {
            let session = Arc::new(pool.get_owned().await?);
            if session.is_broken() {
                return Err(StoreError::ReadOnly);
            }
            match timeout(LIMIT, work(Arc::clone(&session))).await {
                Ok(done) => Ok(done?),
                Err(_) => {
                    session.mark_broken();
                    Err(StoreError::Silent)
                }
            }
        });
        task.await.map_err(|_| StoreError::Interrupted)?
    }
}
