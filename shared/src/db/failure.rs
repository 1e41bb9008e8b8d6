//! What a database error means to the caller, decided by SQLSTATE.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// How a caller goes on after a database error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection is gone or must not be used again; whether a COMMIT took effect is unknown.
    Lost,
    /// The server turned read-only: a demoted primary. Drop the connection and look for the new one.
    ReadOnly,
    /// A lock was not to be had in time, a deadlock or a serialization failure: the same again may succeed.
    Contended,
    /// The statement ran out of time or was cancelled.
    Cancelled,
    /// A value of the statement cannot be stored: the same again fails again.
    BadValue,
    /// Out of room or connections: later.
    Exhausted,
    /// Anything else: a missing table, a missing right, a bug.
    Other,
}

/// Classes an error. No SQLSTATE means that the link broke.
pub fn failure_of(error: &Error) -> Failure {
    let Some(code) = error.code() else {
        // An error of our own making (a parameter that cannot be encoded) leaves the connection open.
        return if error.is_closed() || is_io(error) { Failure::Lost } else { Failure::BadValue };
    };
    match code {
        &SqlState::READ_ONLY_SQL_TRANSACTION => Failure::ReadOnly,
        &SqlState::LOCK_NOT_AVAILABLE
        | &SqlState::T_R_DEADLOCK_DETECTED
        | &SqlState::T_R_SERIALIZATION_FAILURE => Failure::Contended,
        &SqlState::QUERY_CANCELED => Failure::Cancelled,
        &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW => {
            Failure::Lost
        }
        // A row for which there is no partition: the fault is in the schema, not in the row.
        &SqlState::CHECK_VIOLATION if error.as_db_error().is_some_and(|db| db.constraint().is_none()) => {
            Failure::Other
        }
        code => match &code.code()[..2] {
            "08" => Failure::Lost,
            "21" | "22" | "23" | "54" => Failure::BadValue,
            "53" => Failure::Exhausted,
            "25" if code.code() == "25P03" => Failure::Lost,
            "57" => Failure::Lost,
            _ => Failure::Other,
        },
    }
}

fn is_io(error: &Error) -> bool {
    use std::error::Error as _;
    let mut source = error.source();
    while let Some(inner) = source {
        if inner.is::<std::io::Error>() {
            return true;
        }
        source = inner.source();
    }
    // Authentication, TLS and configuration errors while connecting carry no SQLSTATE and no io error, nor does
    // an opening that took too long.
    let text = error.to_string();
    ["connect", "TLS", "timeout waiting for server"].iter().any(|sign| text.contains(sign))
}
