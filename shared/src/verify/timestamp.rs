//! Reading the time a request was signed at, and how far from now it may be.

use time::format_description::{BorrowedFormatItem, well_known::Rfc3339};
use time::{Duration, OffsetDateTime, PrimitiveDateTime, macros::format_description};

/// Longest digit text read as a time: 64 bits with their sign.
const MAX_DIGITS: usize = 20;

/// The first form of RFC 9110 section 5.6.7, the only one that senders may make.
const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Rfc3339,
    HttpDate,
}

impl Unit {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "rfc3339" => Some(Self::Rfc3339),
            "http_date" => Some(Self::HttpDate),
            _ => None,
        }
    }

    /// The time, or nothing when the text is not one.
    #[inline]
    pub(super) fn read(self, text: &[u8]) -> Option<SignedTime> {
        match self {
            Self::Seconds => Some(SignedTime(Duration::seconds(digits(text)?))),
            Self::Millis => Some(SignedTime(Duration::milliseconds(digits(text)?))),
            Self::Rfc3339 | Self::HttpDate => self.read_words(text),
        }
    }

    fn read_words(self, text: &[u8]) -> Option<SignedTime> {
        let text = std::str::from_utf8(text).ok()?;
        Some(match self {
            Self::HttpDate => PrimitiveDateTime::parse(text, HTTP_DATE).ok()?.assume_utc().into(),
            _ => OffsetDateTime::parse(text, &Rfc3339).ok()?.into(),
        })
    }

    /// The time as a provider with this unit would write it.
    pub(super) fn write(self, time: OffsetDateTime) -> String {
        let time = time.to_offset(time::UtcOffset::UTC);
        match self {
            Self::Seconds => time.unix_timestamp().to_string(),
            Self::Millis => (time.unix_timestamp_nanos() / 1_000_000).to_string(),
            Self::Rfc3339 => {
                let whole = time.replace_nanosecond(0).unwrap_or(time);
                whole.format(&Rfc3339).unwrap_or_default()
            }
            Self::HttpDate => time.format(HTTP_DATE).unwrap_or_default(),
        }
    }
}

