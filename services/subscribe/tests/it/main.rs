//! The service over real HTTP on a real PostgreSQL.

mod support;

mod access;
mod backfill;
mod bodies;
mod cutting;
mod listing;
mod memory;
mod outages;
mod pausing;
mod plans;
mod process;
mod replays;
mod stream;
