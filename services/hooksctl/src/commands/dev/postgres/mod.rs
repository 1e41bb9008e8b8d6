//! A private PostgreSQL from the machine's own binaries.

mod account;
mod binaries;
mod cluster;
mod home;
mod postmaster;

pub use cluster::Cluster;
