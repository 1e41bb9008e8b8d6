//! The kit's own tests, and the suite that starts the real binaries together.

mod bytes;
mod edges;
mod failover;
mod kit_cluster;
mod kit_database;
mod kit_process;
mod kit_proxy;
mod kit_receiver;
mod kit_sse;
mod privileges;
mod readers;
mod relay;
mod traces;
