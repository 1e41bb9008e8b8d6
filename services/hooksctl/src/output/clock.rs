//! Times as people read them.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time in RFC 3339, UTC, whole seconds.
pub fn rfc3339(at: OffsetDateTime) -> String {
    let whole = at.to_offset(time::UtcOffset::UTC).replace_nanosecond(0).unwrap_or(at);
    whole.format(&Rfc3339).unwrap_or_default()
}

/// `HH:MM:SS` on this machine's clock and in its time zone.
pub fn clock_of(at: OffsetDateTime) -> String {
    let (hour, minute, second) = local(at.unix_timestamp()).unwrap_or((at.hour(), at.minute(), at.second()));
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// Hour, minute and second in the local time zone.
fn local(unix: i64) -> Option<(u8, u8, u8)> {
    let seconds = libc::time_t::try_from(unix).ok()?;
    let mut broken_down = std::mem::MaybeUninit::<libc::tm>::uninit();
    // SAFETY: both pointers are valid for the call, and the result is read only if it was filled in.
    let filled = unsafe { !libc::localtime_r(&seconds, broken_down.as_mut_ptr()).is_null() };
    if !filled {
        return None;
    }
    // SAFETY: localtime_r has just filled it in.
    let broken_down = unsafe { broken_down.assume_init() };
    let part = |number: libc::c_int| u8::try_from(number).ok();
    Some((part(broken_down.tm_hour)?, part(broken_down.tm_min)?, part(broken_down.tm_sec)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_to_whole_seconds_and_shown_in_utc() {
        let at = time::macros::datetime!(2026-05-09 16:00:01.987654321 +2);
        assert_eq!(rfc3339(at), "2026-05-09T14:00:01Z");
    }
}
