//! Ingest: takes a provider's webhook, verifies it and commits it to the log before it answers.
//! The contract is in README.md beside this crate.

pub mod app;
mod body;
pub mod budget;
mod error;
mod event;
mod head;
mod lane;
mod metrics;
mod ready;
mod remote;
mod routes;
mod sources;
pub mod store;
