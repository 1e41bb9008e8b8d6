//! Keyed and plain digests behind one name each, so that a scheme can be told which by its table.

use hmac::{Hmac, KeyInit, Mac as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use std::ops::Deref;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            "sha384" => Some(Self::Sha384),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    pub(super) fn digest(self, bytes: &[u8]) -> Digest {
        let mut running = Running::plain(self);
        running.update(bytes);
        running.finish()
    }
}

/// A key whose two inner blocks are already hashed: a request costs a copy, not a set-up.
#[derive(Clone)]
pub(super) enum MacKey {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha384(Box<Hmac<Sha384>>),
    Sha512(Box<Hmac<Sha512>>),
}

impl std::fmt::Debug for MacKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MacKey(…)")
    }
}

fn fed<M: hmac::Mac, E>(
    mut mac: M,
    feed: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>,
) -> Result<Digest, E> {
    feed(&mut |bytes| mac.update(bytes))?;
    Ok(Digest::of(&mac.finalize().into_bytes()))
}

fn keyed<M: KeyInit>(key: &[u8]) -> M {
    M::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"))
}

impl MacKey {
    pub(super) fn new(hash: Hash, key: &[u8]) -> Self {
        match hash {
            Hash::Sha1 => Self::Sha1(keyed(key)),
            Hash::Sha256 => Self::Sha256(keyed(key)),
            Hash::Sha384 => Self::Sha384(Box::new(keyed(key))),
            Hash::Sha512 => Self::Sha512(Box::new(keyed(key))),
        }
    }

    pub(super) fn start(&self) -> Running {
        match self {
            Self::Sha1(mac) => Running::MacSha1(mac.clone()),
            Self::Sha256(mac) => Running::MacSha256(mac.clone()),
            Self::Sha384(mac) => Running::MacSha384(mac.clone()),
            Self::Sha512(mac) => Running::MacSha512(mac.clone()),
        }
    }

    pub(super) fn of(&self, bytes: &[u8]) -> Digest {
        let mut running = self.start();
        running.update(bytes);
        running.finish()
    }

    /// The MAC of all that `feed` writes. Which digest it is, is asked once and not for each piece.
    pub(super) fn of_all<E>(
        &self,
        feed: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>,
    ) -> Result<Digest, E> {
        match self {
            Self::Sha1(mac) => fed(mac.clone(), feed),
            Self::Sha256(mac) => fed(mac.clone(), feed),
            Self::Sha384(mac) => fed(Hmac::clone(mac), feed),
            Self::Sha512(mac) => fed(Hmac::clone(mac), feed),
        }
    }
}

/// A finished digest, kept without an allocation.
pub(super) struct Digest {
    bytes: [u8; 64],
    length: usize,
}

impl Digest {
    fn of(digest: &[u8]) -> Self {
        let mut bytes = [0; 64];
        bytes[..digest.len()].copy_from_slice(digest);
        Self { bytes, length: digest.len() }
    }
}

impl Deref for Digest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A digest being fed, keyed or plain.
pub(super) enum Running {
    MacSha1(Hmac<Sha1>),
    MacSha256(Hmac<Sha256>),
    MacSha384(Box<Hmac<Sha384>>),
    MacSha512(Box<Hmac<Sha512>>),
    Sha1(Sha1),
    Sha256(Sha256),
    Sha384(Box<Sha384>),
    Sha512(Box<Sha512>),
}

impl Running {
    pub(super) fn plain(hash: Hash) -> Self {
        match hash {
            Hash::Sha1 => Self::Sha1(Sha1::new()),
            Hash::Sha256 => Self::Sha256(Sha256::new()),
            Hash::Sha384 => Self::Sha384(Box::new(Sha384::new())),
            Hash::Sha512 => Self::Sha512(Box::new(Sha512::new())),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::MacSha1(mac) => mac.update(bytes),
            Self::MacSha256(mac) => mac.update(bytes),
            Self::MacSha384(mac) => mac.update(bytes),
            Self::MacSha512(mac) => mac.update(bytes),
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
            Self::Sha384(hash) => hash.update(bytes),
            Self::Sha512(hash) => hash.update(bytes),
        }
    }

    pub(super) fn finish(self) -> Digest {
        match self {
            Self::MacSha1(mac) => Digest::of(&mac.finalize().into_bytes()),
            Self::MacSha256(mac) => Digest::of(&mac.finalize().into_bytes()),
            Self::MacSha384(mac) => Digest::of(&mac.finalize().into_bytes()),
            Self::MacSha512(mac) => Digest::of(&mac.finalize().into_bytes()),
            Self::Sha1(hash) => Digest::of(&hash.finalize()),
            Self::Sha256(hash) => Digest::of(&hash.finalize()),
            Self::Sha384(hash) => Digest::of(&hash.finalize()),
            Self::Sha512(hash) => Digest::of(&hash.finalize()),
        }
    }
}
