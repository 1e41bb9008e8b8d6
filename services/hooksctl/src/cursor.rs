//! The file in which `forward` remembers the last event it has dealt with.

use crate::dev_folder::DevFolder;
use crate::server::Endpoint;
use anyhow::{Context, Result};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

/// One source's cursor at one server.
#[derive(Debug)]
pub struct CursorFile {
    path: PathBuf,
}

impl CursorFile {
    /// `${XDG_STATE_HOME:-~/.local/state}/hooks/cursor-<host>-<source>`. For the relay that `dev` runs in this
    /// folder it is `.hooks/cursor-<source>`: it belongs to that database, and another folder's relay has the same
    /// address.
    pub fn of(endpoint: &Endpoint, source: &str) -> Result<Self> {
        if let Some(folder) = DevFolder::find().filter(|folder| folder.runs(endpoint)) {
            return Ok(Self { path: folder.file(&format!("cursor-{}", file_name(source))) });
        }
        let home = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let state = home("XDG_STATE_HOME").or_else(|| home("HOME").map(|home| home.join(".local/state")));
        let state =
            state.context("neither XDG_STATE_HOME nor HOME is set: there is no place for the cursor")?;
        let host = endpoint.base.host_str().unwrap_or_default();
        let port = endpoint.base.port().map(|port| format!(":{port}")).unwrap_or_default();
        let name = format!("cursor-{}-{}", file_name(&format!("{host}{port}")), file_name(source));
        Ok(Self { path: state.join("hooks").join(name) })
    }

    /// The stored cursor; 0 without a file. A file with something else in it is an error: starting over
    /// silently would send everything again.
    pub fn read(&self) -> Result<i64> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error).with_context(|| self.what("cannot be read")),
        };
        let cursor = text.trim().parse::<i64>().ok().filter(|cursor| *cursor >= 0);
        cursor.with_context(|| self.what("holds no sequence number; remove it, or start with --since"))
    }

    /// Replaces the cursor in one step.
    pub fn write(&self, sequence: i64) -> Result<()> {
        self.replace(sequence).with_context(|| self.what("cannot be written"))
    }

    fn what(&self, what: &str) -> String {
        format!("the cursor file {} {what}", self.path.display())
    }

    fn replace(&self, sequence: i64) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let next = self.path.with_extension(format!("next.{}", std::process::id()));
        let mut file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        writeln!(file, "{sequence}")?;
        drop(file);
        std::fs::rename(next, &self.path)
    }
}

/// Host names and sources as part of a file name; `:` becomes `_`, as the original client has it.
fn file_name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    text.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_and_rubbish_is_not_taken_for_zero() {
        let folder = tempfile::tempdir().expect("a folder");
        let cursor = CursorFile { path: folder.path().join("hooks/cursor-localhost_8081-demo") };
        assert_eq!(cursor.read().expect("no file"), 0);
        cursor.write(41).expect("write");
        cursor.write(42).expect("write again");
        assert_eq!(cursor.read().expect("read"), 42);
        std::fs::write(&cursor.path, "garbage").expect("spoil it");
        assert!(cursor.read().is_err());
    }

    #[test]
    fn file_names_are_those_of_the_original_client() {
        assert_eq!(file_name("localhost:8081"), "localhost_8081");
        assert_eq!(file_name("../x"), ".._x");
    }
}
