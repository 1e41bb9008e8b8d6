//! The value of a signature header: which of its pieces are signatures, and where its time is.

use super::encoding::{Decoded, Encoding};
use super::verdict::Refusal;
use smallvec::SmallVec;

/// More candidates than any provider sends during a rotation. The rest is not looked at, so that a
/// long header cannot buy long work.
const MAX_CANDIDATES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    Space,
    At(u8),
}

impl Split {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            " " => Some(Self::Space),
            "," => Some(Self::At(b',')),
            ";" => Some(Self::At(b';')),
            _ => None,
        }
    }

    /// The non-empty pieces, trimmed.
    fn pieces(self, value: &[u8]) -> impl Iterator<Item = &[u8]> {
        let ends = move |byte: &u8| match self {
            Self::Space => byte.is_ascii_whitespace(),
            Self::At(separator) => *byte == separator,
        };
        value.split(ends).map(<[u8]>::trim_ascii).filter(|piece| !piece.is_empty())
    }

    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Space => " ",
            Self::At(b';') => ";",
            Self::At(_) => ",",
        }
    }
}

/// The shape of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Format {
    /// Fixed text, the signature, fixed text.
    Plain { before: String, after: String },
    /// `t=<time>,v1=<signature>`: the two keys.
    Keyed { time: String, signature: String },
}

impl Format {
    pub(super) fn parse(text: &str, split: Option<Split>) -> Result<Self, String> {
        if text.contains("{timestamp}") {
            return keyed(text, split);
        }
        let (before, after) = text.split_once("{sig}").ok_or("the format must have {sig} in it")?;
        if before.contains(['{', '}']) || after.contains(['{', '}']) {
            return Err("only {sig} and {timestamp} are known in a format".into());
        }
        Ok(Self::Plain { before: before.to_owned(), after: after.to_owned() })
    }

    pub(super) fn carries_time(&self) -> bool {
        matches!(self, Self::Keyed { .. })
    }

    pub(super) fn write(&self, time: &str, signature: &str, split: Option<Split>) -> String {
        match self {
            Self::Plain { before, after } => format!("{before}{signature}{after}"),
            Self::Keyed { time: t, signature: s } => {
                let separator = split.map_or(",", Split::separator);
                format!("{t}={time}{separator}{s}={signature}")
            }
        }
    }
}

fn keyed(text: &str, split: Option<Split>) -> Result<Format, String> {
    let split = split.ok_or("a format with {timestamp} needs `split`")?;
    let (mut time, mut signature) = (None, None);
    for piece in split.pieces(text.as_bytes()) {
        let piece = String::from_utf8_lossy(piece).into_owned();
        match piece.split_once('=') {
            Some((key, "{timestamp}")) if time.is_none() => time = Some(key.to_owned()),
            Some((key, "{sig}")) if signature.is_none() => signature = Some(key.to_owned()),
            _ => return Err(format!("`{piece}` should be name={{timestamp}} or name={{sig}}, each once")),
        }
    }
    match (time, signature) {
        (Some(time), Some(signature)) if time != signature => Ok(Format::Keyed { time, signature }),
        _ => Err("a format with {timestamp} has both {timestamp} and {sig}, under two names".into()),
    }
}

/// What a header held.
#[derive(Debug, Default)]
pub(super) struct Offered<'v> {
    pub(super) candidates: SmallVec<[Decoded; 1]>,
    pub(super) time: Option<&'v [u8]>,
}

/// Reads all values of the signature sources. Pieces of another version or that cannot be decoded
/// are skipped; a missing or repeated time is an error.
pub(super) fn read<'v, V: AsRef<[u8]>>(
    values: &'v [V],
    split: Option<Split>,
    format: &Format,
    encoding: Encoding,
) -> Result<Offered<'v>, Refusal> {
    let mut offered = Offered::default();
    for value in values {
        match split {
            Some(split) => {
                for piece in split.pieces(value.as_ref()) {
                    take(piece, format, encoding, &mut offered)?;
                }
            }
            None => take(value.as_ref(), format, encoding, &mut offered)?,
        }
    }
    if format.carries_time() && offered.time.is_none() {
        return Err(Refusal::malformed("the signature header has no timestamp in it"));
    }
    Ok(offered)
}

fn take<'v>(
    piece: &'v [u8],
    format: &Format,
    encoding: Encoding,
    offered: &mut Offered<'v>,
) -> Result<(), Refusal> {
    let text = match format {
        Format::Plain { before, after } => {
            piece.strip_prefix(before.as_bytes()).and_then(|rest| rest.strip_suffix(after.as_bytes()))
        }
        Format::Keyed { time, signature } => {
            let Some(at) = piece.iter().position(|b| *b == b'=') else { return Ok(()) };
            let (key, value) = (&piece[..at], &piece[at + 1..]);
            if key == time.as_bytes() && offered.time.replace(value).is_some() {
                return Err(Refusal::malformed("the signature header has two timestamps"));
            }
            (key == signature.as_bytes()).then_some(value)
        }
    };
    if offered.candidates.len() < MAX_CANDIDATES
        && let Some(bytes) = text.filter(|text| !text.is_empty()).and_then(|text| encoding.decode_short(text))
    {
        offered.candidates.push(bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The candidates and the time.
    type Read = (Vec<Vec<u8>>, Option<Vec<u8>>);

    fn stripe(value: &str) -> Result<Read, Refusal> {
        let split = Split::parse(",");
        let format = Format::parse("t={timestamp},v1={sig}", split).unwrap();
        let values = [value];
        let offered = read(&values, split, &format, Encoding::Hex)?;
        let candidates = offered.candidates.iter().map(|candidate| candidate.to_vec()).collect();
        Ok((candidates, offered.time.map(<[u8]>::to_vec)))
    }

    #[test]
    fn keyed_entries_skip_unknown_keys_and_repeat_signatures() {
        let got = stripe("v1=0a, t=12 ,v0=ff,v1=0b,junk,v1=zz").unwrap();
        assert_eq!(got, (vec![vec![0x0a], vec![0x0b]], Some(b"12".to_vec())));
    }

    #[test]
    fn the_time_of_a_keyed_header_comes_exactly_once() {
        assert!(stripe("v1=0a").is_err());
        assert!(stripe("t=1,t=1,v1=0a").is_err());
    }

    #[test]
    fn entries_of_other_versions_are_skipped() {
        let split = Split::parse(" ");
        let format = Format::parse("v1,{sig}", split).unwrap();
        let values = ["v1a,AAAA \t v1,AAAA", "v1,"];
        let got = read(&values, split, &format, Encoding::Base64).unwrap();
        assert_eq!(got.candidates[..], [Encoding::Hex.decode_short(b"000000").unwrap()]);
    }

    #[test]
    fn at_most_twenty_candidates_are_looked_at() {
        let value = ["0a"; 30].join(",");
        let split = Split::parse(",");
        let format = Format::parse("{sig}", split).unwrap();
        let values = [value];
        assert_eq!(read(&values, split, &format, Encoding::Hex).unwrap().candidates.len(), 20);
    }

    #[test]
    fn a_format_is_checked() {
        for (text, split) in [
            ("sha256=", None),
            ("t={timestamp},v1={sig}", None),
            ("{sig}{body}", None),
            ("a={sig},a={timestamp}", Split::parse(",")),
        ] {
            assert!(Format::parse(text, split).is_err(), "{text}");
        }
    }
}
