//! As whom the server runs: as this user, but never as root, which postgres refuses.

use crate::commands::Failed;
use anyhow::Result;
use std::path::Path;

/// An unprivileged account of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
}

/// The account for the server; none where this user can run it.
pub fn account() -> Result<Option<Account>> {
    // SAFETY: geteuid has no preconditions and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return Ok(None);
    }
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = find(&passwd, "postgres").or_else(|| find(&passwd, "nobody"));
    let found = found.ok_or_else(|| {
        Failed(
            "started as root, and there is no account `postgres` or `nobody` to run PostgreSQL as; start as \
             another user"
                .to_owned(),
        )
    })?;
    Ok(Some(found))
}

fn find(passwd: &str, name: &str) -> Option<Account> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    let account = Account { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? };
    (account.uid != 0).then_some(account)
}

/// Gives a path to the account, if there is one.
pub fn give(path: &Path, account: Option<Account>) -> std::io::Result<()> {
    match account {
        Some(account) => std::os::unix::fs::chown(path, Some(account.uid), Some(account.gid)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_their_whole_name() {
        let passwd = "root:x:0:0::/root:/bin/sh\npostgresx:x:5:5::/:/bin/sh\npostgres:x:107:113::/:/bin/sh\n";
        assert_eq!(find(passwd, "postgres"), Some(Account { uid: 107, gid: 113 }));
        assert_eq!(find(passwd, "root"), None);
        assert_eq!(find(passwd, "nobody"), None);
    }
}
