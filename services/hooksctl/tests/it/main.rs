//! The command line as people run it: real processes, a real database, a receiver that keeps every byte.

mod support;

mod accounts;
mod bytes;
mod captured;
mod database;
mod deliveries;
mod dev;
mod doctor;
mod forward;
mod misuse;
mod operators;
mod push;
mod replay;
mod send;
mod signature;
mod sleep;
mod sources;
mod tail;
