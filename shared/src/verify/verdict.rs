//! What came of checking one request.

use crate::Secret;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt;
use time::OffsetDateTime;

/// May borrow from the request it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'r> {
    /// Genuine and in time: store it.
    Ok(Verified<'r>),
    /// A provider's handshake: answer it, store nothing in the log.
    Challenge(ChallengeAnswer),
    /// Not to be stored.
    Refused(Refusal),
}

impl Verdict<'_> {
    /// The same, for longer than there is the request.
    pub fn into_owned(self) -> Verdict<'static> {
        match self {
            Self::Ok(verified) => Verdict::Ok(verified.into_owned()),
            Self::Challenge(answer) => Verdict::Challenge(answer),
            Self::Refused(refusal) => Verdict::Refused(refusal),
        }
    }

    /// The one word that logs, metrics and people are given.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok(_) => "ok",
            Self::Challenge(_) => "challenge",
            Self::Refused(refusal) => refusal.reason.word(),
        }
    }
}

/// What a genuine request says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<'r> {
    /// When the provider signed it; only if that time is covered by the signature.
    pub timestamp: Option<OffsetDateTime>,
    /// The provider's own name for this delivery, printable and at most 255 bytes.
    pub delivery_id: Option<Cow<'r, str>>,
    /// Printable and at most 255 bytes.
    pub event_type: Option<Cow<'r, str>>,
    pub dedupe: Dedupe,
}

/// What two deliveries of the same event have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dedupe {
    /// The provider names each delivery: [`Verified::delivery_id`] is the name.
    Id,
    /// All these parts together are the name.
    Ids(Vec<String>),
    /// SHA-256 of everything that was signed, a timestamp included.
    SignedContent([u8; 32]),
    /// Nothing distinguishes a repeat from a second event with the same body.
    Body,
}

impl Verified<'_> {
    fn into_owned(self) -> Verified<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Verified {
            timestamp: self.timestamp,
            delivery_id: self.delivery_id.map(owned),
            event_type: self.event_type.map(owned),
            dedupe: self.dedupe,
        }
    }

    /// SHA-256 over the kind of [`Dedupe`] and its length-prefixed parts, so that no two lists run
    /// together. `body` is the request's body as received.
    pub fn dedupe_key(&self, body: &[u8]) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        match &self.dedupe {
            Dedupe::Id => {
                part(b"id");
                part(self.delivery_id.as_deref().unwrap_or_default().as_bytes());
            }
            Dedupe::Ids(parts) => {
                part(b"id");
                parts.iter().for_each(|text| part(text.as_bytes()));
            }
            Dedupe::SignedContent(digest) => {
                part(b"signed");
                part(digest);
            }
            Dedupe::Body => {
                part(b"body");
                part(body);
            }
        }
        hash.finalize().into()
    }
}

/// The answer to a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChallengeAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// What was asked, for the record: `echo`, `fixed`, `hmac`, `store_secret`, `origin` or
    /// `subscription`.
    pub kind: &'static str,
    /// Was it signed, and the signature right? Many a handshake is only asked for.
    pub proved: bool,
    /// A secret the provider handed over: store it once, before answering.
    pub store_secret: Option<Secret>,
    /// An address to GET, host already checked, for the handshake to take effect.
    pub confirm: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub reason: Reason,
    /// One line that is safe to log: names of headers and settings, never a value that could be a
    /// secret or an expected signature.
    pub detail: String,
    /// The kind of handshake that was asked for, if it is a handshake that is refused.
    pub handshake: Option<&'static str>,
}

impl Refusal {
    pub(super) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), handshake: None }
    }

    pub(super) fn of_handshake(self, kind: &'static str) -> Self {
        Self { handshake: Some(kind), ..self }
    }

    pub(super) fn missing(what: impl fmt::Display) -> Self {
        Self::new(Reason::MissingHeader, format!("{what} is missing or empty"))
    }

    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(Reason::Malformed, detail)
    }

    pub(super) fn bad_signature(detail: impl Into<String>) -> Self {
        Self::new(Reason::BadSignature, detail)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The signature, timestamp or id is absent or empty.
    MissingHeader,
    /// Something is there that cannot be read, or twice with different values.
    Malformed,
    /// Nothing offered matches.
    BadSignature,
    /// Signed longer ago than the source allows.
    Stale,
    /// Signed further ahead than the source allows.
    Future,
    /// The sender's address is not on the list.
    IpDenied,
    /// The relay cannot check it: no secret, or no key to be had.
    ConfigError,
}

impl Reason {
    pub fn word(self) -> &'static str {
        match self {
            Self::MissingHeader => "missing_header",
            Self::Malformed => "malformed",
            Self::BadSignature => "bad_signature",
            Self::Stale => "stale",
            Self::Future => "future",
            Self::IpDenied => "ip_denied",
            Self::ConfigError => "config_error",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Longest id or event type kept as it is.
const MAX_TEXT: usize = 255;

/// Short and printable, as nearly all are: kept as it is, where it is.
fn plain(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, Cow<'_, [u8]>> {
    // No way out in the middle, so that many bytes are asked at once.
    let printable = bytes.iter().fold(true, |so_far, byte| so_far & matches!(byte, b' '..=b'~'));
    if bytes.len() > MAX_TEXT || !printable {
        return Err(bytes);
    }
    match bytes {
        Cow::Borrowed(bytes) => {
            std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| Cow::Borrowed(bytes))
        }
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|e| Cow::Owned(e.into_bytes())),
    }
}

/// An id as text: itself where it is short and printable, else a digest of it, so that it can be
/// stored, shown and compared whatever was sent.
pub(super) fn id_text(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    plain(bytes).unwrap_or_else(|bytes| {
        Cow::Owned(match std::str::from_utf8(&bytes) {
            Ok(text) if text.len() <= MAX_TEXT && !text.chars().any(char::is_control) => text.to_owned(),
            _ => format!("sha256:{}", hex::encode(Sha256::digest(&bytes))),
        })
    })
}

/// An event type as text: control characters dropped, cut to fit.
pub(super) fn type_text(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    let text = plain(bytes).unwrap_or_else(|bytes| {
        let mut text: String = String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control()).collect();
        let mut end = text.len().min(MAX_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        Cow::Owned(text)
    });
    (!text.is_empty()).then_some(text)
}
