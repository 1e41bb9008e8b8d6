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
    pub(super) fn read(self, text: &[u8]) -> Option<SignedTime> {
        let words = || std::str::from_utf8(text).ok();
        Some(match self {
            Self::Seconds => SignedTime { seconds: digits(text)?, nanos: 0 },
            Self::Millis => SignedTime::from_millis(digits(text)?),
            Self::Rfc3339 => OffsetDateTime::parse(words()?, &Rfc3339).ok()?.into(),
            Self::HttpDate => PrimitiveDateTime::parse(words()?, HTTP_DATE).ok()?.assume_utc().into(),
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
    if number.is_empty() || text.len() > MAX_DIGITS {
        return None;
    }
    // Nineteen digits fit 64 bits; a twentieth in front of them can only be a nought.
    let (leading, rest) = number.split_at(number.len().saturating_sub(19));
    let mut odd = false;
    let mut value = |digits: &[u8]| {
        digits.iter().fold(0u64, |value, character| {
            let digit = character.wrapping_sub(b'0');
            odd |= digit > 9;
            value.wrapping_mul(10).wrapping_add(u64::from(digit))
        })
    };
    let (leading, rest) = (value(leading), value(rest));
    if odd || leading != 0 {
        return None;
    }
    if negative { 0i64.checked_sub_unsigned(rest) } else { i64::try_from(rest).ok() }
}

/// In a second.
const NANOS: i128 = 1_000_000_000;

/// The last second of the year 9999.
const END_OF_9999: i64 = 253_402_300_799;

/// A time as it was signed, since 1970. It may lie further from now than a calendar reaches: digits
/// are digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignedTime {
    seconds: i64,
    /// Always forward from `seconds`.
    nanos: u32,
}

impl From<OffsetDateTime> for SignedTime {
    fn from(time: OffsetDateTime) -> Self {
        Self { seconds: time.unix_timestamp(), nanos: time.nanosecond() }
    }
}

impl SignedTime {
    fn from_millis(millis: i64) -> Self {
        let nanos = u32::try_from(millis.rem_euclid(1000) * 1_000_000).unwrap_or(0);
        Self { seconds: millis.div_euclid(1000), nanos }
    }

    /// Nanoseconds since 1970.
    fn nanoseconds(self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    /// The time, if it lies in the years 1970 to 9999, which can be stored.
    pub(super) fn storable(self) -> Option<OffsetDateTime> {
        // The crate's calendar ends with the year 9999 unless it is told otherwise.
        let time = (0..=END_OF_9999).contains(&self.seconds).then_some(self.seconds)?;
        OffsetDateTime::from_unix_timestamp(time).ok()?.replace_nanosecond(self.nanos).ok()
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
    /// By this many seconds.
    Stale(i128),
    Future(i128),
}

impl Limits {
    pub(super) fn check(&self, signed_at: SignedTime, now: OffsetDateTime) -> Result<(), OutOfTime> {
        let age = SignedTime::from(now).nanoseconds() - signed_at.nanoseconds();
        if self.max_age.is_some_and(|limit| age > limit.whole_nanoseconds()) {
            return Err(OutOfTime::Stale(age / NANOS));
        }
        if self.max_future.is_some_and(|limit| -age > limit.whole_nanoseconds()) {
            return Err(OutOfTime::Future(-age / NANOS));
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
    }
}
