//! What operators do, once for the API and once for the page: rules, statements, audit.

pub mod audit;
pub mod invites;
pub mod tokens;
pub mod users;
