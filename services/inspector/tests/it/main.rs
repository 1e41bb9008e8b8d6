//! The inspector over real HTTP, on a real PostgreSQL.

mod access;
mod desk;
mod device;
mod events;
mod live;
mod openapi;
mod operating;
mod pages;
mod people;
mod plans;
mod push;
mod rejected;
mod sign_in;
mod statements;
mod tokens;
