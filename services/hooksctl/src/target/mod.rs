//! Where events are sent on to.

mod address;
mod client;

pub use address::Target;
pub use client::{Answer, Client, Fault};
