//! Name and value pairs of a query or a form body, decoded to bytes.

use percent_encoding::percent_decode;
use std::borrow::Cow;

pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// More pairs than any provider sends.
const MAX_PAIRS: usize = 10_000;

/// Splits at `&`, then at the first `=`; `+` is a space, `%xx` a byte; a broken escape stays as it
/// is. A text of too many pairs has none: were some left out, they would not be checked either.
pub(super) fn pairs(text: &[u8]) -> Vec<Pair> {
    if text.iter().filter(|b| **b == b'&').count() >= MAX_PAIRS {
        return Vec::new();
    }
    text.split(|b| *b == b'&').filter(|piece| !piece.is_empty()).map(pair).collect()
}

fn pair(piece: &[u8]) -> Pair {
    match piece.iter().position(|b| *b == b'=') {
        Some(at) => (decode(&piece[..at]), decode(&piece[at + 1..])),
        None => (decode(piece), Vec::new()),
    }
}

pub(super) fn decode(text: &[u8]) -> Vec<u8> {
    let spaced: Cow<'_, [u8]> = if text.contains(&b'+') {
        Cow::Owned(text.iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect())
    } else {
        Cow::Borrowed(text)
    };
    percent_decode(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use super::pairs;

    #[test]
    fn pairs_are_split_and_decoded() {
        let got = pairs(b"a=1+2&b=%2B%zz&&c&d==x");
        let want: Vec<(&[u8], &[u8])> = vec![(b"a", b"1 2"), (b"b", b"+%zz"), (b"c", b""), (b"d", b"=x")];
        let got: Vec<(&[u8], &[u8])> = got.iter().map(|(a, b)| (a.as_slice(), b.as_slice())).collect();
        assert_eq!(got, want);
    }
}
