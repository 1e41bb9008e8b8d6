//! The push-worker: sends every event of a source to the URLs that are subscribed to it, at least once
//! (README.md, "Delivery semantics"), and looks after the log in the background.

pub mod app;

/// Its name in the database's view of connections.
pub const APPLICATION: &str = "hooks-push-worker";
