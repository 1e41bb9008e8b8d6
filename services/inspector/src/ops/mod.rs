//! What operators do, once for the API and once for the page: rules, statements, audit.

pub mod audit;
pub mod events;
pub mod invites;
pub mod position;
pub mod push;
pub mod replay;
pub mod standing;
pub mod tokens;
pub mod users;
