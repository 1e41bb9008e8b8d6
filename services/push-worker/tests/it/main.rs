//! The push-worker against real PostgreSQL.

mod claims;
mod fencing;
mod growth;
mod ledger;
mod maintenance;
mod manners;
mod outcomes;
mod processes;
mod replays;
mod rig;
