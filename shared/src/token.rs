//! Bearer tokens: `hk_` and 32 random bytes, stored only as the SHA-256 of the text. A token has so much
//! randomness that a fast hash is safe, and finding one is a single index look-up.

use crate::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::RngCore;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// What a token is for; the two kinds never stand in for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// Listens to the sources in its scopes.
    Listener,
    /// A person's or program's access to the API.
    Pat,
}

impl TokenKind {
    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Listener => "listener",
            TokenKind::Pat => "pat",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "listener" => Some(TokenKind::Listener),
            "pat" => Some(TokenKind::Pat),
            _ => None,
        }
    }
}

/// The scope that opens the operators' API and page.
pub const ADMIN_SCOPE: &str = "admin";

/// For how long a token that ends may live: a year.
pub const LONGEST_LIFE: Duration = Duration::from_secs(365 * 86_400);

/// Makes a new token. The text is shown once and never stored.
pub fn mint() -> Secret {
    let mut bytes = [0u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    Secret::new(format!("hk_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// What is stored of a token: the SHA-256 of its text.
pub fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// The token of an `Authorization` header value, if it is a bearer token of plausible length.
pub fn from_authorization(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let (scheme, token) = text.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= 512).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_random_and_hashes_to_32_bytes() {
        let (one, two) = (mint(), mint());
        assert_ne!(one, two);
        assert_eq!(one.expose().len(), 46);
        assert_eq!(hash(one.expose()).len(), 32);
    }

    #[test]
    fn only_bearer_values_carry_a_token() {
        assert_eq!(from_authorization(b"Bearer hk_x"), Some("hk_x"));
        assert_eq!(from_authorization(b"bearer  hk_x "), Some("hk_x"));
        for value in [&b"Basic hk_x"[..], b"Bearer ", b"hk_x", b"Bearer \xff", b""] {
            assert_eq!(from_authorization(value), None);
        }
    }
}
