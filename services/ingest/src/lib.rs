//! Ingest: takes a provider's webhook, verifies it and commits it to the log before it answers.
//! The contract is in README.md beside this crate.

pub mod app;
mod behind;
mod body;
pub mod budget;
mod captured;
mod error;
mod event;
pub mod fetch;
mod handshakes;
mod head;
mod lane;
mod metrics;
mod ready;
mod rejected;
mod routes;
mod sources;
mod span;
pub mod store;
