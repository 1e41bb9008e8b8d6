//! What a running server writes down about itself in its data folder.

use super::super::process::is_alive;
use std::path::{Path, PathBuf};

/// The parts of `postmaster.pid` that are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postmaster {
    pub pid: i32,
    pub port: u16,
    pub socket_folder: PathBuf,
}

impl Postmaster {
    /// The server on `data`, if its file says that there is one. It may be stale.
    pub fn read(data: &Path) -> Option<Self> {
        parse(&std::fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    pub fn is_alive(&self) -> bool {
        is_alive(self.pid)
    }
}

/// Lines: pid, data folder, start time, port, socket folder, listen address, …
fn parse(text: &str) -> Option<Postmaster> {
    let mut lines = text.lines();
    let pid = lines.next()?.trim().parse().ok().filter(|pid| *pid > 1)?;
    let port = lines.nth(2)?.trim().parse().ok()?;
    let socket_folder = PathBuf::from(lines.next()?.trim());
    Some(Postmaster { pid, port, socket_folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_server_is_read_and_half_of_one_is_not() {
        let text = "4711\n/home/me/.hooks/pg\n1778335200\n21432\n/tmp/hooks-1\n127.0.0.1\n  1 2\nready   \n";
        let expected = Postmaster { pid: 4711, port: 21432, socket_folder: "/tmp/hooks-1".into() };
        assert_eq!(parse(text), Some(expected));
        for bad in ["", "4711\n", "1\na\nb\n5\n/tmp\n", "-5\na\nb\n5\n/tmp\n"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
