//! What a test of the kit kills: a process with a cluster and a service. It says what it has started and waits.

use hooks_testkit::pg::{Cluster, Options};
use hooks_testkit::process::Launch;

#[tokio::main]
async fn main() {
    let cluster = Cluster::start(Options::default()).await;
    let service = Launch::binary("/bin/sh").args(["-c", "sleep 600"]).start();
    let sql = "select current_setting('data_directory')";
    let client = cluster.superuser_client("postgres").await;
    let row = client.query_one(sql, &[]).await.expect("ask for the directory");
    println!("started {} {}", service.pid(), row.get::<_, String>(0));
    std::future::pending::<()>().await;
}
