//! The tokens that `hooksctl login` was given: `${XDG_CONFIG_HOME:-~/.config}/hooks/logins`, a URL and a token on
//! each line, for this user only.

use crate::dev_folder;
use crate::output::note;
use anyhow::{Context, Result};
use hooks_shared::Secret;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use url::Url;

const HEAD: &str = "# Written by `hooksctl login`; `hooksctl logout` takes a line away.\n";

fn path() -> Option<PathBuf> {
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = home("XDG_CONFIG_HOME").or_else(|| home("HOME").map(|home| home.join(".config")))?;
    Some(config.join("hooks").join("logins"))
}

/// The token for an inspector. A file that others could have read is not used.
pub fn find(base: &Url) -> Option<Secret> {
    let path = path()?;
    let text = std::fs::read_to_string(&path).ok()?;
    if let Err(why) = dev_folder::private(&path) {
        note(&format!("hooksctl: {} is not used: {why}", path.display()));
        return None;
    }
    dev_folder::lookup(&text, base.as_str()).map(Secret::new)
}

/// Keeps the token for an inspector, in place of an older one; where.
pub fn keep(base: &Url, token: &Secret) -> Result<PathBuf> {
    let path = path().context("neither XDG_CONFIG_HOME nor HOME is set: there is no place for the token")?;
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let text = format!("{}{base} {}\n", without(&old, base), token.expose());
    write(&path, &text).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(path)
}

/// Forgets the token for an inspector.
pub fn forget(base: &Url) -> Result<()> {
    let Some(path) = path() else { return Ok(()) };
    let Ok(old) = std::fs::read_to_string(&path) else { return Ok(()) };
    write(&path, &without(&old, base)).with_context(|| format!("{} cannot be written", path.display()))
}

/// The file's lines but that of `base`.
fn without(text: &str, base: &Url) -> String {
    let others = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let others = others.filter(|line| line.split_once(' ').is_none_or(|(known, _)| known != base.as_str()));
    others.fold(HEAD.to_owned(), |all, line| all + line + "\n")
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let next = path.with_extension(format!("{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(next, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_replaced_and_the_others_stay() {
        let url = |text: &str| Url::parse(text).expect(text);
        let text = "# x\nhttp://a/ hk_1\nhttp://b/ hk_2\n";
        assert_eq!(without(text, &url("http://a")), format!("{HEAD}http://b/ hk_2\n"));
        assert_eq!(without("", &url("http://a")), HEAD);
    }
}
