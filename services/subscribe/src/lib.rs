//! `hooks-subscribe`: sends stored events to developers and consumers as event streams, and lets them fetch and
//! list what is stored. The contract with clients is in this service's README.

pub mod app;
pub mod store;

mod backfill;
mod cursor;
mod error;
mod frame;
mod hub;
mod limits;
mod listener;
mod metrics;
mod query;
mod registry;
mod routes;
mod rules;
mod socket;
mod watchers;
