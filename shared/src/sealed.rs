//! Secrets at rest: AES-256-GCM under keys that live in the environment, not in the database. What is sealed is
//! bound to its place (row id and column), so that a sealed value copied elsewhere does not open.
//!
//! `HOOKS_SECRET_KEYS` (or the file that `HOOKS_SECRET_KEYS_FILE` names) holds `id:base64` pairs, separated by
//! commas or line ends, each 32 bytes. The first seals; all open. Rotation: put a new pair in front, seal everything
//! again, remove the old pair.

use crate::Secret;
use crate::config::Env;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngCore;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

pub const KEYS_VARIABLE: &str = "HOOKS_SECRET_KEYS";
pub const KEYS_FILE_VARIABLE: &str = "HOOKS_SECRET_KEYS_FILE";

/// First byte of every sealed value: how the rest is laid out.
const LAYOUT: u8 = 1;
const NONCE: usize = 12;

/// The keys of a process, in their order. Cheap to clone; shows only ids.
#[derive(Clone)]
pub struct Keyring(Arc<Vec<(String, Aes256Gcm)>>);

/// Where a sealed value stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub row: &'a str,
    pub column: &'a str,
}

/// Why a value does not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("it was sealed with the key `{0}`, which is not in {KEYS_VARIABLE}")]
    UnknownKey(String),
    #[error("it was changed, or sealed for another place or with another key of the same id")]
    Refused,
    #[error("it is not a sealed value")]
    Malformed,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(id, _)| id)).finish()
    }
}

impl Keyring {
    /// Reads the keys from the environment. None where neither variable is set; the error is text for people and
    /// holds no key.
    pub fn from_env(env: Env<'_>) -> Result<Option<Self>, String> {
        let set = |name: &str| env(name).filter(|text| !text.is_empty());
        let (name, text) = match (set(KEYS_VARIABLE), set(KEYS_FILE_VARIABLE)) {
            (Some(text), _) => (KEYS_VARIABLE, text),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| format!("{KEYS_FILE_VARIABLE}: `{path}` cannot be read: {error}"))?;
                (KEYS_FILE_VARIABLE, text)
            }
            (None, None) => return Ok(None),
        };
        Self::parse(&Secret::new(text)).map(Some).map_err(|message| format!("{name}: {message}"))
    }

    /// The keys, or what a service says that cannot do without.
    pub fn required(env: Env<'_>) -> Result<Self, String> {
        Self::from_env(env)?.ok_or_else(|| {
            format!(
                "neither {KEYS_VARIABLE} nor {KEYS_FILE_VARIABLE} is set: the signing secrets in the database \
                 cannot be read without; make a key with `echo k1:$(openssl rand -base64 32)`"
            )
        })
    }

    /// Reads `id:base64` pairs.
    pub fn parse(text: &Secret) -> Result<Self, String> {
        let mut keys: Vec<(String, Aes256Gcm)> = Vec::new();
        let pairs = text.expose().split([',', '\n']).map(str::trim).filter(|pair| !pair.is_empty());
        for (index, pair) in pairs.enumerate() {
            let place = index + 1;
            let (id, key) = pair.split_once(':').ok_or(format!("pair {place} is not id:base64"))?;
            let id_fits = (1..=32).contains(&id.len())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
            if !id_fits {
                return Err(format!("the id of pair {place} must be 1 to 32 letters, digits, _ or -"));
            }
            let bytes = Zeroizing::new(
                STANDARD.decode(key.trim()).map_err(|_| format!("the key `{id}` is not base64"))?,
            );
            let cipher = Aes256Gcm::new_from_slice(&bytes)
                .map_err(|_| format!("the key `{id}` has {} bytes, not 32", bytes.len()))?;
            if keys.iter().any(|(known, _)| known == id) {
                return Err(format!("the id `{id}` is there twice"));
            }
            keys.push((id.to_owned(), cipher));
        }
        if keys.is_empty() {
            return Err("holds no key".to_owned());
        }
        Ok(Self(Arc::new(keys)))
    }

    /// Makes a key pair for a fresh installation.
    pub fn mint(id: &str) -> Secret {
        let mut key = Zeroizing::new([0u8; 32]);
        rand::rng().fill_bytes(&mut *key);
        Secret::new(format!("{id}:{}", STANDARD.encode(*key)))
    }

    /// Seals a secret for its place, under the first key.
    pub fn seal(&self, secret: &Secret, place: Place<'_>) -> Vec<u8> {
        let (id, cipher) = &self.0[0];
        let mut nonce = [0u8; NONCE];
        rand::rng().fill_bytes(&mut nonce);
        let aad = place.authenticated();
        let payload = Payload { msg: secret.expose().as_bytes(), aad: &aad };
        // Encryption fails only above 64 GiB.
        let sealed = cipher.encrypt(&Nonce::from(nonce), payload).unwrap_or_default();
        let mut out = Vec::with_capacity(2 + id.len() + NONCE + sealed.len());
        out.extend_from_slice(&[LAYOUT, id.len() as u8]);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        out
    }

    /// Opens a sealed value at its place.
    pub fn open(&self, sealed: &[u8], place: Place<'_>) -> Result<Secret, OpenError> {
        let (id, rest) = split(sealed).ok_or(OpenError::Malformed)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE>().ok_or(OpenError::Malformed)?;
        let (_, cipher) = self
            .0
            .iter()
            .find(|(known, _)| known == id)
            .ok_or_else(|| OpenError::UnknownKey(id.to_owned()))?;
        let aad = place.authenticated();
        let opened = cipher
            .decrypt(&Nonce::from(*nonce), Payload { msg: text, aad: &aad })
            .map_err(|_| OpenError::Refused)?;
        String::from_utf8(opened).map(Secret::new).map_err(|_| OpenError::Malformed)
    }

    /// Whether a value is sealed under another key than the first.
    pub fn is_outdated(&self, sealed: &[u8]) -> bool {
        split(sealed).is_none_or(|(id, _)| id != self.0[0].0)
    }
}

