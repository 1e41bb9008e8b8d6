//! Keeps two readiness conditions true or false: `database` (reachable and writable) and `schema`.

use super::pool::{Pool, PoolError};
use super::schema::check_schema;
use crate::admin::Readiness;
use crate::shutdown::Shutdown;
use std::time::Duration;
use tokio::time::timeout;

pub const DATABASE: &str = "database";
pub const SCHEMA: &str = "schema";

/// How long the reason may take for which no connection was to be had.
const ASK_WHY: Duration = Duration::from_secs(3);
/// How long a look may take: without a limit a link that died silently would leave the last word standing.
const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// Looks every second while something is wrong, every five otherwise, until shutdown.
pub fn watch_database(pool: Pool, readiness: Readiness, shutdown: Shutdown) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let good = timeout(LOOK_LIMIT, look(&pool, &readiness)).await.unwrap_or_else(|_| {
                readiness.fail(DATABASE, "a query was not answered in time");
                false
            });
            let pause = Duration::from_secs(if good { 5 } else { 1 });
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = shutdown.wait() => return,
            }
        }
    })
}

/// One look; true when all is well.
pub async fn look(pool: &Pool, readiness: &Readiness) -> bool {
    let session = match pool.get().await {
        Ok(session) => session,
        Err(error) => {
            readiness.fail(DATABASE, unreachable(pool, &error).await);
            return false;
        }
    };
    if session.is_broken() {
        readiness.fail(DATABASE, "the server is read-only (a standby or a demoted primary)");
        return false;
    }
    match check_schema(&session).await {
        Ok(state) => {
            readiness.hold(DATABASE);
            match state.complaint() {
                None => {
                    readiness.hold(SCHEMA);
                    true
                }
                Some(complaint) => {
                    readiness.fail(SCHEMA, complaint);
                    false
                }
            }
        }
        Err(error) => {
            readiness.fail(DATABASE, format!("a query failed: {}", describe(&error)));
            false
        }
    }
}

/// The pool says only that it waited in vain: one more try, past the pool, says why.
async fn unreachable(pool: &Pool, error: &PoolError) -> String {
    let reason = match error {
        bb8::RunError::User(error) => describe(error),
        bb8::RunError::TimedOut => match timeout(ASK_WHY, pool.dedicated_connection()).await {
            Ok(Err(error)) => describe(&error),
            _ => "no answer in time; is PostgreSQL running, and is the URL right?".to_owned(),
        },
    };
    format!("cannot connect: {reason}")
}

/// A database error in one line: the server's message and SQLSTATE, or the reason of the link.
pub fn describe(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.as_db_error() {
        Some(server) => format!("{} (SQLSTATE {})", server.message(), server.code().code()),
        None => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
