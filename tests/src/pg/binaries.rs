//! Where this machine keeps PostgreSQL, and as whom it must run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Overrides the search with one directory that holds `postgres`, `initdb` and `pg_basebackup`.
pub const BINDIR_VARIABLE: &str = "HOOKS_TEST_PG_BINDIR";

/// The directory of the newest PostgreSQL on this machine; panics with the command that installs one.
pub fn bindir() -> PathBuf {
    if let Some(dir) = std::env::var_os(BINDIR_VARIABLE) {
        let dir = PathBuf::from(dir);
        assert!(version(&dir).is_some(), "{BINDIR_VARIABLE}={}: no postgres binary there", dir.display());
        return dir;
    }
    let newest = candidates().into_iter().filter_map(|dir| Some((version(&dir)?, dir))).max();
    let Some((_, dir)) = newest else {
        panic!(
            "no PostgreSQL server binaries found (looked at `pg_config --bindir`, PATH and \
             /usr/lib/postgresql/*/bin). Install them with `apt-get install postgresql` (Debian, Ubuntu), \
             `dnf install postgresql-server` (Fedora) or `brew install postgresql`, or set {BINDIR_VARIABLE}"
        )
    };
    dir
}

fn candidates() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output() {
        found.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    found.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    for parent in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| entry.path().join("bin")));
    }
    found
}

/// Major and minor version of the complete installation in `dir`, if it is one.
fn version(dir: &Path) -> Option<(u32, u32)> {
    if !["postgres", "initdb", "pg_basebackup"].iter().all(|name| dir.join(name).is_file()) {
        return None;
    }
    let output = Command::new(dir.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    Some((parts.next()?, parts.next().unwrap_or(0)))
}

/// The account that the server runs as when the test is root, which postgres refuses.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
}

/// `postgres`, else `nobody`; `None` when the test does not run as root.
pub fn account() -> Option<Account> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let passwd =
        std::fs::read_to_string("/etc/passwd").expect("read /etc/passwd to find an account for postgres");
    let of = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Account { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    };
    Some(
        of("postgres").or_else(|| of("nobody")).expect("running as root: need an account postgres or nobody"),
    )
}
