//! When a delivery is tried again: the schedule, its jitter, and what the receiver asked for.

use hooks_shared::config::RetrySchedule;
use rand::Rng;
use std::time::Duration;
use time::OffsetDateTime;

/// The longest wait that a receiver can ask for.
pub const LONGEST_ASKED: Duration = Duration::from_secs(24 * 3600);
/// How far a wait may lie from the schedule, as a fraction: many deliveries that failed together come back apart.
const JITTER: f64 = 0.1;

/// Why a delivery is due when it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    Schedule,
    RetryAfter,
}

impl Because {
    pub fn as_str(self) -> &'static str {
        match self {
            Because::Schedule => "schedule",
            Because::RetryAfter => "retry_after",
        }
    }
}

/// The wait after the `made`-th attempt of a cycle, or None when the allowance is spent. A receiver's `Retry-After`
/// can make it longer, never shorter.
pub fn wait(schedule: &RetrySchedule, made: u32, asked: Option<Duration>) -> Option<(Duration, Because)> {
    let scheduled = schedule.wait_after(made)?;
    let scheduled = scheduled.mul_f64(1.0 + rand::rng().random_range(-JITTER..=JITTER));
    Some(match asked.map(|asked| asked.min(LONGEST_ASKED)) {
        Some(asked) if asked > scheduled => (asked, Because::RetryAfter),
        _ => (scheduled, Because::Schedule),
    })
}

/// Reads `Retry-After` (RFC 9110 section 10.2.3): seconds, or an HTTP date in any of its three forms. None where it is neither.
pub fn retry_after(value: &str, now: OffsetDateTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit are more than a day as well.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX / 2)));
    }
    let at = OffsetDateTime::from(httpdate::parse_http_date(value).ok()?);
    Some(Duration::try_from(at - now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn waits_stay_within_a_tenth_of_the_schedule_and_end_with_it() {
        let schedule = RetrySchedule::default();
        for (index, expected) in schedule.waits().iter().enumerate() {
            for _ in 0..50 {
                let (wait, because) = wait(&schedule, index as u32 + 1, None).expect("an allowance");
                assert!(wait >= expected.mul_f64(0.899) && wait <= expected.mul_f64(1.101), "{wait:?}");
                assert_eq!(because, Because::Schedule);
            }
        }
        assert_eq!(wait(&schedule, schedule.max_attempts(), None), None);
        assert_eq!(wait(&schedule, u32::MAX, Some(Duration::MAX)), None);
    }

    #[test]
    fn what_the_receiver_asks_only_lengthens_and_is_clamped() {
        let schedule = RetrySchedule::default();
        let asked = |seconds| wait(&schedule, 1, Some(Duration::from_secs(seconds))).expect("an allowance");
        assert_eq!(asked(120), (Duration::from_secs(120), Because::RetryAfter));
        assert_eq!(asked(99_999_999), (LONGEST_ASKED, Because::RetryAfter));
        assert_eq!(asked(1).1, Because::Schedule);
    }

    #[test]
    fn every_form_of_retry_after_are_read_and_garbage_is_not() {
        let now = datetime!(2030-01-01 00:00 UTC);
        let read = |text| retry_after(text, now);
        assert_eq!(read(" 120 "), Some(Duration::from_secs(120)));
        assert_eq!(read("Tue, 01 Jan 2030 00:10:00 GMT"), Some(Duration::from_secs(600)));
        assert_eq!(read("Tuesday, 01-Jan-30 00:10:00 GMT"), Some(Duration::from_secs(600)));
        assert_eq!(read("Tue Jan  1 00:10:00 2030"), Some(Duration::from_secs(600)));
        assert_eq!(read("Mon, 31 Dec 2029 00:10:00 GMT"), Some(Duration::ZERO));
        assert!(read("99999999999999999999999").is_some_and(|wait| wait > LONGEST_ASKED));
        for text in ["", "soon", "-5", "1.5", "Tue, 99 Jan 2030"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
