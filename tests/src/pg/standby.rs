//! Asynchronous streaming standbys and their promotion.

use std::net::SocketAddr;
use std::time::Duration;

use super::cluster::Cluster;
use super::server::Server;
use super::{SUPERUSER, SUPERUSER_PASSWORD, connect};
use crate::until;

impl Cluster {
    /// A standby of this cluster that streams asynchronously, ready to be read and promoted.
    pub async fn standby(&self) -> Cluster {
        self.standby_via(SocketAddr::from(([127, 0, 0, 1], self.port()))).await
    }

    /// A standby that streams from `address`: a proxy before this cluster, so that the test can cut
    /// replication and lose commits on purpose.
    pub async fn standby_via(&self, address: SocketAddr) -> Cluster {
        let server = Server::prepare(self.server.durable);
        let source = format!(
            "host={} port={} user={SUPERUSER} password={SUPERUSER_PASSWORD} application_name=kit_standby",
            address.ip(),
            address.port()
        );
        let mut backup = server.command("pg_basebackup");
        backup.args(["--dbname", &source, "--checkpoint=fast", "--wal-method=stream", "--no-sync"]);
        backup.args(["--write-recovery-conf", "-D"]).arg(server.data());
        // Asynchronously, since the way to the primary may lead through a proxy on this very runtime.
        let server = tokio::task::spawn_blocking(move || {
            server.run(&mut backup);
            server
        });
        let mut server = server.await.expect("take a base backup");
        server.start_first().await;
        Cluster::of(server)
    }

    /// Waits until this standby has replayed everything that `primary` has written up to now.
    pub async fn caught_up_with(&self, primary: &Cluster, deadline: Duration) {
        let target: String = primary
            .superuser_client("postgres")
            .await
            .query_one("select pg_current_wal_lsn()::text", &[])
            .await
            .expect("ask the primary for its position")
            .get(0);
        let url = self.url("postgres");
        let sql = "select pg_last_wal_replay_lsn()::text, pg_last_wal_replay_lsn() >= $1::text::pg_lsn";
        until(deadline, &format!("the standby to replay {target}"), async || {
            let client = connect(&url).await.map_err(|error| error.to_string())?;
            let row = client.query_one(sql, &[&target]).await.map_err(|error| error.to_string())?;
            if row.get(1) { Ok(()) } else { Err(format!("replayed {}", row.get::<_, String>(0))) }
        })
        .await;
    }

    /// Makes a primary of this standby and waits until it takes writes.
    pub async fn promote(&self) {
        let client = self.superuser_client("postgres").await;
        let row = client.query_one("select pg_promote(true, 60)", &[]).await.expect("promote the standby");
        assert!(row.get::<_, bool>(0), "the standby was not promoted within a minute:\n{}", self.log());
    }
}
