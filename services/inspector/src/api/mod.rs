//! The JSON API. Handlers read a request, call [`crate::ops`] or the store, and shape the answer.

pub mod audit;
pub mod auth;
pub mod deliveries;
pub mod device;
pub mod events;
pub mod invites;
pub mod live;
pub mod me;
pub mod openapi;
pub mod overview;
pub mod paging;
pub mod push;
pub mod rejected;
pub mod sources;
pub mod standing;
pub mod tokens;
pub mod users;
