//! Keyed and plain digests behind one name each, so that a scheme can be told which by its table.

use hmac::digest::{FixedOutputReset, Update};
// The kind that can be used again is finished where it is; the plain one is copied twice on the way.
use hmac::HmacReset as Hmac;
use hmac::KeyInit;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};
use std::convert::Infallible;
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
        let Ok(digest) = self.of_all(|sink| only(bytes, sink));
        digest
    }

    /// The digest of all that `feed` writes. Which one it is, is asked once and not for each piece.
    pub(super) fn of_all<E>(self, feed: impl FnOnce(&mut Sink<'_>) -> Result<(), E>) -> Result<Digest, E> {
        match self {
            Self::Sha1 => fed(Sha1::default(), feed),
            Self::Sha256 => fed(Sha256::default(), feed),
            Self::Sha384 => fed(Sha384::default(), feed),
            Self::Sha512 => fed(Sha512::default(), feed),
        }
    }
}

/// Where the pieces of a text go.
pub(super) type Sink<'s> = dyn FnMut(&[u8]) + 's;

fn only(bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), Infallible> {
    sink(bytes);
    Ok(())
}

fn fed<D: FixedOutputReset + Update, E>(
    mut digest: D,
    feed: impl FnOnce(&mut Sink<'_>) -> Result<(), E>,
) -> Result<Digest, E> {
    feed(&mut |bytes| digest.update(bytes))?;
    Ok(Digest::of(&digest.finalize_fixed_reset()))
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

    pub(super) fn of(&self, bytes: &[u8]) -> Digest {
        let Ok(digest) = self.of_all(|sink| only(bytes, sink));
        digest
    }

    /// The MAC of all that `feed` writes.
    pub(super) fn of_all<E>(&self, feed: impl FnOnce(&mut Sink<'_>) -> Result<(), E>) -> Result<Digest, E> {
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
