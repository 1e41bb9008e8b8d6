//! Public keys written as JSON (RFC 7517), chosen by their id.

use super::encoding::Encoding;
use p256::Sec1Point;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::Value;
use time::OffsetDateTime;

#[derive(Debug, Clone)]
pub(super) struct Jwk {
    id: Option<String>,
    /// Seconds since 1970; Plaid says when a key has ended.
    expired_at: Option<i64>,
    key: VerifyingKey,
}

impl Jwk {
    /// Reads a P-256 key; anything else is nothing.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        if text("kty") != Some("EC") || text("crv") != Some("P-256") {
            return None;
        }
        let coordinate = |name: &str| -> Option<[u8; 32]> {
            Encoding::Base64Url.decode(text(name)?.as_bytes())?.try_into().ok()
        };
        let point =
            Sec1Point::from_affine_coordinates(&coordinate("x")?.into(), &coordinate("y")?.into(), false);
        Some(Self {
            id: text("kid").map(str::to_owned),
            expired_at: value.get("expired_at").and_then(Value::as_i64),
            key: VerifyingKey::from_sec1_point(&point).ok()?,
        })
    }

    pub(super) fn is(&self, kid: &str) -> bool {
        self.id.as_deref() == Some(kid)
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &Signature) -> bool {
        self.key.verify(message, signature).is_ok()
    }

    /// May a token that names this id be signed with the key now?
    pub(super) fn fits(&self, kid: Option<&str>, now: OffsetDateTime) -> bool {
        let named = match (&self.id, kid) {
            (Some(own), Some(asked)) => own == asked,
            _ => true,
        };
        named && self.expired_at.is_none_or(|end| now.unix_timestamp() < end)
    }
}
