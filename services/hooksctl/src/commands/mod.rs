//! One module per command. Each takes its parsed arguments and talks to one thing: the subscribe service,
//! ingest, the inspector's API, or the database.

pub mod admin;
pub mod audit;
pub mod completions;
pub mod confirm;
pub mod database;
pub mod deliveries;
pub mod dev;
pub mod doctor;
pub mod event_replay;
pub mod events;
pub mod forward;
pub mod invite;
pub mod lifetime;
pub mod login;
pub mod migrate;
pub mod prune;
pub mod push;
pub mod replay;
pub mod secrets;
pub mod send;
pub mod signature;
pub mod sources;
pub mod tail;
pub mod token;
pub mod user;
pub mod verify;
pub mod window;

/// The work was done and its result is no: exit code 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

/// The command was used wrongly in a way the parser cannot see: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// What was asked for is not there: exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotFound(pub String);

/// The other side, or a rule, refuses: exit code 4.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// The server or the database cannot be reached: exit code 5.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

/// The command has said what there is to say, and it is no: exit code 1, without another word.
#[derive(Debug, thiserror::Error)]
#[error("said already")]
pub struct Told;

/// The exit code that an error stands for.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if error.is::<crate::output::OutputClosed>() {
        0
    } else if error.is::<Usage>() {
        2
    } else if error.is::<NotFound>() {
        3
    } else if error.is::<Refused>() {
        4
    } else if error.is::<Unreachable>() {
        5
    } else if error.is::<crate::interrupt::Interrupted>() {
        130
    } else {
        1
    }
}

/// True where the exit code says all there is to say.
pub fn is_silent(error: &anyhow::Error) -> bool {
    error.is::<crate::output::OutputClosed>()
        || error.is::<crate::interrupt::Interrupted>()
        || error.is::<Told>()
}
