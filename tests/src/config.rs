//! Configuration files for one test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary directory with a `hooks.yaml`; it goes with the value.
#[derive(Debug)]
pub struct ConfigFile {
    dir: TempDir,
}

impl ConfigFile {
    /// Writes `yaml` into a fresh directory.
    pub fn write(yaml: &str) -> Self {
        let file = Self { dir: tempfile::tempdir().expect("make a directory for hooks.yaml") };
        file.rewrite(yaml);
        file
    }

    /// Replaces the contents, in one step as an editor would.
    pub fn rewrite(&self, yaml: &str) {
        let next = self.dir.path().join("hooks.yaml.next");
        std::fs::write(&next, yaml).expect("write hooks.yaml");
        std::fs::rename(next, self.path()).expect("replace hooks.yaml");
    }

    /// Writes another file beside it (a secret, a certificate) and returns its path.
    pub fn beside(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, contents).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
        path
    }

    /// The path of `hooks.yaml`.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("hooks.yaml")
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}
