//! What every test of this repository stands on: a private PostgreSQL with a database per test, a proxy that
//! breaks links on purpose, a scripted webhook receiver, the real binaries as processes, and raw HTTP and SSE
//! clients that show bytes instead of hiding them.
//!
//! The kit depends on no service and not on `hooks-shared`: it starts binaries by path and signs with its own
//! code, so that a fault in the product cannot hide itself. Every wait goes through [`until`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod config;
pub mod db;
pub mod gate;
pub mod http;
pub mod load;
pub mod nasty;
pub mod pg;
pub mod port;
pub mod process;
pub mod proxy;
pub mod receiver;
pub mod sign;
pub mod sse;
mod until;

pub use until::{Seen, until};
