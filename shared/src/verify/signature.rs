//! The value of a signature header: which of its pieces are signatures, and where its time is.

use super::encoding::{Decoded, Encoding};
use super::verdict::Refusal;
use smallvec::SmallVec;
use std::borrow::Cow;

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

    /// Hands on each non-empty piece, trimmed.
    fn pieces<'v>(
        self,
        value: &'v [u8],
        mut each: impl FnMut(&'v [u8]) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut rest = value;
        // Nearly always one piece: that there is no white space at all, many bytes can be asked at once.
        let whole =
            matches!(self, Self::Space) && value.iter().fold(true, |none, byte| none & (*byte > b' '));
        loop {
            let end = match self {
                Self::Space if whole => None,
                Self::Space => rest.iter().position(u8::is_ascii_whitespace),
                Self::At(separator) => memchr::memchr(separator, rest),
            };
            let piece = rest[..end.unwrap_or(rest.len())].trim_ascii();
            if !piece.is_empty() {
                each(piece)?;
            }
            match end {
                Some(end) => rest = &rest[end + 1..],
                None => return Ok(()),
            }
        }
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
    /// `t=<time>,v1=<signature>`: the two keys, each with its `=`.
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
                format!("{t}{time}{separator}{s}{signature}")
            }
        }
    }
}

fn keyed(text: &str, split: Option<Split>) -> Result<Format, String> {
    let split = split.ok_or("a format with {timestamp} needs `split`")?;
    let (mut time, mut signature) = (None, None);
    let separator = split.separator();
    for piece in text.split(separator).map(str::trim).filter(|piece| !piece.is_empty()) {
        match piece.split_once('=') {
            Some((key, "{timestamp}")) if time.is_none() => time = Some(format!("{key}=")),
            Some((key, "{sig}")) if signature.is_none() => signature = Some(format!("{key}=")),
            _ => return Err(format!("`{piece}` should be name={{timestamp}} or name={{sig}}, each once")),
        }
    }
    match (time, signature) {
        (Some(time), Some(signature)) if time != signature => Ok(Format::Keyed { time, signature }),
        _ => Err("a format with {timestamp} has both {timestamp} and {sig}, under two names".into()),
    }
}

/// What the signature sources held.
#[derive(Debug, Default)]
pub(super) struct Offered<'v> {
    pub(super) candidates: SmallVec<[Decoded; 1]>,
    pub(super) time: Option<Cow<'v, [u8]>>,
}

/// How signature sources are read.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) split: Option<Split>,
    pub(super) format: Format,
    pub(super) encoding: Encoding,
}

impl Shape {
    /// Reads one value of a signature source. Pieces of another version or that cannot be decoded are
    /// skipped; a second time is an error.
    pub(super) fn read<'v>(&self, value: Cow<'v, [u8]>, offered: &mut Offered<'v>) -> Result<(), Refusal> {
        match value {
            Cow::Borrowed(value) => self.each(value, offered, Cow::Borrowed),
            Cow::Owned(value) => self.each(&value, offered, |time| Cow::Owned(time.to_vec())),
        }
    }

    fn each<'p, 'v>(
        &self,
        value: &'p [u8],
        offered: &mut Offered<'v>,
        keep: impl Fn(&'p [u8]) -> Cow<'v, [u8]>,
    ) -> Result<(), Refusal> {
        let mut take = |piece: &'p [u8]| {
            let text = match &self.format {
                Format::Plain { before, after } => {
                    piece.strip_prefix(before.as_bytes()).and_then(|rest| rest.strip_suffix(after.as_bytes()))
                }
                Format::Keyed { time, signature } => {
                    if let Some(value) = piece.strip_prefix(time.as_bytes())
                        && offered.time.replace(keep(value)).is_some()
                    {
                        return Err(Refusal::malformed("the signature header has two timestamps"));
                    }
                    piece.strip_prefix(signature.as_bytes())
                }
            };
            if let Some(text) = text
                && !text.is_empty()
                && offered.candidates.len() < MAX_CANDIDATES
            {
                // Into place: it is large to move.
                offered.candidates.push(Decoded::EMPTY);
                let room = offered.candidates.last_mut();
                if room.and_then(|room| self.encoding.decode_into(text, room)).is_none() {
                    offered.candidates.pop();
                }
            }
            Ok(())
        };
        match self.split {
            Some(split) => split.pieces(value, take),
            None => take(value),
        }
    }

    /// All values have been read: a time that belongs among them is there.
    pub(super) fn check(&self, offered: &Offered<'_>) -> Result<(), Refusal> {
        if self.format.carries_time() && offered.time.is_none() {
            return Err(Refusal::malformed("the signature header has no timestamp in it"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(format: &str, split: Option<&str>, encoding: Encoding) -> Shape {
        let split = split.and_then(Split::parse);
        Shape { split, format: Format::parse(format, split).unwrap(), encoding }
    }

    /// The candidates and the time.
    type Read = (Vec<Vec<u8>>, Option<Vec<u8>>);

    fn read(shape: &Shape, values: &[&str]) -> Result<Read, Refusal> {
        let mut offered = Offered::default();
        for value in values {
            shape.read(value.as_bytes().into(), &mut offered)?;
        }
        shape.check(&offered)?;
        let candidates = offered.candidates.iter().map(|candidate| candidate.to_vec()).collect();
        Ok((candidates, offered.time.map(Cow::into_owned)))
    }

    fn stripe(value: &str) -> Result<Read, Refusal> {
        read(&shape("t={timestamp},v1={sig}", Some(","), Encoding::Hex), &[value])
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
        let shape = shape("v1,{sig}", Some(" "), Encoding::Base64);
        let (candidates, _) = read(&shape, &["v1a,AAAA \t v1,AAAA", "v1,"]).unwrap();
        assert_eq!(candidates, [[0, 0, 0]]);
    }

    #[test]
    fn at_most_twenty_candidates_are_looked_at() {
        let shape = shape("{sig}", Some(","), Encoding::Hex);
        assert_eq!(read(&shape, &[&["0a"; 30].join(",")]).unwrap().0.len(), 20);
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
