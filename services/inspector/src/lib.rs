//! The operators' page and API. Every route stands in one table ([`routes`]) with who may use it; nothing is served
//! that is not in the table. Handlers work on the process's own runtime, so that what they began they finish,
//! whether or not the client waits.

pub mod access;
pub mod api;
pub mod app;
pub mod auth;
pub mod error;
pub mod http;
pub mod moment;
pub mod ops;
pub mod pages;
pub mod routes;
pub mod schemes;
pub mod search;
pub mod state;
pub mod store;
pub mod tasks;
pub mod who;
