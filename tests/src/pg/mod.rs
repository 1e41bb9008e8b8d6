//! Private PostgreSQL clusters from the machine's own binaries.

mod binaries;
mod cluster;
mod place;
mod server;
mod standby;
mod watchdog;

pub use binaries::BINDIR_VARIABLE;
pub use cluster::{Cluster, Options, StopMode};
pub use place::PLACE_VARIABLE;

/// The superuser of every test cluster.
pub const SUPERUSER: &str = "postgres";
/// Its password. Connections over TCP authenticate with SCRAM as in production, so roles and passwords count.
pub const SUPERUSER_PASSWORD: &str = "kit-superuser";

/// Connects to `url` without TLS and drives the connection in a task of the current runtime.
pub async fn connect(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
