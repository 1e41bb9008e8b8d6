//! Waiting between tries, with jitter, so that many processes do not come back at the same instant.

use rand::Rng;
use std::time::Duration;

/// The pauses between reconnections to the database: 50 ms doubling to 2 s, each between half and whole.
#[derive(Debug, Default)]
pub struct Reconnect {
    failures: u32,
}

impl Reconnect {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(2);

    /// The next pause; each call counts as one more failure.
    pub fn next_pause(&mut self) -> Duration {
        let whole = Self::FIRST.saturating_mul(1 << self.failures.min(10)).min(Self::LONGEST);
        self.failures = self.failures.saturating_add(1);
        whole.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    pub async fn wait(&mut self) {
        let pause = self.next_pause();
        tokio::time::sleep(pause).await;
    }

    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

/// Full jitter: a random time in `[0, min(cap, base · 2^n))` for the n-th failure, counted from 0.
pub fn full_jitter(base: Duration, cap: Duration, n: u32) -> Duration {
    let ceiling = base.saturating_mul(1u32.checked_shl(n.min(31)).unwrap_or(u32::MAX)).min(cap);
    ceiling.mul_f64(rand::rng().random_range(0.0..1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_below_their_bound() {
        let mut pauses = Reconnect::default();
        let first = pauses.next_pause();
        assert!(first <= Duration::from_millis(50) && first >= Duration::from_millis(25));
        for _ in 0..100 {
            assert!(pauses.next_pause() <= Duration::from_secs(2));
        }
        pauses.reset();
        assert!(pauses.next_pause() <= Duration::from_millis(50));
    }

    #[test]
    fn full_jitter_never_overflows() {
        for n in [0, 1, 9, 10, 31, 32, u32::MAX] {
            assert!(
                full_jitter(Duration::from_millis(100), Duration::from_secs(60), n) < Duration::from_secs(60)
            );
        }
    }
}
