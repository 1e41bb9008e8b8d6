//! Finding our binaries, and running one to its end.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Overrides the directory in which the binaries are looked for.
pub const BIN_DIR_VARIABLE: &str = "HOOKS_TEST_BIN_DIR";

/// What children keep of the test's environment: nothing of ours, so that the machine's `HOOKS_*` cannot leak in.
const KEPT_VARIABLES: [&str; 7] =
    ["PATH", "TMPDIR", "LANG", "TERM", "RUST_BACKTRACE", "LLVM_PROFILE_FILE", "SSL_CERT_FILE"];

/// The path of one of this workspace's binaries, built with the same profile as the running test; panics with
/// the command that builds it if it is missing. A name with a slash is a path already.
pub fn binary(name: &str) -> PathBuf {
    if name.contains('/') {
        return PathBuf::from(name);
    }
    let dir = match std::env::var_os(BIN_DIR_VARIABLE) {
        Some(dir) => PathBuf::from(dir),
        None => profile_dir(),
    };
    let path = dir.join(name);
    let release = if dir.ends_with("release") { " --release" } else { "" };
    assert!(
        path.is_file(),
        "{} is missing: build the binaries first, with `cargo build --workspace{release}`",
        path.display()
    );
    path
}

/// `target/<profile>`: tests run from its `deps`, benchmarks from itself, examples from `examples`.
fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the path of the running test");
    let dir = exe.parent().expect("a directory above the running test");
    let inner = dir.ends_with("deps") || dir.ends_with("examples");
    let dir = if inner { dir.parent().expect("the profile's directory") } else { dir };
    dir.to_owned()
}

/// A command for `binary` with a clean environment plus `env`.
pub(super) fn command(binary_name: &str, args: &[String], env: &[(String, String)]) -> Command {
    let mut command = Command::new(binary(binary_name));
    command.args(args).env_clear();
    for name in KEPT_VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(env.iter().map(|(name, value)| (name, value)));
    command
}

/// What a finished program left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Output {
    /// The exit code; panics if a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("ended by a signal: {self:?}"))
    }

    /// Itself if the program succeeded; panics with everything it said otherwise.
    pub fn expect_success(self) -> Self {
        assert!(self.status.success(), "{}\nstdout:\n{}\nstderr:\n{}", self.status, self.stdout, self.stderr);
        self
    }
}

/// Runs `binary` in an empty home with `args` and a clean environment plus `env`, feeds it `stdin` and waits for
/// its end. Other tasks go on meanwhile, so a proxy or receiver of the same test may be what it talks to.
pub async fn run(binary: &str, args: &[&str], env: &[(&str, &str)], stdin: &[u8]) -> Output {
    let home = tempfile::tempdir().expect("make a home directory");
    let args: Vec<String> = args.iter().map(|&arg| arg.into()).collect();
    let mut all = vec![("HOME".into(), home.path().display().to_string())];
    all.extend(env.iter().map(|&(name, value)| (name.into(), value.into())));
    let mut command = command(binary, &args, &all);
    command.current_dir(home.path());
    let stdin = stdin.to_vec();
    let finished = tokio::task::spawn_blocking(move || run_to_end(&mut command, &stdin));
    finished.await.expect("run a program to its end")
}

fn run_to_end(command: &mut Command, stdin: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    let mut pipe = child.stdin.take().expect("the pipe just asked for");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends without reading its input is no fault of the test.
            let _ = pipe.write_all(stdin);
        });
        child.wait_with_output()
    });
    let output = output.unwrap_or_else(|error| panic!("wait for {command:?}: {error}"));
    Output {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
