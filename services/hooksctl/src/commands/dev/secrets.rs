//! The secrets of a development installation: made once, kept in `.hooks`, shown to nobody.

use super::folder::Folder;
use crate::dev_folder::{SECRET_KEYS, TOKENS};
use crate::migrations::ROLES;
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hooks_shared::{Secret, token};
use rand::RngCore;
use std::collections::BTreeMap;

/// The superuser's name in the file of passwords.
pub const SUPERUSER: &str = "postgres";
/// The secret of the demo source.
pub const DEMO_SECRET: &str = "demo_secret";

/// The passwords of the database's roles.
#[derive(Debug, Clone)]
pub struct Passwords(BTreeMap<String, Secret>);

impl Passwords {
    pub fn keep(folder: &Folder) -> Result<Self> {
        let names = || std::iter::once(SUPERUSER).chain(ROLES.iter().copied());
        let text = folder.read_or_make("passwords", || {
            names().map(|name| format!("{name} {}\n", hex::encode(random::<24>()))).collect()
        })?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let known: BTreeMap<_, _> =
            pairs.map(|(name, password)| (name.to_owned(), Secret::new(password.trim()))).collect();
        for name in names() {
            known.get(name).with_context(|| {
                format!(
                    "{} has no password for {name}; remove {} to start afresh (this deletes the development data)",
                    folder.path().join("passwords").display(),
                    folder.path().display()
                )
            })?;
        }
        Ok(Self(known))
    }

    pub fn of(&self, role: &str) -> Option<&Secret> {
        self.0.get(role)
    }
}

/// The tokens that hooksctl uses in this folder.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub listener: Secret,
    pub admin: Secret,
}

impl Tokens {
    pub fn keep(folder: &Folder) -> Result<Self> {
        let text = folder.read_or_make(TOKENS, || {
            format!(
                "# Tokens of `hooksctl dev`. On this machine hooksctl uses them where HOOKS_TOKEN is not set.\n\
                 listener {}\nadmin {}\n",
                token::mint().expose(),
                token::mint().expose()
            )
        })?;
        let find = |name: &str| {
            let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
            let found = pairs.find(|(known, _)| *known == name);
            found.map(|(_, token)| Secret::new(token.trim())).with_context(|| {
                format!("{} has no {name} token; remove the file", folder.path().join(TOKENS).display())
            })
        };
        Ok(Self { listener: find("listener")?, admin: find("admin")? })
    }
}

/// A token's ends, by which its owner knows it.
pub fn hint(token: &Secret) -> String {
    let text = token.expose();
    match (text.get(..6), text.get(text.len().saturating_sub(3)..)) {
        (Some(head), Some(tail)) if text.len() > 20 => format!("{head}…{tail}"),
        _ => "…".to_owned(),
    }
}

/// `HOOKS_SECRET_KEYS` for the services.
pub fn secret_keys(folder: &Folder) -> Result<Secret> {
    let text = folder.read_or_make(SECRET_KEYS, || format!("dev:{}\n", STANDARD.encode(random::<32>())))?;
    Ok(Secret::new(text.trim()))
}

/// Makes the demo source's secret if it is not there.
pub fn demo_secret(folder: &Folder) -> Result<()> {
    folder.read_or_make(DEMO_SECRET, || format!("whsec_{}\n", STANDARD.encode(random::<24>())))?;
    Ok(())
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_made_once() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(parent.path()).expect("open");
        let (one, two) = (Tokens::keep(&folder).expect("made"), Tokens::keep(&folder).expect("kept"));
        assert_eq!(one.listener, two.listener);
        assert_ne!(one.listener, one.admin);
        let passwords = Passwords::keep(&folder).expect("made");
        assert!(passwords.of("push_worker").is_some_and(|password| password.expose().len() == 48));
        let keys = secret_keys(&folder).expect("made");
        assert_eq!(keys, secret_keys(&folder).expect("kept"));
        assert!(keys.expose().starts_with("dev:"));
    }

    #[test]
    fn a_hint_shows_the_ends_only() {
        let token = token::mint();
        let hint = hint(&token);
        assert_eq!(hint.chars().count(), 10);
        assert!(token.expose().starts_with(&hint[..6]));
    }
}
