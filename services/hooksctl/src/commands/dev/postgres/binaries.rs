//! Where this machine keeps PostgreSQL's programs.

use crate::commands::Failed;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the one folder to look in.
pub const VARIABLE: &str = "HOOKS_PG_BINDIR";
/// The oldest server that the schema works with.
const OLDEST: u32 = 15;

/// A folder with `postgres` and `initdb`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub dir: PathBuf,
    pub major: u32,
}

/// The newest installation, or for existing data the one of its version.
pub fn find(needed: Option<u32>) -> Result<Binaries> {
    let found = installed();
    let usable = found.iter().filter(|one| one.major >= OLDEST);
    let best = match needed {
        Some(major) => usable.into_iter().find(|one| one.major == major),
        None => usable.max_by_key(|one| one.major),
    };
    best.cloned().ok_or_else(|| missing(needed, &found).into())
}

fn installed() -> Vec<Binaries> {
    if let Some(dir) = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty()) {
        return complete(Path::new(&dir)).into_iter().collect();
    }
    let mut found: Vec<Binaries> = Vec::new();
    for dir in candidates() {
        if let Some(one) = complete(&dir)
            && !found.contains(&one)
        {
            found.push(one);
        }
    }
    found
}

fn candidates() -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output() {
        dirs.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    dirs.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    // Debian and Ubuntu; Fedora; Homebrew on both kinds of Mac; Postgres.app.
    for parent in [
        "/usr/lib/postgresql",
        "/usr/pgsql-17",
        "/usr/pgsql-16",
        "/usr/pgsql-15",
        "/opt/homebrew/opt",
        "/usr/local/opt",
        "/Applications/Postgres.app/Contents/Versions",
    ] {
        let parent = Path::new(parent);
        dirs.push(parent.join("bin"));
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        dirs.extend(entries.map(|entry| entry.path().join("bin")));
    }
    dirs
}

/// The folder, if it holds what is needed.
fn complete(dir: &Path) -> Option<Binaries> {
    if !["postgres", "initdb"].iter().all(|name| dir.join(name).is_file()) {
        return None;
    }
    let output = Command::new(dir.join("postgres")).arg("--version").stderr(Stdio::null()).output().ok()?;
    Some(Binaries { dir: dir.to_owned(), major: major(&String::from_utf8_lossy(&output.stdout))? })
}

/// The first number of `postgres (PostgreSQL) 15.6 (Debian …)`.
fn major(text: &str) -> Option<u32> {
    let word = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn missing(needed: Option<u32>, found: &[Binaries]) -> Failed {
    let wanted = match needed {
        Some(major) => format!("PostgreSQL {major}, with which the data in this folder was made,"),
        None => format!("PostgreSQL {OLDEST} or later"),
    };
    let looked = match std::env::var(VARIABLE) {
        Ok(dir) if !dir.is_empty() => format!("{VARIABLE}={dir} has no `postgres` and `initdb` of it"),
        _ => "looked at `pg_config --bindir`, PATH and the usual places".to_owned(),
    };
    let other = match found.iter().map(|one| one.major.to_string()).collect::<Vec<_>>() {
        none if none.is_empty() => String::new(),
        versions => format!("; found version {}", versions.join(", ")),
    };
    Failed(format!(
        "{wanted} is not installed ({looked}{other}). Install it with `{}`, or set HOOKS_DATABASE_URL to a database \
         that is there",
        install_command()
    ))
}

fn install_command() -> &'static str {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if has("apt-get") {
        "sudo apt-get install postgresql"
    } else if has("dnf") {
        "sudo dnf install postgresql-server"
    } else if has("apk") {
        "sudo apk add postgresql"
    } else if has("pacman") {
        "sudo pacman -S postgresql"
    } else if has("zypper") {
        "sudo zypper install postgresql-server"
    } else {
        "brew install postgresql@17"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_every_spelling() {
        assert_eq!(major("postgres (PostgreSQL) 15.6 (Debian 15.6-0+deb12u1)"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 17beta1"), Some(17));
        assert_eq!(major("nonsense"), None);
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        let other = Binaries { dir: "/x".into(), major: 14 };
        let text = missing(Some(16), &[other]).to_string();
        assert!(text.contains("PostgreSQL 16") && text.contains("version 14"), "{text}");
        assert!(text.contains("install") && text.contains("HOOKS_DATABASE_URL"), "{text}");
    }
}
