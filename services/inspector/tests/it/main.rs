//! The inspector over real HTTP, on a real PostgreSQL.

mod access;
mod access_table;
mod audit;
mod bodies;
mod desk;
mod device;
mod events;
mod live;
mod openapi;
mod operating;
mod original;
mod pages;
mod people;
mod plans;
mod push;
mod rejected;
mod scale;
mod sign_in;
mod statements;
mod tokens;
