//! The engine's command line.

use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Longer than anything here takes, so that a hanging engine is an error with a name.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs `docker` with `args` and `env`; its output, or what it said against it.
pub async fn try_docker(args: &[&str], env: &[(String, String)]) -> Result<String, String> {
    let mut command = Command::new("docker");
    command.args(args).envs(env.iter().cloned()).stdin(Stdio::null()).kill_on_drop(true);
    let words = args.join(" ");
    let output = tokio::time::timeout(LIMIT, command.output())
        .await
        .map_err(|_| format!("docker {words}: no end after {LIMIT:?}"))?
        .map_err(|error| format!("docker {words}: {error}"))?;
    let [said, complaint] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim_end().to_owned());
    if output.status.success() {
        return Ok(said);
    }
    Err(format!("docker {words}: {}\n{said}\n{complaint}", output.status))
}

/// The same; panics if it fails.
pub async fn docker(args: &[&str]) -> String {
    try_docker(args, &[]).await.unwrap_or_else(|error| panic!("{error}"))
}
