//! One connection with its prepared statements.

use super::url::Target;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

/// A statement and the name it goes by in metrics and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sql {
    pub name: &'static str,
    pub text: &'static str,
}

impl Sql {
    /// Takes the name from a path: `store/append.sql` is `append`.
    pub const fn named(path: &'static str, text: &'static str) -> Self {
        let bytes = path.as_bytes();
        let mut start = bytes.len();
        while start > 0 && bytes[start - 1] != b'/' {
            start -= 1;
        }
        let (_, file) = path.split_at(start);
        let (name, _) = file.split_at(file.len() - ".sql".len());
        Self { name, text }
    }
}

/// Limits that a session sets for its statements.
#[derive(Debug, Clone, Copy)]
pub struct SessionOptions {
    pub application_name: &'static str,
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
    pub idle_in_transaction_timeout: Duration,
    /// False: plans are made with the bound values, so that partitions are pruned before they are locked.
    /// True: planned once, for statements with large values that name no partitioned table to be pruned.
    pub generic_plans: bool,
}

impl SessionOptions {
    /// Limits for short statements of a running service.
    pub const fn service(application_name: &'static str) -> Self {
        Self {
            application_name,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            idle_in_transaction_timeout: Duration::from_secs(10),
            generic_plans: false,
        }
    }

    /// No limit on statements: migrations, maintenance, reports.
    pub const fn unhurried(application_name: &'static str) -> Self {
        Self {
            statement_timeout: Duration::ZERO,
            lock_timeout: Duration::ZERO,
            idle_in_transaction_timeout: Duration::ZERO,
            ..Self::service(application_name)
        }
    }

    ///
    /// The server looks after the link, too: of a client that vanished in the middle of a pipelined transaction it
    /// would keep the locks for as long as its TCP default, two hours.
    ///
    /// No just-in-time compilation: our statements are short, and compiling one took 4 s where running it took 10 ms.
    fn settings(&self) -> String {
        format!(
            "set statement_timeout = {}; set lock_timeout = {}; set idle_in_transaction_session_timeout = {}; \
             set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3; \
             set jit = off; set plan_cache_mode = {}; set timezone = 'UTC'",
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
            self.idle_in_transaction_timeout.as_millis(),
            if self.generic_plans { "force_generic_plan" } else { "force_custom_plan" },
        )
    }
}

/// A connection that remembers the statements it has prepared.
pub struct Session {
    client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    broken: AtomicBool,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("closed", &self.client.is_closed()).finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: Mutex::default(), broken: AtomicBool::new(false) }
    }

    /// The prepared form of `sql`; prepared on first use.
    pub async fn statement(&self, sql: Sql) -> Result<Statement, Error> {
        if let Some(statement) = self.lock().get(sql.text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql.text).await?;
        self.lock().insert(sql.text, statement.clone());
        Ok(statement)
    }

    /// Runs a statement and returns its rows.
    pub async fn rows(&self, sql: Sql, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let statement = self.statement(sql).await?;
        self.client.query(&statement, params).await
    }

    /// Runs a statement that returns at most one row.
    pub async fn row(&self, sql: Sql, params: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>, Error> {
        let statement = self.statement(sql).await?;
        self.client.query_opt(&statement, params).await
    }

    /// Runs a statement and returns how many rows it changed.
    pub async fn run(&self, sql: Sql, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        let statement = self.statement(sql).await?;
        self.client.execute(&statement, params).await
    }

    /// Marks the connection as not to be used again, for example after it turned read-only.
    pub fn mark_broken(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed) || self.client.is_closed()
    }

    pub fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.statements.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Deref for Session {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

/// The connection settings common to all sessions of a process.
pub(super) fn configured(target: &Target, options: &SessionOptions) -> tokio_postgres::Config {
    let mut config = target.config.clone();
    if let Some(password) = target.password() {
        config.password(password.expose());
    }
    config
        .application_name(options.application_name)
        .connect_timeout(options.connect_timeout)
        .keepalives(true)
        .keepalives_idle(Duration::from_secs(15))
        .keepalives_interval(Duration::from_secs(5))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(15));
    config
}

pub(super) async fn prepare_session(client: Client, options: &SessionOptions) -> Result<Session, Error> {
    client.batch_execute(&options.settings()).await?;
    Ok(Session::new(client))
}

/// Gives up an opening that hangs. The library's own limit covers the socket only; a server (or a proxy before it)
/// that accepts and then says nothing would hold the attempt for ever. Several hosts may be tried within it.
pub(super) async fn in_time<T>(
    options: &SessionOptions,
    opening: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    within(options.connect_timeout * 4, opening).await
}

/// The work's outcome, or the library's own error for what took too long.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    // That error has no other constructor.
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(Error::__private_api_timeout()))
}

/// Opens a session of its own. Its driver runs as a task and ends with the session.
pub async fn connect(target: &Target, options: &SessionOptions) -> Result<Session, Error> {
    let config = configured(target, options);
    let (client, connection) = in_time(options, config.connect(target.tls.clone())).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            log::debug!("a database connection ended: {error}");
        }
    });
    prepare_session(client, options).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_after_its_file() {
        assert_eq!(Sql::named("store/append.sql", "").name, "append");
        assert_eq!(Sql::named("x.sql", "").name, "x");
    }
}
