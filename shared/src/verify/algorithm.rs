//! The ways in which bytes can be signed, each with its keys.

use super::encoding::{Decoded, Encoding};
use super::key::{KeyEncoding, KeySpec};
use super::mac::{Hash, MacKey, Sink};
use super::scheme::{ALL_SECRETS_UP_TO, Context};
use super::verdict::Refusal;
use ed25519_dalek::VerifyingKey as Ed25519Key;
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use p256::ecdsa::{Signature as P256Signature, VerifyingKey as P256Key};
use p256::pkcs8::DecodePublicKey as _;
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};
use zeroize::Zeroizing;

/// A shorter key can be guessed. Standard Webhooks asks for 24 to 64 bytes.
const SHORT_KEY: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Hmac,
    Hash,
    Ed25519,
    EcdsaP256,
}

impl Kind {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "hmac" => Some(Self::Hmac),
            "hash" => Some(Self::Hash),
            "ed25519" => Some(Self::Ed25519),
            "ecdsa_p256_sha256" => Some(Self::EcdsaP256),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Algorithm {
    Hmac(Hash, Vec<MacKey>),
    /// A plain digest; the template puts the secret into it.
    Hash(Hash, Vec<Zeroizing<Vec<u8>>>),
    Ed25519(Vec<Ed25519Key>),
    EcdsaP256(Vec<P256Key>),
}

impl Algorithm {
    pub(super) fn compile(kind: Kind, context: &Context<'_>) -> Option<Self> {
        let fields = context.fields;
        let hash = fields.named("algorithm", Hash::parse, "sha1, sha256, sha384, sha512");
        let spec = KeySpec::read(fields);
        context.require_secret();
        refuse_confusion(kind, context);
        if spec.encoding() == KeyEncoding::Jwk {
            fields.fault("key", "`jwk` is for type jws");
            return None;
        }
        let keys = context.keys(&spec);
        let hash = hash.unwrap_or(Hash::Sha256);
        Some(match kind {
            Kind::Hmac => {
                if keys.iter().any(|key| key.len() < SHORT_KEY) {
                    fields.report().warn(format!("a secret is shorter than {SHORT_KEY} bytes"));
                }
                Self::Hmac(hash, keys.iter().map(|key| MacKey::new(hash, key)).collect())
            }
            Kind::Hash => Self::Hash(hash, keys),
            Kind::Ed25519 => Self::Ed25519(public_keys(context, &keys, ed25519_key)),
            Kind::EcdsaP256 => Self::EcdsaP256(public_keys(context, &keys, p256_key)),
        })
    }

    pub(super) fn has_key(&self) -> bool {
        match self {
            Self::Hmac(_, keys) => !keys.is_empty(),
            Self::Hash(_, keys) => !keys.is_empty(),
            Self::Ed25519(keys) => !keys.is_empty(),
            Self::EcdsaP256(keys) => !keys.is_empty(),
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Hmac(hash, _) => format!("HMAC-{}", hash.name().to_uppercase()),
            Self::Hash(hash, _) => format!("plain {}", hash.name().to_uppercase()),
            Self::Ed25519(_) => "Ed25519".into(),
            Self::EcdsaP256(_) => "ECDSA P-256 SHA-256".into(),
        }
    }

