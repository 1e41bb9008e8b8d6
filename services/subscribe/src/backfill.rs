//! What a listener's first drain leaves out (README, "Catch-up"). Nothing else in this service looks at an
//! event's age.

use std::time::Duration;
use time::OffsetDateTime;

/// The freshness window of one first drain. Opened once, so that a long drain does not change its mind midway.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    opened_at: OffsetDateTime,
    skew: Duration,
    cutoff: OffsetDateTime,
}

impl Window {
    pub fn open(now: OffsetDateTime, skew: Duration) -> Self {
        let skew_signed = time::Duration::try_from(skew).unwrap_or(time::Duration::MAX);
        Self { opened_at: now, skew, cutoff: now.saturating_sub(skew_signed) }
    }

    /// Events signed before this are stale.
    pub fn cutoff(&self) -> OffsetDateTime {
        self.cutoff
    }

    pub fn skew(&self) -> Duration {
        self.skew
    }

    /// How old a stale event is; None for one that is to be sent. Exactly at the window, from the future and
    /// without a time of its own are all fresh.
    pub fn stale_by_age(&self, provider_timestamp: Option<OffsetDateTime>) -> Option<Duration> {
        let signed_at = provider_timestamp?;
        (signed_at < self.cutoff).then(|| (self.opened_at - signed_at).unsigned_abs())
    }
}

/// What a first drain has left out so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    pub count: u64,
    pub first: i64,
    pub last: i64,
}

impl Skipped {
    pub fn add(&mut self, sequence: i64) {
        if self.count == 0 {
            self.first = sequence;
        }
        self.last = sequence;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn only_what_is_older_than_the_window_is_stale() {
        let now = datetime!(2026-05-09 12:00 UTC);
        let window = Window::open(now, Duration::from_secs(300));
        let at = |seconds: i64| Some(now + time::Duration::seconds(seconds));
        assert_eq!(window.stale_by_age(at(-301)), Some(Duration::from_secs(301)));
        assert_eq!(window.stale_by_age(at(-300)), None);
        assert_eq!(window.stale_by_age(at(60)), None);
        assert_eq!(window.stale_by_age(None), None);
        assert_eq!(
            window.stale_by_age(at(-300).map(|t| t - Duration::from_nanos(1))).map(|age| age.as_secs()),
            Some(300)
        );
    }

    #[test]
    fn a_window_of_a_century_leaves_out_nothing() {
        let window = Window::open(datetime!(2026-05-09 12:00 UTC), Duration::MAX);
        assert_eq!(window.stale_by_age(Some(OffsetDateTime::UNIX_EPOCH)), None);
    }
}
