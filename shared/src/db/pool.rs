//! A small pool of sessions. A session that turned read-only is not handed out again.

use super::session::{Session, SessionOptions, configured, in_time, prepare_session, within};
use super::url::Target;
use bb8_postgres::PostgresConnectionManager;
use std::time::Duration;

pub type Pool = bb8::Pool<Manager>;
pub type PoolError = bb8::RunError<tokio_postgres::Error>;
/// A session lent by the pool, independent of the pool value it came from (`Pool::get_owned`).
pub type PooledSession = bb8::PooledConnection<'static, Manager>;

/// How long a session may take to say that it lives.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// Opens and checks the pool's sessions.
pub struct Manager {
    target: Target,
    options: SessionOptions,
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manager").field("options", &self.options).finish_non_exhaustive()
    }
}

impl bb8::ManageConnection for Manager {
    type Connection = Session;
    type Error = tokio_postgres::Error;

    async fn connect(&self) -> Result<Session, Self::Error> {
        // Made anew each time: a password file may have another password in it by now.
        let inner =
            PostgresConnectionManager::new(configured(&self.target, &self.options), self.target.tls.clone());
        let opening = async {
            let client = inner.connect().await?;
            prepare_session(client, &self.options).await
        };
        in_time(&self.options, opening).await
    }

    /// One round trip: alive, and still the primary. A demoted primary answers like any other otherwise.
    async fn is_valid(&self, session: &mut Session) -> Result<(), Self::Error> {
        let asked = session.simple_query("show transaction_read_only");
        let rows = within(CHECK_LIMIT, asked).await?;
        let read_only = rows.iter().any(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0) == Some("on"),
            _ => false,
        });
        if read_only {
            session.mark_broken();
        }
        Ok(())
    }

    fn has_broken(&self, session: &mut Session) -> bool {
        session.is_broken()
    }
}

/// A pool of at most `size` sessions; opening one is waited for up to `wait`. Nothing is opened yet.
pub fn pool(target: &Target, options: SessionOptions, size: u32, wait: Duration) -> Pool {
    bb8::Pool::builder()
        .max_size(size)
        .connection_timeout(wait)
        .idle_timeout(Some(Duration::from_secs(300)))
        .build_unchecked(Manager { target: target.clone(), options })
}
