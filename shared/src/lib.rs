//! What the services share: configuration, the database link, events, verification and the small
//! things that must be the same everywhere. Anything only one service needs lives in that service.

pub mod admin;
pub mod backoff;
pub mod captured;
pub mod clock;
pub mod config;
pub mod db;
pub mod event;
pub mod hop;
pub mod http1;
pub mod ids;
pub mod instance;
pub mod invite;
pub mod logging;
pub mod maintenance;
pub mod name;
pub mod push;
pub mod remote;
pub mod sealed;
pub mod secret;
pub mod service;
pub mod shutdown;
pub mod spans;
pub mod token;
pub mod verify;

pub use clock::Clock;
pub use config::Config;
pub use secret::Secret;
