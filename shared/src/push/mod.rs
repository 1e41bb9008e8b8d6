//! Push as the worker and the operators' API both need it: where a request may go, what a subscription is, and what
//! operators do with subscriptions and deliveries. The laws named here are in services/push-worker/README.md.
//!
//! Every action locks the subscription's cursor row first and acts in a second statement, so that a claim or fan-out
//! that is open at that moment is waited for and seen. Each writes one audit row in the same transaction. An action
//! whose future is dropped half-way leaves a broken session behind, which the pool throws away.

pub mod audit;
pub mod declared;
pub mod definition;
pub mod deliveries;
pub mod destination;
mod detail;
pub mod error;
pub mod event_replay;
pub mod secrets;
pub mod statements;
pub mod subscriptions;
mod work;

pub use error::OperatorError;
pub use statements::STATEMENTS;
