//! Points in time and positions as people type them.

use crate::stream::Start;
use hooks_shared::config::parse_duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// `--since`: a sequence number or `latest`.
pub fn parse_since(text: &str) -> Result<Start, String> {
    if text == "latest" {
        return Ok(Start::Latest);
    }
    match text.parse::<i64>() {
        Ok(sequence) if sequence >= 0 => Ok(Start::After(sequence)),
        _ => Err(format!(
            "`{text}` is not a cursor: write the sequence number after which to start (0 for all), or `latest`"
        )),
    }
}

/// `--last`: a duration.
pub fn parse_last(text: &str) -> Result<std::time::Duration, String> {
    match parse_duration(text)? {
        last if last.is_zero() => Err("must be longer than 0".to_owned()),
        last => Ok(last),
    }
}

/// `--from`, `--to`: RFC 3339, or how long ago.
pub fn parse_moment(text: &str) -> Result<String, String> {
    if let Ok(at) = OffsetDateTime::parse(text, &Rfc3339) {
        return written(at);
    }
    let ago = parse_duration(text).map_err(|_| {
        format!("`{text}` is not a time: write one such as 2026-05-09T14:00:00Z, or how long ago, such as 2h")
    })?;
    written(OffsetDateTime::now_utc() - ago)
}

pub fn ago(duration: std::time::Duration) -> Result<String, String> {
    written(OffsetDateTime::now_utc() - duration)
}

fn written(at: OffsetDateTime) -> Result<String, String> {
    at.to_offset(time::UtcOffset::UTC).format(&Rfc3339).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_numbers_or_latest() {
        assert_eq!(parse_since("0"), Ok(Start::After(0)));
        assert_eq!(parse_since("latest"), Ok(Start::Latest));
        for bad in ["", "-1", "1.5", "newest", "99999999999999999999"] {
            assert!(parse_since(bad).is_err_and(|why| why.contains("latest")), "{bad}");
        }
    }

    #[test]
    fn moments_are_times_or_durations_before_now() {
        assert_eq!(parse_moment("2026-05-09T16:00:00+02:00").as_deref(), Ok("2026-05-09T14:00:00Z"));
        assert!(parse_moment("2h").is_ok());
        assert!(parse_moment("yesterday").is_err());
    }
}
