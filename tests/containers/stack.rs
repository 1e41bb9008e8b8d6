//! One compose project: the repository's own `docker-compose.yml` with overlays of this suite.

use crate::engine::{docker, try_docker};
use hooks_testkit::{port, process, until};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The development default of docker-compose.yml.
const ADMINISTRATOR: &str = "hk_development-only-bootstrap-token";

/// A running or stopped stack. Dropping it removes its containers, networks and volumes.
#[derive(Debug)]
pub struct Stack {
    project: String,
    root: PathBuf,
    files: Vec<String>,
    env: Vec<(String, String)>,
    ingest: u16,
    subscribe: u16,
    inspector: u16,
    receiver: u16,
    /// The service whose database `psql` asks.
    database: &'static str,
}

impl Stack {
    /// The plain stack plus `overlays`, names of files in this folder without their `.yml`. Nothing is started.
    pub fn new(overlays: &[&str]) -> Self {
        let [ingest, subscribe, inspector, receiver] = std::array::from_fn(|_| port::free());
        let mut files = vec!["docker-compose.yml".to_owned(), "tests/containers/compose.yml".to_owned()];
        files.extend(overlays.iter().map(|name| format!("tests/containers/{name}.yml")));
        let number = |port: u16| port.to_string();
        let env = [
            ("INGEST_PORT", number(ingest)),
            ("SUBSCRIBE_PORT", number(subscribe)),
            ("INSPECTOR_PORT", number(inspector)),
            ("POSTGRES_PORT", number(port::free())),
            ("RECEIVER_PORT", number(receiver)),
            ("HOOKS_CONFIG_FILE", "./tests/containers/hooks.yaml".to_owned()),
            ("HOOKS_BINARIES", "prebuilt".to_owned()),
            ("HOOKS_TAG", tag()),
            ("DEMO_INTERVAL", "1".to_owned()),
        ];
        Self {
            project: format!("hooks-it-{}-{ingest}", std::process::id()),
            root: repository(),
            files,
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            ingest,
            subscribe,
            inspector,
            receiver,
            database: "postgres",
        }
    }

    /// Sets a variable of the compose file.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// From now on `psql` asks another service's database.
    pub fn database_is(mut self, service: &'static str) -> Self {
        self.database = service;
        self
    }

