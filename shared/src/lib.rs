//! What the services share: configuration, the database link, events, verification and the small
//! things that must be the same everywhere. Anything only one service needs lives in that service.

pub mod secret;
pub mod verify;

pub use secret::Secret;
