//! The `.hooks` folder as `dev` keeps it: locked while it runs, nothing in it for anybody else.

use crate::commands::{Failed, Refused};
use crate::dev_folder::NAME;
use anyhow::{Context, Result};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The folder, held by this process. The lock goes with the process, however it ends.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes `.hooks` in `parent` if it is not there, and takes its lock.
    pub fn open(parent: &Path) -> Result<Self> {
        let path = parent.join(NAME);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("{} cannot be made", path.display()))?;
        let lock = lock(&path)?;
        let folder = Self { path, _lock: lock };
        folder.write(".gitignore", "*\n")?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents of one of its files.
    pub fn read(&self, name: &str) -> Result<Option<String>> {
        match std::fs::read_to_string(self.path.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(error).with_context(|| format!("{} cannot be read", self.path.join(name).display()))
            }
        }
    }

    /// Replaces one of its files, readable by this user only.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path.join(name);
        let next = self.path.join(format!(".{name}.next"));
        let replace = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&next, &path)
        };
        replace().with_context(|| format!("{} cannot be written", path.display()))
    }

    /// The contents of a file, made by `make` the first time.
    pub fn read_or_make(&self, name: &str, make: impl FnOnce() -> String) -> Result<String> {
        if let Some(text) = self.read(name)?.filter(|text| !text.trim().is_empty()) {
            return Ok(text);
        }
        let text = make();
        self.write(name, &text)?;
        Ok(text)
    }

    pub fn remove(&self, name: &str) {
        let _ = std::fs::remove_file(self.path.join(name));
    }
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path);
    let mut file = open.with_context(|| format!("{} cannot be opened", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(Refused(format!(
                "another `hooksctl dev` runs in this folder (process {}); use it, stop it, or start in another \
                 folder with --ports",
                holder.trim()
            ))
            .into());
        }
        Err(TryLockError::Error(error)) => {
            return Err(Failed(format!("{} cannot be locked: {error}", path.display())).into());
        }
    }
    // For the message above only; the lock is what counts.
    let note = || {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    let mut note = note;
    note().with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_folder_is_held_by_one_and_its_files_are_private() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("open");
        folder.write("tokens", "x").expect("write");
        let mode = std::fs::metadata(folder.path().join("tokens")).expect("there").mode();
        assert_eq!(mode & 0o777, 0o600);
        let error = Folder::open(parent.path()).expect_err("held");
        assert!(error.is::<Refused>(), "{error:#}");
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(folder);
        Folder::open(parent.path()).expect("free again");
    }
}
