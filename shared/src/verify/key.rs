//! From the secret a provider shows to the bytes it signs with.

use super::encoding::Encoding;
use super::fields::Fields;
use super::mac::Hash;
use crate::Secret;
use zeroize::Zeroizing;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeySpec {
    strip_prefix: Vec<String>,
    encoding: KeyEncoding,
    hash: Option<Hash>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyEncoding {
    Text,
    Bytes(Encoding),
    /// Base64 when a prefix was removed, else the text itself (OpenAI).
    Base64IfPrefixed,
    Jwk,
}

impl KeyEncoding {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "utf8" => Some(Self::Text),
            "base64" => Some(Self::Bytes(Encoding::Base64)),
            "hex" => Some(Self::Bytes(Encoding::Hex)),
            "base64_if_prefixed" => Some(Self::Base64IfPrefixed),
            "jwk" => Some(Self::Jwk),
            _ => None,
        }
    }
}

impl KeySpec {
    pub(super) const TEXT: Self = Self { strip_prefix: Vec::new(), encoding: KeyEncoding::Text, hash: None };

    pub(super) fn hex() -> Self {
        Self { encoding: KeyEncoding::Bytes(Encoding::Hex), ..Self::TEXT }
    }

    pub(super) fn read(fields: &Fields<'_>) -> Self {
        let Some(table) = fields.table("key") else { return Self::TEXT };
        let spec = Self {
            strip_prefix: table.texts("strip_prefix").into_iter().map(str::to_owned).collect(),
            encoding: table
                .named("encoding", KeyEncoding::parse, "utf8, base64, hex, base64_if_prefixed, jwk")
                .unwrap_or(KeyEncoding::Text),
            hash: table.named("hash", Hash::parse, "sha1, sha256, sha384, sha512"),
        };
        table.finish();
        spec
    }

    pub(super) fn encoding(&self) -> KeyEncoding {
        self.encoding
    }

    /// The key bytes. The error says what is wrong without showing any of the secret.
    pub(super) fn decode(&self, secret: &Secret) -> Result<Zeroizing<Vec<u8>>, String> {
        let whole = secret.expose();
        let stripped = self.strip_prefix.iter().find_map(|prefix| whole.strip_prefix(prefix.as_str()));
        let text = stripped.unwrap_or(whole);
        if text.is_empty() {
            return Err("is empty".into());
        }
        let encoding = match self.encoding {
            KeyEncoding::Text | KeyEncoding::Jwk => None,
            KeyEncoding::Bytes(encoding) => Some(encoding),
            KeyEncoding::Base64IfPrefixed => stripped.map(|_| Encoding::Base64),
        };
        let bytes = match encoding {
            None => text.as_bytes().to_vec(),
            Some(encoding) => encoding.decode(text.as_bytes()).ok_or_else(|| self.undecodable(encoding))?,
        };
        if bytes.is_empty() {
            return Err("is empty once decoded".into());
        }
        Ok(Zeroizing::new(match self.hash {
            Some(hash) => hash.digest(&bytes).to_vec(),
            None => bytes,
        }))
    }

    fn undecodable(&self, encoding: Encoding) -> String {
        match self.strip_prefix.as_slice() {
            [] => format!("is not {}", encoding.name()),
            prefixes => format!("is not {} after its prefix ({})", encoding.name(), prefixes.join(" or ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(prefixes: &[&str], encoding: KeyEncoding) -> KeySpec {
        KeySpec { strip_prefix: prefixes.iter().map(|p| (*p).to_owned()).collect(), encoding, hash: None }
    }

    #[test]
    fn a_prefix_is_removed_once_and_in_its_own_case() {
        let base64 = spec(&["v1,whsec_", "whsec_"], KeyEncoding::Bytes(Encoding::Base64));
        for good in ["a2V5", "whsec_a2V5", "v1,whsec_a2V5"] {
            assert_eq!(base64.decode(&good.into()).unwrap().as_slice(), b"key", "{good}");
        }
        for bad in ["WHSEC_a2V5", "whsec_", "", "whsec_a2V5\n"] {
            assert!(base64.decode(&bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn without_its_prefix_an_openai_secret_is_the_text() {
        let openai = spec(&["whsec_"], KeyEncoding::Base64IfPrefixed);
        assert_eq!(openai.decode(&"whsec_a2V5".into()).unwrap().as_slice(), b"key");
        assert_eq!(openai.decode(&"a2V5".into()).unwrap().as_slice(), b"a2V5");
    }
}
