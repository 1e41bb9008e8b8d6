//! The push-worker against real PostgreSQL.

mod claims;
mod fencing;
mod maintenance;
mod replays;
mod rig;
