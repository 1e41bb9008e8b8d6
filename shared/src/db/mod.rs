//! The link to PostgreSQL: connection strings, sessions with prepared statements, the pool, LISTEN and
//! NOTIFY, the classes of failure, and the check of the schema.

mod failure;
mod listen;
mod notify;
mod pool;
mod round_trip;
mod schema;
mod session;
mod tls;
mod url;
mod watch;

pub use failure::{Failure, failure_of};
pub use listen::{Hint, ListenState, listen};
pub use notify::{Notifier, notify_once};
pub use pool::{Pool, PoolError, PooledSession, pool};
pub use round_trip::notify_round_trip;
pub use schema::{PROTOCOL_VERSION, SCHEMA_VERSION, SchemaState, check_schema};
pub use session::{Session, SessionOptions, Sql, connect};
pub use url::{Target, UrlError};
pub use watch::{DATABASE, SCHEMA, describe, look, watch_database};

/// The one NOTIFY channel.
pub const CHANNEL: &str = "hooks";

/// A statement kept in a file of its own: `sql!("store/append.sql")`, the path relative to the calling file.
/// Its name, for metrics and messages, is the file's name.
#[macro_export]
macro_rules! sql {
    ($path:literal) => {
        $crate::db::Sql::named($path, include_str!($path))
    };
}
