//! A database per test.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::pg::{self, Cluster};
use crate::process;

/// The migrated database from which every test's own is cloned. Nobody can connect to it.
const TEMPLATE: &str = "hooks_template";
/// The password of every login role in test clusters.
pub const ROLE_PASSWORD: &str = "kit-role";
/// The login roles, without their prefix `hooks_`.
pub const ROLES: [&str; 5] = ["ingest", "subscribe", "push_worker", "inspector", "maintenance"];

/// A database of its own for one test; dropped (best effort) with the value. A schema would not do: NOTIFY
/// crosses schemas.
#[derive(Debug)]
pub struct TestDb {
    cluster: Cluster,
    name: String,
}

impl TestDb {
    /// A migrated database on the cluster that this process's tests share.
    pub async fn create() -> Self {
        Self::on(&Cluster::shared().await).await
    }

    /// A migrated database on `cluster`.
    pub async fn on(cluster: &Cluster) -> Self {
        let built = cluster.template.get_or_init(|| build_template(cluster)).await;
        if let Err(reason) = built {
            panic!("no migrated template database: {reason}");
        }
        let db = Self::named_on(cluster);
        let admin = cluster.superuser_client("postgres").await;
        let create = format!("create database {} template {TEMPLATE}", db.name);
        admin.batch_execute(&create).await.unwrap_or_else(|error| panic!("{create}: {error:?}"));
        copy_database_properties(&admin, &db.name).await;
        db
    }

    /// A database on `cluster` on which `hooksctl migrate` has not run.
    pub async fn empty_on(cluster: &Cluster) -> Self {
        let db = Self::named_on(cluster);
        let admin = cluster.superuser_client("postgres").await;
        let create = format!("create database {} template template0", db.name);
        admin.batch_execute(&create).await.unwrap_or_else(|error| panic!("{create}: {error:?}"));
        db
    }

    fn named_on(cluster: &Cluster) -> Self {
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        Self { cluster: cluster.clone(), name }
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster it lives on.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The superuser's connection string.
    pub fn url(&self) -> String {
        self.cluster.url(&self.name)
    }

    /// The connection string of the login role `hooks_<role>`, `role` being one of [`ROLES`].
    pub fn url_for(&self, role: &str) -> String {
        assert!(ROLES.contains(&role), "no role hooks_{role}; there are {ROLES:?}");
        format!("postgres://hooks_{role}:{ROLE_PASSWORD}@127.0.0.1:{}/{}", self.cluster.port(), self.name)
    }

    /// `HOOKS_<ROLE>_DATABASE_URL` for one role: what its service needs in its environment.
    pub fn env_for(&self, role: &str) -> (String, String) {
        (format!("HOOKS_{}_DATABASE_URL", role.to_uppercase()), self.url_for(role))
    }

    /// A superuser's connection, driven by a task of the current runtime.
    pub async fn client(&self) -> Client {
        self.cluster.superuser_client(&self.name).await
    }

    /// A connection as `hooks_<role>`.
    pub async fn client_for(&self, role: &str) -> Client {
        let url = self.url_for(role);
        pg::connect(&url).await.unwrap_or_else(|error| panic!("connect to {url}: {error:?}"))
    }

    /// Executes one statement as the superuser, on a connection of its own; the number of rows.
    pub async fn execute(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> u64 {
        self.client().await.execute(sql, params).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Queries rows as the superuser, on a connection of its own.
    pub async fn query(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        self.client().await.query(sql, params).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Queries exactly one row as the superuser, on a connection of its own.
    pub async fn query_one(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Row {
        self.client().await.query_one(sql, params).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }
}

/// The variables that give `hooksctl migrate` the passwords of [`ROLES`].
pub fn role_password_env() -> Vec<(String, String)> {
    ROLES
        .iter()
        .map(|role| (format!("HOOKS_{}_PASSWORD", role.to_uppercase()), ROLE_PASSWORD.into()))
        .collect()
}

/// A failure is kept and told to every test, instead of being repeated by each of them.
async fn build_template(cluster: &Cluster) -> Result<(), String> {
    let admin = cluster.superuser_client("postgres").await;
    let say = |error: tokio_postgres::Error| format!("{error:?}");
    admin.batch_execute(&format!("create database {TEMPLATE} template template0")).await.map_err(say)?;
    warn_of_stale_migrator();
    let mut env = role_password_env();
    env.push(("HOOKS_DATABASE_URL".into(), cluster.url(TEMPLATE)));
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (&**name, &**value)).collect();
    let output = process::run("hooksctl", &["migrate"], &env, b"").await;
    if !output.status.success() {
        return Err(format!(
            "hooksctl migrate: {} (stale binaries? `cargo build --workspace`)\n{}{}",
            output.status, output.stdout, output.stderr
        ));
    }
    let close = format!("alter database {TEMPLATE} with is_template true allow_connections false");
    admin.batch_execute(&close).await.map_err(say)
}

/// Says so, past the test runner's capture, if a migration has changed since `hooksctl` was built: nothing else
/// would explain why the tests see the old schema.
fn warn_of_stale_migrator() {
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    let migrations = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations"));
    let files = migrations.into_iter().flatten().flatten().map(|entry| entry.path());
    let newest = files
        .filter(|path| path.extension().is_some_and(|end| end == "sql"))
        .map(|path| changed(&path))
        .max();
    if newest.flatten() > changed(&process::binary("hooksctl")) {
        let warning =
            "warning: hooksctl is older than migrations/*.sql: `cargo build --workspace` builds it anew\n";
        let _ = std::io::stderr().write_all(warning.as_bytes());
    }
}

/// `create database … template` copies neither the owner nor the grants and settings on the database itself.
async fn copy_database_properties(admin: &Client, name: &str) {
    let copy = format!(
        "update pg_database set datdba = t.datdba, datacl = t.datacl
           from pg_database t where t.datname = '{TEMPLATE}' and pg_database.datname = '{name}';
         insert into pg_db_role_setting (setdatabase, setrole, setconfig)
         select d.oid, s.setrole, s.setconfig
           from pg_db_role_setting s
           join pg_database t on t.oid = s.setdatabase and t.datname = '{TEMPLATE}'
           join pg_database d on d.datname = '{name}'"
    );
    admin.batch_execute(&copy).await.unwrap_or_else(|error| panic!("copy grants to {name}: {error:?}"));
}

impl Drop for TestDb {
    fn drop(&mut self) {
        let url = self.cluster.url("postgres");
        let drop_it = format!("drop database if exists {} with (force)", self.name);
        let cluster = self.cluster.clone();
        // A thread, since the test's runtime may be ending; nobody waits for it, since the cluster goes anyway.
        std::thread::spawn(move || {
            let _alive = cluster;
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
                return;
            };
            runtime.block_on(async {
                let work = async {
                    let client = pg::connect(&url).await.ok()?;
                    client.batch_execute(&drop_it).await.ok()
                };
                let _ = tokio::time::timeout(Duration::from_secs(10), work).await;
            });
        });
    }
}
