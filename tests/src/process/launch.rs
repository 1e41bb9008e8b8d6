//! Describing a process before it is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Service;

/// Arguments and environment of a process to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    pub(super) binary: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) dir: Option<PathBuf>,
    pub(super) home: Option<PathBuf>,
}

impl Launch {
    /// One of the services, on free ports of 127.0.0.1 for `--listen` and `--admin-listen`.
    pub fn service(binary: &str) -> Self {
        Self::binary(binary).args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"])
    }

    /// Any binary of the workspace, or any program by its path, without arguments.
    pub fn binary(binary: &str) -> Self {
        Self { binary: binary.into(), args: Vec::new(), env: Vec::new(), dir: None, home: None }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds `--config path`.
    pub fn config(self, path: impl AsRef<Path>) -> Self {
        self.arg("--config").arg(path.as_ref().display().to_string())
    }

    /// Sets a variable; the last one of a name wins.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets several variables.
    pub fn envs<N: Into<String>, V: Into<String>>(mut self, env: impl IntoIterator<Item = (N, V)>) -> Self {
        self.env.extend(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// The directory to run in; `HOME` if not said, so that nothing that lies in or above the sources is found.
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// `HOME`; an empty temporary directory that goes with the process if not said.
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Starts the process.
    pub fn start(&self) -> Service {
        Service::start(self)
    }

    /// Starts a service and waits until its `/readyz` says 200.
    pub async fn start_ready(&self, deadline: Duration) -> Service {
        let service = self.start();
        service.wait_ready(deadline).await;
        service
    }
}
