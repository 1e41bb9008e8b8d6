//! The push-worker against real PostgreSQL.

mod maintenance;