fn split(sealed: &[u8]) -> Option<(&str, &[u8])> {
    let [LAYOUT, length, rest @ ..] = sealed else { return None };
    let (id, rest) = rest.split_at_checked(*length as usize)?;
    Some((std::str::from_utf8(id).ok()?, rest))
}

impl<'a> Place<'a> {
    /// The secret that a source's provider handed over in a handshake.
    pub fn captured(source: &'a str) -> Self {
        Self { row: source, column: "captured_secrets.sealed" }
    }

    /// Length-prefixed, so that no two places look the same.
    fn authenticated(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for part in [self.row, self.column] {
            out.extend_from_slice(&(part.len() as u32).to_be_bytes());
            out.extend_from_slice(part.as_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place<'_> = Place { row: "sub_1", column: "secret" };

    fn keys(pairs: &[&str]) -> Keyring {
        Keyring::parse(&Secret::new(pairs.join(","))).expect("good keys")
    }

    #[test]
    fn what_is_sealed_opens_only_at_its_place_and_under_its_key() {
        let (one, two) = (Keyring::mint("k1"), Keyring::mint("k2"));
        let ring = keys(&[one.expose()]);
        let sealed = ring.seal(&Secret::new("s3cret"), HERE);
        assert_eq!(ring.open(&sealed, HERE), Ok(Secret::new("s3cret")));
        for place in [Place { row: "sub_2", ..HERE }, Place { column: "previous_secret", ..HERE }] {
            assert_eq!(ring.open(&sealed, place), Err(OpenError::Refused));
        }
        assert_eq!(keys(&[two.expose()]).open(&sealed, HERE), Err(OpenError::UnknownKey("k1".into())));
        let other_key = Keyring::mint("k1");
        assert_eq!(keys(&[other_key.expose()]).open(&sealed, HERE), Err(OpenError::Refused));
        for length in 0..sealed.len() {
            assert!(ring.open(&sealed[..length], HERE).is_err());
        }
        assert!(!sealed.windows(6).any(|window| window == b"s3cret"));
    }

    #[test]
    fn a_new_key_in_front_seals_and_the_old_one_still_opens() {
        let (old, new) = (Keyring::mint("old"), Keyring::mint("new"));
        let sealed = keys(&[old.expose()]).seal(&Secret::new("x"), HERE);
        let both = keys(&[new.expose(), old.expose()]);
        assert!(both.is_outdated(&sealed));
        assert_eq!(both.open(&sealed, HERE), Ok(Secret::new("x")));
        assert!(!both.is_outdated(&both.seal(&Secret::new("x"), HERE)));
    }

    #[test]
    fn bad_keys_are_refused_without_being_repeated() {
        for text in ["", "k1", "k1:hunter2", "k1:aGk=", "k 1:aGk=", ",\n"] {
            let error = Keyring::parse(&Secret::new(text)).expect_err(text);
            assert!(!error.contains("hunter2") && !error.contains("aGk"), "{error}");
        }
        let pair = Keyring::mint("k");
        let twice = format!("{0}\n{0}\n", pair.expose());
        assert!(Keyring::parse(&Secret::new(twice)).is_err());
    }

    #[test]
    fn the_variables_are_named_when_neither_is_set() {
        let error = Keyring::required(&|_| None).expect_err("nothing set");
        assert!(error.contains(KEYS_VARIABLE) && error.contains(KEYS_FILE_VARIABLE), "{error}");
        let error = Keyring::from_env(&|name| (name == KEYS_FILE_VARIABLE).then(|| "/nowhere".into()));
        assert!(error.is_err_and(|error| error.contains("/nowhere")));
    }
}