/// Plain digits with an optional minus. No plus, fraction or exponent: some libraries read those
/// and some do not, so a sender that makes them is refused everywhere alike.
/// A number beyond 64 bits is none: what it would be taken for is not what was signed.
fn digits(text: &[u8]) -> Option<i64> {
    let (negative, number) = match text {
        [b'-', number @ ..] => (true, number),
        number => (false, number),
    };
    // Nineteen digits fit 64 bits; a twentieth in front of them can only be a nought.
    let number = match number {
        [b'0', rest @ ..] if text.len() == MAX_DIGITS => rest,
        number if (1..MAX_DIGITS).contains(&number.len()) => number,
        _ => return None,
    };
    let mut value = 0u64;
    let mut odd = false;
    for character in number {
        let digit = character.wrapping_sub(b'0');
        odd |= digit > 9;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    if odd {
        return None;
    }
    if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// The last second of the year 9999.
const END_OF_9999: i64 = 253_402_300_799;

/// A time as it was signed, since 1970. It may lie further from now than a calendar reaches: digits
/// are digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignedTime(Duration);

impl From<OffsetDateTime> for SignedTime {
    fn from(time: OffsetDateTime) -> Self {
        Self(Duration::seconds(time.unix_timestamp()) + Duration::nanoseconds(time.nanosecond().into()))
    }
}

impl SignedTime {
    /// The time, if it lies in the years 1970 to 9999, which can be stored.
    pub(super) fn storable(self) -> Option<OffsetDateTime> {
        let Self(since_1970) = self;
        // The crate's calendar ends with the year 9999 unless it is told otherwise.
        let seconds =
            Some(since_1970.whole_seconds()).filter(|seconds| (0..=END_OF_9999).contains(seconds))?;
        let nanos = u32::try_from(since_1970.subsec_nanoseconds()).ok()?;
        OffsetDateTime::from_unix_timestamp(seconds).ok()?.replace_nanosecond(nanos).ok()
    }
}

/// How old and how far ahead a signed time may be; `None` is without limit. The limit itself passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) max_age: Option<Duration>,
    pub(super) max_future: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutOfTime {
    /// By this many seconds, as far as 64 bits reach.
    Stale(i64),
    Future(i64),
}

impl Limits {
    pub(super) fn check(&self, signed_at: SignedTime, now: OffsetDateTime) -> Result<(), OutOfTime> {
        let (SignedTime(signed_at), SignedTime(now)) = (signed_at, now.into());
        let (age, ahead) = (now.saturating_sub(signed_at), signed_at.saturating_sub(now));
        if self.max_age.is_some_and(|limit| age > limit) {
            return Err(OutOfTime::Stale(age.whole_seconds()));
        }
        if self.max_future.is_some_and(|limit| ahead > limit) {
            return Err(OutOfTime::Future(ahead.whole_seconds()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn seconds_are_plain_digits() {
        assert_eq!(Unit::Seconds.read(b"1700000000"), Some(datetime!(2023-11-14 22:13:20 UTC).into()));
        for bad in ["", "-", "+1700000000", "1700000000.0", "1.7e9", " 1700000000", "123456789012345678901"] {
            assert_eq!(Unit::Seconds.read(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn times_outside_the_storable_years_are_read_and_told_apart() {
        for (unit, text) in [
            (Unit::Seconds, "-1"),
            (Unit::Seconds, "1614265330000"),
            (Unit::Millis, "9223372036854775807"),
            (Unit::Rfc3339, "1969-12-31T23:59:59Z"),
            (Unit::Seconds, "253402300800"),
        ] {
            assert_eq!(unit.read(text.as_bytes()).unwrap().storable(), None, "{text}");
        }
        for text in ["0", "-0", "253402300799"] {
            assert!(Unit::Seconds.read(text.as_bytes()).unwrap().storable().is_some(), "{text}");
        }
        for (text, seconds) in [
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("00000000001700000000", 1_700_000_000),
        ] {
            assert_eq!(digits(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in
            ["9223372036854775808", "-9223372036854775809", "99999999999999999999", "18446744073709551617"]
        {
            assert_eq!(digits(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn every_unit_reads_what_it_writes() {
        let at = datetime!(2023-11-14 22:13:20 UTC);
        for unit in [Unit::Seconds, Unit::Millis, Unit::Rfc3339, Unit::HttpDate] {
            assert_eq!(unit.read(unit.write(at).as_bytes()), Some(at.into()), "{unit:?}");
        }
        assert_eq!(Unit::HttpDate.write(at), "Tue, 14 Nov 2023 22:13:20 GMT");
    }

    #[test]
    fn the_limit_itself_passes() {
        let limits = Limits { max_age: Some(Duration::seconds(300)), max_future: None };
        let at = datetime!(2023-11-14 22:13:20 UTC);
        assert_eq!(limits.check(at.into(), at + Duration::seconds(300)), Ok(()));
        assert!(limits.check(at.into(), at + Duration::milliseconds(300_001)).is_err());
        assert_eq!(limits.check((at + Duration::days(900)).into(), at), Ok(()));
        // Half a second too old, and half a second too far ahead.
        let narrow = Limits { max_age: Some(Duration::ZERO), max_future: Some(Duration::ZERO) };
        let half = Duration::milliseconds(500);
        assert_eq!(narrow.check(at.into(), at + half), Err(OutOfTime::Stale(0)));
        assert_eq!(narrow.check((at + half).into(), at), Err(OutOfTime::Future(0)));
    }

    #[test]
    fn the_furthest_times_are_out_of_every_limit() {
        let year = Some(Duration::days(365));
        let limits = Limits { max_age: year, max_future: year };
        let now = datetime!(2023-11-14 22:13:20 UTC);
        let read = |text: &str| Unit::Seconds.read(text.as_bytes()).unwrap();
        assert_eq!(limits.check(read("-9223372036854775808"), now), Err(OutOfTime::Stale(i64::MAX)));
        let ahead = i64::MAX - now.unix_timestamp();
        assert_eq!(limits.check(read("9223372036854775807"), now), Err(OutOfTime::Future(ahead)));
    }
}
