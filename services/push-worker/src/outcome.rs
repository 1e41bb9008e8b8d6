//! What an attempt came to, and what follows from it (README.md, "Outcomes"). Pure: no clock, no database.

use crate::backoff::{self, Because};
use hooks_shared::config::RetrySchedule;
use std::time::Duration;

/// Longest error text that is kept, in characters.
const ERROR_LIMIT: usize = 500;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A 2xx status line; what becomes of the body does not matter.
    Succeeded,
    /// 410: the receiver wants no more.
    Gone,
    /// Any other answer, redirects included.
    HttpError,
    /// A timeout of a part, or the total deadline.
    Timeout,
    /// Refused, reset, no such name, TLS.
    NetworkError,
    /// The policy does not permit the destination.
    Blocked,
    /// No request could be made of it: an unreadable URL, a header that will not encode, a fault of ours.
    Unsendable,
}

impl Outcome {
    pub const ALL: [Outcome; 7] = [
        Outcome::Succeeded,
        Outcome::Gone,
        Outcome::HttpError,
        Outcome::Timeout,
        Outcome::NetworkError,
        Outcome::Blocked,
        Outcome::Unsendable,
    ];

    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Gone => "gone",
            Outcome::HttpError => "http_error",
            Outcome::Timeout => "timeout",
            Outcome::NetworkError => "network_error",
            Outcome::Blocked => "blocked",
            Outcome::Unsendable => "unsendable",
        }
    }

    pub fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Outcome::Succeeded,
            410 => Outcome::Gone,
            _ => Outcome::HttpError,
        }
    }

    /// The receiver could not be reached or did not answer in time: what opens the circuit.
    pub fn is_strike(self) -> bool {
        matches!(self, Outcome::Timeout | Outcome::NetworkError)
    }
}

/// What the owner of the claim does with the delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// Due again after this wait, counted from the end of the attempt.
    Retry(Duration, Because),
    /// At an end, and the word for why.
    Failed(&'static str),
}

/// The word for a spent allowance.
pub const EXHAUSTED: &str = "exhausted";
/// The word for a 410.
pub const GONE: &str = "gone";
/// The word for an event that is no longer in the log.
pub const EXPIRED: &str = "expired";
/// The word for a delivery that lost too many claims made alone (L11).
pub const LOST_CLAIMS: &str = "lost_claims";

/// Decides after an attempt that is the `made`-th of its cycle. `asked` is the receiver's Retry-After.
pub fn judge(outcome: Outcome, schedule: &RetrySchedule, made: u32, asked: Option<Duration>) -> Verdict {
    match outcome {
        Outcome::Succeeded => Verdict::Delivered,
        Outcome::Gone => Verdict::Failed(GONE),
        _ => match backoff::wait(schedule, made, asked) {
            Some((wait, because)) => Verdict::Retry(wait, because),
            None => Verdict::Failed(EXHAUSTED),
        },
    }
}

/// Makes an error text fit to be stored: no control characters (U+0000 cannot be stored at all), bounded.
pub fn storable(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(ERROR_LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_outcome() {
        for status in [200, 201, 204, 299] {
            assert_eq!(Outcome::of_status(status), Outcome::Succeeded);
        }
        assert_eq!(Outcome::of_status(410), Outcome::Gone);
        for status in [301, 302, 400, 401, 404, 408, 425, 429, 500, 503, 599] {
            assert_eq!(Outcome::of_status(status), Outcome::HttpError);
        }
    }

    #[test]
    fn an_attempt_leads_to_an_end_or_to_the_next() {
        let schedule = RetrySchedule::default();
        assert_eq!(judge(Outcome::Succeeded, &schedule, 10, None), Verdict::Delivered);
        assert_eq!(judge(Outcome::Gone, &schedule, 1, None), Verdict::Failed(GONE));
        for outcome in [Outcome::HttpError, Outcome::Timeout, Outcome::Blocked, Outcome::Unsendable] {
            assert!(matches!(judge(outcome, &schedule, 9, None), Verdict::Retry(..)));
            assert_eq!(judge(outcome, &schedule, 10, None), Verdict::Failed(EXHAUSTED));
        }
    }

    #[test]
    fn an_error_text_is_cut_and_cleaned() {
        let long = "é\0\n".repeat(1000);
        let stored = storable(&long);
        assert_eq!(stored.chars().count(), 500);
        assert!(!stored.contains(['\0', '\n']));
    }
}
