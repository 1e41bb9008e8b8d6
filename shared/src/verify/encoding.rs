//! How bytes are written as text in signatures and keys.

use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;
use std::ops::Deref;

/// The longest signature there is room for: a DER one of P-256.
const LONGEST: usize = 72;

/// A decoded signature, kept without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decoded {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Decoded {
    pub(super) const EMPTY: Self = Self { bytes: [0; LONGEST], length: 0 };
}

impl Deref for Decoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl AsRef<[u8]> for Decoded {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

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

    /// The same into place, for what is decoded for each request. Nothing also for bytes longer than
    /// any signature.
    pub(super) fn decode_into(self, text: &[u8], room: &mut Decoded) -> Option<()> {
        room.length = match self {
            Self::Hex => hex_bytes(text, &mut room.bytes),
            Self::Base64 => base64_bytes(text, &mut room.bytes),
            Self::Base64Url => base64_bytes(&standard_alphabet(text), &mut room.bytes),
        }?;
        Some(())
    }

    pub(super) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base64Url => base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        }
    }
}

/// The value of a hex digit, or [`NO_HEX`]. Without a table and without a branch, so that many are read at
/// once.
fn hex_digit(character: u8) -> u8 {
    let digit = character.wrapping_sub(b'0');
    let letter = (character | 0x20).wrapping_sub(b'a');
    let digit = if digit < 10 { digit } else { NO_HEX };
    digit.min(if letter < 6 { letter + 10 } else { NO_HEX })
}

/// What is no digit: a bit that none of them has.
const NO_HEX: u8 = 0x80;

/// Returns how many bytes they are.
fn hex_bytes(text: &[u8], bytes: &mut [u8; LONGEST]) -> Option<usize> {
    let (pairs, odd) = text.as_chunks::<2>();
    let mut seen = 0;
    for (byte, pair) in bytes.get_mut(..pairs.len())?.iter_mut().zip(pairs) {
        let [high, low] = pair.map(hex_digit);
        seen |= high | low;
        *byte = high << 4 | low;
    }
    (odd.is_empty() && seen & NO_HEX == 0).then_some(pairs.len())
}

/// The value of each character of the standard alphabet at each place in a group of four, where it
/// belongs in the 24 bits of the group.
const BASE64_DIGITS: [[u32; 256]; 4] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut tables = [[NO_BASE64; 256]; 4];
    let mut place = 0;
    while place < 4 {
        let mut value = 0;
        while value < 64 {
            tables[place][alphabet[value] as usize] = (value as u32) << (18 - 6 * place);
            value += 1;
        }
        place += 1;
    }
    tables
};

/// What is no digit: outside the 24 bits.
const NO_BASE64: u32 = 1 << 24;

/// As [`STANDARD`] reads it. The library's general way costs more than hashing the signature's length
/// five times over.
fn base64_bytes(text: &[u8], bytes: &mut [u8; LONGEST]) -> Option<usize> {
    let digits = match text {
        [digits @ .., b'=', b'='] if digits.len() % 4 == 2 => digits,
        [digits @ .., b'='] if digits.len() % 4 >= 2 => digits,
        digits => digits,
    };
    let (whole, rest) = digits.as_chunks::<4>();
    let mut seen = 0;
    let mut group = |[a, b, c, d]: [u8; 4]| {
        let [first, second, third, fourth] = &BASE64_DIGITS;
        let bits =
            first[usize::from(a)] | second[usize::from(b)] | third[usize::from(c)] | fourth[usize::from(d)];
        seen |= bits;
        let [_, one, two, last] = bits.to_be_bytes();
        [one, two, last]
    };
    let (room, tail) = bytes.split_at_mut_checked(whole.len() * 3)?;
    for (three, four) in room.as_chunks_mut::<3>().0.iter_mut().zip(whole) {
        *three = group(*four);
    }
    // `A` is nought.
    let (last, more) = match *rest {
        [] => ([0; 3], 0),
        [a, b] => (group([a, b, b'A', b'A']), 1),
        [a, b, c] => (group([a, b, c, b'A']), 2),
        _ => return None,
    };
    tail.get_mut(..more)?.copy_from_slice(&last[..more]);
    let stray = last[more..].iter().any(|byte| *byte != 0);
    (seen & NO_BASE64 == 0 && !stray).then_some(whole.len() * 3 + more)
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
    use super::{Decoded, LONGEST};
    use proptest::prelude::*;

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

    fn same_on_the_stack(text: &[u8]) {
        for encoding in [Hex, Base64, Base64Url] {
            let whole = encoding.decode(text).filter(|bytes| bytes.len() <= LONGEST);
            let mut room = Decoded::EMPTY;
            let short = encoding.decode_into(text, &mut room).map(|()| room.to_vec());
            assert_eq!(short, whole, "{encoding:?} {:?}", text.escape_ascii().to_string());
        }
    }

    #[test]
    fn on_the_stack_the_same_is_decoded() {
        for length in 0..=LONGEST + 2 {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 37 + 11) as u8).collect();
            for text in [Hex.encode(&bytes), Base64.encode(&bytes), Base64Url.encode(&bytes)] {
                same_on_the_stack(text.as_bytes());
                same_on_the_stack(text.trim_end_matches('=').as_bytes());
                same_on_the_stack(text.to_uppercase().as_bytes());
                same_on_the_stack(format!("{text}=").as_bytes());
                same_on_the_stack(format!("={text}").as_bytes());
            }
        }
        for text in
            ["", "=", "==", "a=", "a==", "ab=", "abc==", "abcd=", "ab=c", "a2V5cx==", "a2V5 cw==", "-_8"]
        {
            same_on_the_stack(text.as_bytes());
        }
        // Every byte at every place of a group.
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                let mut text = *b"a2V5a2Q=";
                text[place] = byte;
                same_on_the_stack(&text);
            }
        }
    }

    proptest! {
        #[test]
        fn of_any_text_the_same_is_decoded(text in "[A-Za-z0-9+/=_-]{0,12}") {
            same_on_the_stack(text.as_bytes());
        }
    }

    #[test]
    fn only_base64url_takes_both_alphabets() {
        assert_eq!(Base64.decode(b"-_8"), None);
        assert_eq!(Base64Url.decode(b"-_8"), Some(vec![0xfb, 0xff]));
        assert_eq!(Base64Url.decode(b"+/8="), Some(vec![0xfb, 0xff]));
    }
}