    /// Does any candidate match the text that `feed` writes, given the secret, under any key? Digests
    /// are compared in constant time, and all candidates are gone through. `length` is about that of
    /// the text.
    pub(super) fn matches(
        &self,
        candidates: &[Decoded],
        length: usize,
        feed: impl Fn(&[u8], &mut Sink<'_>) -> Result<(), Refusal>,
    ) -> Result<bool, Refusal> {
        match self {
            Self::Hmac(_, keys) => {
                any_key(keys, length, |key| Ok(equal(candidates, &key.of_all(|sink| feed(b"", sink))?)))
            }
            Self::Hash(hash, secrets) => any_key(secrets, length, |secret| {
                Ok(equal(candidates, &hash.of_all(|sink| feed(secret, sink))?))
            }),
            Self::Ed25519(keys) => {
                let mut message = Vec::new();
                feed(b"", &mut |bytes| message.extend_from_slice(bytes))?;
                Ok(pairs(keys, candidates).any(|(key, candidate)| {
                    ed25519_dalek::Signature::from_slice(candidate)
                        .is_ok_and(|signature| key.verify_strict(&message, &signature).is_ok())
                }))
            }
            Self::EcdsaP256(keys) => {
                let mut hash = Sha256::new();
                feed(b"", &mut |bytes| hash.update(bytes))?;
                let digest = hash.finalize();
                Ok(pairs(keys, candidates).any(|(key, candidate)| {
                    P256Signature::from_der(candidate)
                        .is_ok_and(|signature| key.verify_prehash(&digest, &signature).is_ok())
                }))
            }
        }
    }
}

fn any_key<K>(
    keys: &[K],
    length: usize,
    mut attempt: impl FnMut(&K) -> Result<Choice, Refusal>,
) -> Result<bool, Refusal> {
    let mut found = Choice::from(0);
    for key in keys {
        found |= attempt(key)?;
        if length > ALL_SECRETS_UP_TO && bool::from(found) {
            break;
        }
    }
    Ok(found.into())
}

pub(super) fn equal(candidates: &[impl AsRef<[u8]>], expected: &[u8]) -> Choice {
    candidates.iter().fold(Choice::from(0), |found, candidate| found | same(candidate.as_ref(), expected))
}

/// Constant time for texts of one length. Eight bytes at a time: byte by byte it costs as much as
/// hashing a hundred.
fn same(a: &[u8], b: &[u8]) -> Choice {
    if a.len() != b.len() {
        return Choice::from(0);
    }
    let ((wide_a, rest_a), (wide_b, rest_b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let wide = wide_a.iter().zip(wide_b);
    let differing = wide.fold(0, |seen, (a, b)| seen | (u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b)));
    differing.ct_eq(&0) & rest_a.ct_eq(rest_b)
}

fn pairs<'p, K>(keys: &'p [K], candidates: &'p [Decoded]) -> impl Iterator<Item = (&'p K, &'p Decoded)> {
    keys.iter().flat_map(move |key| candidates.iter().map(move |candidate| (key, candidate)))
}

/// A public key taken for a shared secret, or the other way round, would let anyone sign.
fn refuse_confusion(kind: Kind, context: &Context<'_>) {
    for (number, secret) in context.secrets.iter().enumerate() {
        let text = secret.expose();
        let message = match kind {
            Kind::Hmac | Kind::Hash if text.starts_with("whpk_") => {
                "is a public key (whpk_), which must not be used as a shared secret"
            }
            Kind::Ed25519 | Kind::EcdsaP256 if text.starts_with("whsec_") => {
                "is a shared secret (whsec_), where a public key is needed"
            }
            _ => continue,
        };
        context.fields.report().fault(format!("secrets[{number}]"), message);
    }
}

fn public_keys<K>(
    context: &Context<'_>,
    keys: &[Zeroizing<Vec<u8>>],
    parse: impl Fn(&[u8]) -> Option<K>,
) -> Vec<K> {
    let mut parsed = Vec::new();
    for (number, bytes) in keys.iter().enumerate() {
        match parse(bytes) {
            Some(key) => parsed.push(key),
            None => context
                .fields
                .report()
                .fault(format!("secrets[{number}]"), "is not a public key of this type"),
        }
    }
    parsed
}

fn ed25519_key(bytes: &[u8]) -> Option<Ed25519Key> {
    let key = Ed25519Key::from_bytes(bytes.try_into().ok()?).ok()?;
    (!key.is_weak()).then_some(key)
}

/// SubjectPublicKeyInfo: DER bytes, DER in base64 (as SendGrid shows it), or PEM.
fn p256_key(bytes: &[u8]) -> Option<P256Key> {
    if let Ok(key) = P256Key::from_public_key_der(bytes) {
        return Some(key);
    }
    let text: String = std::str::from_utf8(bytes)
        .ok()?
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .flat_map(|line| line.chars().filter(|c| !c.is_whitespace()))
        .collect();
    P256Key::from_public_key_der(&Encoding::Base64.decode(text.as_bytes())?).ok()
}
