//! How bytes are written as text in signatures and keys.

use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Decoded bytes. The longest signature, a DER one of P-256, has room without an allocation.
pub(super) type Decoded = SmallVec<[u8; 72]>;

/// Padding may be there or not. Stray bits after the last byte are refused, so that one value has
/// one spelling and a changed character is always a changed value.
const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Hex,
    Base64,
    Base64Url,
}

impl Encoding {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "hex" => Some(Self::Hex),
            "base64" => Some(Self::Base64),
            "base64url" => Some(Self::Base64Url),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hex => "hex",
            Self::Base64 => "base64",
            Self::Base64Url => "base64url",
        }
    }

    /// The bytes, or nothing if the text is not in this encoding. Hex takes either case;
    /// base64 takes the standard alphabet, base64url both.
    pub(super) fn decode(self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Hex => hex::decode(text).ok(),
            Self::Base64 => STANDARD.decode(text).ok(),
            Self::Base64Url => STANDARD.decode(standard_alphabet(text)).ok(),
        }
    }

    /// The same into place on the stack, for what is decoded for each request.
    pub(super) fn decode_short(self, text: &[u8]) -> Option<Decoded> {
        match self {
            Self::Hex => hex_bytes(text),
            Self::Base64 => base64_bytes(text),
            Self::Base64Url => base64_bytes(&standard_alphabet(text)),
        }
    }

    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base64Url => base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        }
    }
}

/// No hex digit.
const NO_DIGIT: u8 = 0xff;

/// The value of each hex digit: a look-up costs a third of the comparisons it replaces.
const DIGITS: [u8; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut value: u8 = 0;
    while value < 16 {
        table[b"0123456789abcdef"[value as usize] as usize] = value;
        table[b"0123456789ABCDEF"[value as usize] as usize] = value;
        value += 1;
    }
    table
};

fn hex_bytes(text: &[u8]) -> Option<Decoded> {
    let (pairs, rest) = text.as_chunks::<2>();
    let mut bytes = Decoded::new();
    bytes.resize(pairs.len(), 0);
    let mut seen = 0;
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
        seen |= high | low;
        *byte = high << 4 | low & 0xf;
    }
    (rest.is_empty() && seen < 16).then_some(bytes)
}

fn base64_bytes(text: &[u8]) -> Option<Decoded> {
    let mut bytes = Decoded::new();
    bytes.resize(base64::decoded_len_estimate(text.len()), 0);
    let length = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}

fn standard_alphabet(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(|b| matches!(b, b'-' | b'_')) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.iter()
            .map(|b| match b {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::Encoding::*;

    #[test]
    fn hex_takes_either_case_and_even_length_only() {
        assert_eq!(Hex.decode(b"0aF0"), Some(vec![0x0a, 0xf0]));
        assert_eq!(Hex.decode(b"0aF"), None);
        assert_eq!(Hex.decode(b"0g"), None);
    }

    #[test]
    fn base64_padding_is_optional_and_stray_bits_are_refused() {
        assert_eq!(Base64.decode(b"a2V5cw=="), Some(b"keys".to_vec()));
        assert_eq!(Base64.decode(b"a2V5cw"), Some(b"keys".to_vec()));
        assert_eq!(Base64.decode(b"a2V5cx=="), None);
        assert_eq!(Base64.decode(b"a2V5 cw=="), None);
    }

    #[test]
    fn on_the_stack_the_same_is_decoded() {
        let long = "ab".repeat(100);
        for text in
            ["", "0aF0", "0aF", "0g", "g0", "a2V5cw==", "a2V5cw", "a2V5cx==", "a2V5 cw==", "-_8", &long]
        {
            for encoding in [Hex, Base64, Base64Url] {
                let short = encoding.decode_short(text.as_bytes()).map(|bytes| bytes.to_vec());
                assert_eq!(short, encoding.decode(text.as_bytes()), "{encoding:?} {text}");
            }
        }
    }

    #[test]
    fn only_base64url_takes_both_alphabets() {
        assert_eq!(Base64.decode(b"-_8"), None);
        assert_eq!(Base64Url.decode(b"-_8"), Some(vec![0xfb, 0xff]));
        assert_eq!(Base64Url.decode(b"+/8="), Some(vec![0xfb, 0xff]));
    }
}
