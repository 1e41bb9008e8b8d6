//! Where the server's files are.

use super::account::{Account, give};
use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where root keeps the data of its development servers: another account cannot enter root's home.
const FOR_ROOT: &str = "/var/lib/hooks-dev";
/// What may stand before the socket's own name: its path must fit in 107 bytes (103 on a Mac).
const LONGEST_SOCKET_FOLDER: usize = 80;

/// The folder of one server: `pg` (data) and `pg.log`. Belongs to the server's account.
#[derive(Debug, Clone)]
pub struct Home {
    base: PathBuf,
    account: Option<Account>,
}

impl Home {
    /// In `folder` itself, or for root in a place named after it.
    pub fn of(folder: &Path, account: Option<Account>) -> Result<Self> {
        if account.is_none() {
            return Ok(Self { base: folder.to_owned(), account });
        }
        let hash = hex::encode(&Sha256::digest(folder.as_os_str().as_bytes())[..8]);
        let base = Path::new(FOR_ROOT).join(hash);
        let made = || {
            DirBuilder::new().recursive(true).mode(0o755).create(FOR_ROOT)?;
            DirBuilder::new().recursive(true).mode(0o700).create(&base)?;
            give(&base, account)
        };
        made().with_context(|| format!("{} cannot be made", base.display()))?;
        // So that whoever looks for the data finds it; nothing reads this.
        let _ = std::os::unix::fs::symlink(base.join("pg"), folder.join("pg"));
        Ok(Self { base, account })
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub fn data(&self) -> PathBuf {
        self.base.join("pg")
    }

    /// Where a new cluster is made before it gets its name: a half-made one never counts.
    pub fn data_in_making(&self) -> PathBuf {
        self.base.join("pg.new")
    }

    pub fn log(&self) -> PathBuf {
        self.base.join("pg.log")
    }

    /// The version of the data, if there is any.
    pub fn version(&self) -> Option<u32> {
        std::fs::read_to_string(self.data().join("PG_VERSION")).ok()?.trim().parse().ok()
    }

    /// The last lines of the server's log.
    pub fn log_tail(&self) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().rev().take(8).collect();
        lines.into_iter().rev().map(|line| format!("\n  {line}")).collect()
    }

    /// A fresh folder for the socket that only the server's account can enter, with a short name.
    pub fn make_socket_folder(&self) -> Result<PathBuf> {
        let usual = std::env::temp_dir();
        let parent =
            if usual.as_os_str().len() <= LONGEST_SOCKET_FOLDER - 16 { usual } else { "/tmp".into() };
        for _ in 0..20 {
            let path = parent.join(format!("hooks-{:08x}", rand::random::<u32>()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    give(&path, self.account)
                        .with_context(|| format!("{} cannot be given away", path.display()))?;
                    return Ok(path);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("{} cannot be made", path.display()));
                }
            }
        }
        anyhow::bail!("no free name for a folder in {}", parent.display())
    }
}