    /// The tree whose compose file this is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn words<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let mut words = vec!["compose", "--progress", "quiet", "-p", &self.project];
        words.extend(["--project-directory", self.root.to_str().expect("a path in UTF-8")]);
        for file in &self.files {
            words.extend(["-f", file]);
        }
        words.extend(args);
        words
    }

    /// `docker compose …` in this project.
    pub async fn try_compose(&self, args: &[&str]) -> Result<String, String> {
        try_docker(&self.words(args), &self.env).await
    }

    /// The same; panics if it fails.
    pub async fn compose(&self, args: &[&str]) -> String {
        self.try_compose(args).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts `services` (all when empty) and waits until they are healthy.
    pub async fn up(&self, services: &[&str]) {
        let mut args = vec!["up", "-d", "--no-build", "--wait", "--wait-timeout", "120"];
        args.extend(services);
        self.compose(&args).await;
    }

    /// The id of a service's only container.
    pub async fn container(&self, service: &str) -> String {
        let all = self.containers(service).await;
        assert_eq!(all.len(), 1, "one container of {service}");
        all.into_iter().next().expect("one container")
    }

    /// The ids of a service's running containers.
    pub async fn containers(&self, service: &str) -> Vec<String> {
        let ids = self.compose(&["ps", "-q", "--status", "running", service]).await;
        ids.lines().map(str::to_owned).collect()
    }

    /// One value or table from the database, as `psql -At` prints it.
    pub async fn try_psql(&self, sql: &str) -> Result<String, String> {
        self.try_compose(&[
            "exec",
            "-T",
            self.database,
            "psql",
            "-U",
            "hooks",
            "-d",
            "hooks",
            "-AtXq",
            "-c",
            sql,
        ])
        .await
    }

    pub async fn psql(&self, sql: &str) -> String {
        self.try_psql(sql).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits until `sql` prints `expected`.
    pub async fn until_psql(&self, deadline: Duration, sql: &str, expected: &str) {
        until(deadline, sql, async || {
            let found = self.try_psql(sql).await?;
            if found == expected { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
        })
        .await;
    }

    /// `hooksctl` inside the network, with the database at hand.
    pub async fn hooksctl(&self, args: &[&str]) -> String {
        self.try_hooksctl(args).await.unwrap_or_else(|error| panic!("{error}"))
    }

    pub async fn try_hooksctl(&self, args: &[&str]) -> Result<String, String> {
        let mut words = vec!["run", "--rm", "-T", "--no-deps", "hooksctl"];
        words.extend(args);
        self.try_compose(&words).await
    }

    /// `hooksctl` on this machine, pointed at the inspector as the first administrator.
    pub async fn operate(&self, args: &[&str]) -> String {
        let inspector = format!("http://127.0.0.1:{}", self.inspector);
        let env = [("HOOKS_INSPECTOR", inspector.as_str()), ("HOOKS_TOKEN", ADMINISTRATOR)];
        process::run("hooksctl", args, &env, b"").await.expect_success().stdout
    }

    /// A listener's token for the source `demo`.
    pub async fn token(&self) -> String {
        let said = self.hooksctl(&["token", "create", "--scope", "demo"]).await;
        said.lines().find(|line| line.starts_with("hk_")).expect("a token among the lines").to_owned()
    }

    pub fn ingest(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ingest).into()
    }

    pub fn subscribe(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.subscribe).into()
    }

    /// The receiver, from outside; push-workers know it as `receiver:8090`.
    pub fn receiver(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.receiver).into()
    }

    /// The address of a service's container inside the network.
    pub async fn address(&self, container: &str) -> String {
        let format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
        docker(&["inspect", "-f", format, container]).await
    }

    /// Whether the engine calls the container healthy.
    pub async fn is_healthy(&self, container: &str) -> bool {
        docker(&["inspect", "-f", "{{.State.Health.Status}}", container]).await == "healthy"
    }

    /// Waits until every container of `service` is healthy.
    pub async fn until_healthy(&self, service: &str, deadline: Duration) {
        until(deadline, &format!("{service} to be healthy"), async || {
            let mut healthy = true;
            for container in self.containers(service).await {
                healthy &= self.is_healthy(&container).await;
            }
            healthy
        })
        .await;
    }

    /// What `/readyz` (or another admin route) of a service says inside its container.
    pub async fn admin(&self, service: &str, port: u16, path: &str) -> Result<String, String> {
        let container = self.container(service).await;
        let network = format!("container:{container}");
        let url = format!("http://127.0.0.1:{port}{path}");
        try_docker(
            &["run", "--rm", "--network", &network, &tools(), "curl", "-sS", "--max-time", "5", &url],
            &[],
        )
        .await
    }
}

/// The tag of this run's images.
pub fn tag() -> String {
    std::env::var("HOOKS_TAG").unwrap_or_else(|_| "ci".to_owned())
}

/// An image of tests/containers/Dockerfile.
pub fn image(target: &str) -> String {
    format!("hooks-test-{target}:{}", tag())
}

/// The image with iptables, curl and the receiver.
pub fn tools() -> String {
    image("tools")
}

/// The folder of docker-compose.yml.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder above tests/").to_owned()
}

impl Drop for Stack {
    fn drop(&mut self) {
        let run = |args: &[&str]| {
            std::process::Command::new("docker")
                .args(self.words(args))
                .envs(self.env.iter().cloned())
                .output()
        };
        if std::thread::panicking() {
            for args in [&["ps", "-a"][..], &["logs", "--no-color", "--tail", "25"]] {
                if let Ok(output) = run(args) {
                    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
                }
            }
        }
        let all = ["--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "1"];
        if std::env::var_os("HOOKS_KEEP_STACK").is_none() {
            let _ = run(&all);
        }
    }
}
