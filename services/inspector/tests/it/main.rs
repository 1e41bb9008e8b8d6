//! The inspector over real HTTP, on a real PostgreSQL.

mod access;
mod desk;
mod device;
mod people;
mod sign_in;
mod statements;
mod tokens;
