//! The push-worker: sends every event of a source to the URLs that are subscribed to it, at least once
//! (README.md, "Delivery semantics"), and looks after the log in the background.

pub mod app;
pub mod attempt;
pub mod backoff;
pub mod claim;
mod connect;
pub mod context;
pub mod definition;
pub mod follow_up;
mod idle;
pub mod metrics;
pub mod outcome;
pub mod outgoing;
pub mod record;
pub mod seams;
pub mod sender;
pub mod signing;
pub mod slot;
mod span;
pub mod store;
pub mod worker;

/// Its name in the database's view of connections.
pub const APPLICATION: &str = "hooks-push-worker";
