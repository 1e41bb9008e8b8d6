//! The statements of this service, one file each, and typed functions around them. Nothing else here names a table.

pub mod acting;
pub mod audit;
pub mod days;
pub mod deliveries;
pub mod events;
pub mod idempotency;
pub mod index;
pub mod invites;
pub mod limits;
pub mod listeners;
pub mod pairings;
pub mod people;
pub mod rejected;
pub mod samples;
pub mod sessions;
pub mod sources;
pub mod standing;
pub mod tokens;

use hooks_shared::db::{Failure, PoolError, PooledSession, Session, Sql, describe, failure_of};

/// A session lent by the pool.
pub type Lent = PooledSession;

/// Every statement; a test prepares them all on the migrated database as this service's role.
pub fn statements() -> Vec<Sql> {
    [
        acting::STATEMENTS,
        audit::STATEMENTS,
        days::STATEMENTS,
        deliveries::STATEMENTS,
        events::STATEMENTS,
        idempotency::STATEMENTS,
        index::STATEMENTS,
        invites::STATEMENTS,
        limits::STATEMENTS,
        listeners::STATEMENTS,
        pairings::STATEMENTS,
        people::STATEMENTS,
        rejected::STATEMENTS,
        samples::STATEMENTS,
        sessions::STATEMENTS,
        sources::STATEMENTS,
        standing::STATEMENTS,
        tokens::STATEMENTS,
        hooks_shared::captured::STATEMENTS,
    ]
    .concat()
}

/// The database could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no session to be had: {}", pool_reason(.0))]
    Pool(#[from] PoolError),
    #[error("{}", describe(.0))]
    Query(#[from] tokio_postgres::Error),
}

pub type Result<T> = std::result::Result<T, StoreError>;

fn pool_reason(error: &PoolError) -> String {
    match error {
        PoolError::User(error) => describe(error),
        PoolError::TimedOut => "none in time".to_owned(),
    }
}

impl StoreError {
    fn class(&self) -> Failure {
        match self {
            StoreError::Pool(_) => Failure::Lost,
            StoreError::Query(error) => failure_of(error),
        }
    }

    /// The same again may succeed.
    pub fn is_passing(&self) -> bool {
        !matches!(self.class(), Failure::BadValue | Failure::Other)
    }

    /// Something in the statement's values cannot be stored.
    pub fn is_bad_value(&self) -> bool {
        self.class() == Failure::BadValue
    }
}

/// A transaction on a lent session. Dropped unfinished, the session is not used again, and the server rolls back.
#[derive(Debug)]
pub struct Tx<'a> {
    session: &'a Session,
    open: bool,
}

impl<'a> Tx<'a> {
    pub async fn begin(session: &'a Session) -> Result<Self> {
        session.batch_execute("begin").await?;
        Ok(Self { session, open: true })
    }

    pub async fn commit(self) -> Result<()> {
        self.end("commit").await
    }

    pub async fn rollback(self) -> Result<()> {
        self.end("rollback").await
    }

    /// Commits or rolls back.
    pub async fn finish(self, keep: bool) -> Result<()> {
        if keep { self.commit().await } else { self.rollback().await }
    }

    async fn end(mut self, word: &str) -> Result<()> {
        self.session.batch_execute(word).await?;
        self.open = false;
        Ok(())
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if self.open {
            self.session.mark_broken();
        }
    }
}
