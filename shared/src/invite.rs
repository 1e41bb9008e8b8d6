//! Invite codes, as the inspector and `hooksctl admin init` make them: 16 characters of base 32 (80 random bits),
//! shown once and stored as their SHA-256.

use crate::Secret;
use rand::RngCore;
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A new code, in groups of four.
pub fn mint() -> Secret {
    let mut bytes = [0u8; 16];
    rand::rng().fill_bytes(&mut bytes);
    let letters: Vec<u8> = bytes.iter().map(|byte| ALPHABET[usize::from(byte & 31)]).collect();
    let groups: Vec<&str> = letters.chunks(4).filter_map(|group| std::str::from_utf8(group).ok()).collect();
    Secret::new(groups.join("-"))
}

/// What is stored of a code. Case and dashes do not count.
pub fn hash(code: &str) -> Vec<u8> {
    let letters: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
    Sha256::digest(letters.to_ascii_uppercase().as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_the_same_however_it_is_typed() {
        let code = mint();
        assert_eq!(code.expose().len(), 19);
        let typed = code.expose().to_lowercase().replace('-', " ");
        assert_eq!(hash(&typed), hash(code.expose()));
        assert_ne!(code, mint());
    }
}
