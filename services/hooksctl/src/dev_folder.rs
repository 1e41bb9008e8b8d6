//! The `.hooks` folder that `hooksctl dev` keeps beside `hooks.yaml`, as the other commands read it.

use crate::output::note;
use crate::server::Endpoint;
use hooks_shared::Secret;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use url::Url;

/// Its name.
pub const NAME: &str = ".hooks";
/// The file of tokens in it: a name and a token on each line.
pub const TOKENS: &str = "tokens";
/// The file of the running services' addresses in it: a name and a URL on each line.
pub const URLS: &str = "urls";
/// The file in it with the keys under which secrets are kept in the database.
pub const SECRET_KEYS: &str = "secret_keys";

/// A `.hooks` folder that belongs to this user.
#[derive(Debug, Clone)]
pub struct DevFolder(PathBuf);

impl DevFolder {
    /// The nearest one, from the current folder upwards.
    pub fn find() -> Option<Self> {
        let here = std::env::current_dir().ok()?;
        here.ancestors().map(|folder| folder.join(NAME)).find(|folder| folder.is_dir()).map(Self)
    }

    /// The address at which `dev` runs the service called `name`.
    pub fn url(&self, name: &str) -> Option<String> {
        lookup(&std::fs::read_to_string(self.0.join(URLS)).ok()?, name)
    }

    /// Is this a service that `dev` runs here at this moment?
    pub fn runs(&self, endpoint: &Endpoint) -> bool {
        let url = self.url(endpoint.role.name()).and_then(|url| Url::parse(&url).ok());
        url.is_some_and(|url| url == endpoint.base)
    }

    /// Where a file of this name is in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The token called `name`.
    pub fn token(&self, name: &str) -> Option<Secret> {
        self.secret(TOKENS, name)
    }

    /// The URL of the database that `dev` runs at this moment.
    pub fn database_url(&self) -> Option<Secret> {
        self.secret(URLS, "database")
    }

    /// The file with the keys under which `dev` keeps secrets in its database.
    pub fn secret_keys_file(&self) -> Option<PathBuf> {
        let path = self.0.join(SECRET_KEYS);
        private(&path).is_ok().then_some(path)
    }

    /// A file that others could have read or written is not used.
    fn secret(&self, file: &str, name: &str) -> Option<Secret> {
        let path = self.0.join(file);
        let text = std::fs::read_to_string(&path).ok()?;
        if let Err(why) = private(&path) {
            note(&format!("hooksctl: {} is not used: {why}", path.display()));
            return None;
        }
        lookup(&text, name).map(Secret::new)
    }
}

/// The value after `name` on its line; lines that begin with `#` are for people.
pub fn lookup(text: &str, name: &str) -> Option<String> {
    let pairs = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    let (_, value) = pairs.into_iter().find(|(known, _)| *known == name)?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// An error where others may read a file, or it is somebody else's.
pub fn private(path: &Path) -> Result<(), String> {
    let meta = std::fs::metadata(path).map_err(|error| error.to_string())?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    if meta.uid() != me {
        return Err("it belongs to another user".to_owned());
    }
    if meta.mode() & 0o077 != 0 {
        return Err("others may read it; run `chmod 600` on it".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_whole_and_comments_are_skipped() {
        let text = "# listener no\nlistener hk_a\nadmin hk_b \nempty \n";
        assert_eq!(lookup(text, "listener").as_deref(), Some("hk_a"));
        assert_eq!(lookup(text, "admin").as_deref(), Some("hk_b"));
        assert_eq!(lookup(text, "list"), None);
        assert_eq!(lookup(text, "empty"), None);
    }
}
