//! `hooks.yaml`: written if there is none, checked before anything starts, and watched.

use super::folder::Folder;
use super::secrets::{self, DEMO_SECRET};
use crate::commands::Failed;
use crate::dev_folder::NAME;
use anyhow::{Context, Result};
use hooks_shared::Config;
use hooks_shared::config::{self, Service};
use hooks_shared::verify::Verifier;
use std::path::{Path, PathBuf};

/// The file and what was read from it.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    pub config: Config,
    /// True if it was written just now.
    pub is_new: bool,
}

impl ConfigFile {
    pub fn open(path: &Path, folder: &Folder) -> Result<Self> {
        secrets::demo_secret(folder)?;
        let is_new = !path.exists();
        if is_new {
            std::fs::write(path, first_config())
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(Self { path: path.to_owned(), config: read(path)?, is_new })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file again if it has changed. None: it has not. A faulty file is an error, and what was read
    /// before stays.
    pub fn changed(&mut self) -> Result<Option<()>> {
        let Ok(text) = std::fs::read(&self.path) else { return Ok(None) };
        if hash(&text) == self.config.hash {
            return Ok(None);
        }
        let outcome = read(&self.path);
        // Said once for each version of the file.
        self.config.hash = hash(&text);
        self.config = outcome?;
        Ok(Some(()))
    }

    pub fn sources(&self) -> Vec<String> {
        self.config.sources.keys().cloned().collect()
    }
}

/// As [`Config::hash`] has it.
fn hash(text: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(&Sha256::digest(text)[..8])
}

/// Everything that ingest would refuse to start over is found here first.
fn read(path: &Path) -> Result<Config> {
    let config = config::load(path, Service::Hooksctl).map_err(|error| Failed(error.to_string()))?;
    let mut faults = Vec::new();
    for source in config.sources.values() {
        if let Err(found) = Verifier::compile(&source.verification(&config)) {
            faults.extend(found.iter().map(|fault| format!("sources.{}.{fault}", source.name)));
        }
    }
    if faults.is_empty() {
        return Ok(config);
    }
    Err(Failed(format!("{}:\n  {}", path.display(), faults.join("\n  "))).into())
}

fn first_config() -> String {
    format!(
        "# Written by `hooksctl dev`. Change it freely: a running `dev` reads it again.\n\
         \n\
         # Push subscriptions may lead to this machine and its network; that is refused unless it is said.\n\
         push:\n\
         \x20 allow_destinations: [loopback, private]\n\
         \n\
         # Where webhooks come from.\n\
         sources:\n\
         \x20 # For trying things out: `hooksctl send demo` signs events with this secret.\n\
         \x20 demo:\n\
         \x20   verifier: standard_webhooks\n\
         \x20   secret_file: {NAME}/{DEMO_SECRET}\n\
         \n\
         \x20 # A real one. Providers reach this machine through a tunnel to the ingest port.\n\
         \x20 # github:\n\
         \x20 #   verifier: github\n\
         \x20 #   secret: ${{GITHUB_WEBHOOK_SECRET}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_configuration_is_valid_and_changes_are_seen_once() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("open");
        let path = parent.path().join("hooks.yaml");
        let mut file = ConfigFile::open(&path, &folder).expect("written and read");
        assert!(file.is_new);
        assert_eq!(file.sources(), ["demo"]);
        assert!(file.changed().expect("unchanged").is_none());
        std::fs::write(&path, "sources: {}\n").expect("spoil it");
        let error = file.changed().expect_err("faulty").to_string();
        assert!(error.contains("sources"), "{error}");
        assert!(file.changed().expect("told already").is_none());
        assert_eq!(file.sources(), ["demo"]);
    }
}
