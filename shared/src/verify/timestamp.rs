//! Reading the time a request was signed at, and how far from now it may be.

use time::format_description::{BorrowedFormatItem, well_known::Rfc3339};
use time::{Duration, OffsetDateTime, PrimitiveDateTime, macros::format_description};

/// Longest digit text read as a time: an i64 with its sign.
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

    /// The time, or nothing when the text is not one, or lies outside the years 1970 to 9999
    /// that can be stored.
    pub(super) fn read(self, text: &[u8]) -> Option<OffsetDateTime> {
        let text = std::str::from_utf8(text).ok()?;
        let time = match self {
            Self::Seconds => OffsetDateTime::from_unix_timestamp(digits(text)?).ok()?,
            Self::Millis => {
                OffsetDateTime::from_unix_timestamp_nanos(i128::from(digits(text)?) * 1_000_000).ok()?
            }
            Self::Rfc3339 => OffsetDateTime::parse(text, &Rfc3339).ok()?,
            Self::HttpDate => PrimitiveDateTime::parse(text, HTTP_DATE).ok()?.assume_utc(),
        };
        let time = time.checked_to_offset(time::UtcOffset::UTC)?;
        (1970..=9999).contains(&time.year()).then_some(time)
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
fn digits(text: &str) -> Option<i64> {
    let number = text.strip_prefix('-').unwrap_or(text);
    let plain = !number.is_empty() && text.len() <= MAX_DIGITS && number.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// How old and how far ahead a signed time may be; `None` is without limit. The limit itself passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) max_age: Option<Duration>,
    pub(super) max_future: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutOfTime {
    Stale(Duration),
    Future(Duration),
}

impl Limits {
    pub(super) fn check(&self, signed_at: OffsetDateTime, now: OffsetDateTime) -> Result<(), OutOfTime> {
        let age = now - signed_at;
        if self.max_age.is_some_and(|limit| age > limit) {
            return Err(OutOfTime::Stale(age));
        }
        if self.max_future.is_some_and(|limit| -age > limit) {
            return Err(OutOfTime::Future(-age));
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
        assert_eq!(Unit::Seconds.read(b"1700000000"), Some(datetime!(2023-11-14 22:13:20 UTC)));
        for bad in ["", "-", "+1700000000", "1700000000.0", "1.7e9", " 1700000000", "123456789012345678901"] {
            assert_eq!(Unit::Seconds.read(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn times_outside_the_storable_years_are_not_read() {
        assert_eq!(Unit::Seconds.read(b"-1"), None);
        assert_eq!(Unit::Seconds.read(b"1614265330000"), None);
        assert_eq!(Unit::Rfc3339.read(b"1969-12-31T23:59:59Z"), None);
    }

    #[test]
    fn every_unit_reads_what_it_writes() {
        let at = datetime!(2023-11-14 22:13:20 UTC);
        for unit in [Unit::Seconds, Unit::Millis, Unit::Rfc3339, Unit::HttpDate] {
            assert_eq!(unit.read(unit.write(at).as_bytes()), Some(at), "{unit:?}");
        }
        assert_eq!(Unit::HttpDate.write(at), "Tue, 14 Nov 2023 22:13:20 GMT");
    }

    #[test]
    fn the_limit_itself_passes() {
        let limits = Limits { max_age: Some(Duration::seconds(300)), max_future: None };
        let at = datetime!(2023-11-14 22:13:20 UTC);
        assert_eq!(limits.check(at, at + Duration::seconds(300)), Ok(()));
        assert!(limits.check(at, at + Duration::milliseconds(300_001)).is_err());
        assert_eq!(limits.check(at + Duration::days(900), at), Ok(()));
    }
}
