//! The only place in the kit that sleeps.

use std::fmt::Debug;
use std::time::{Duration, Instant};

/// The pauses between probes grow from this …
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// … to this: short enough that no test waits noticeably, long enough not to starve what it waits for.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// What one probe saw: the awaited value, or a description of what was there instead.
pub trait Seen {
    /// The awaited value.
    type Value;
    /// The value, or the text that [`until`] shows when time is up.
    fn seen(self) -> Result<Self::Value, String>;
}

impl<T> Seen for Option<T> {
    type Value = T;
    fn seen(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".into())
    }
}

impl<T, E: Debug> Seen for Result<T, E> {
    type Value = T;
    fn seen(self) -> Result<T, String> {
        self.map_err(|error| format!("{error:?}"))
    }
}

impl Seen for bool {
    type Value = ();
    fn seen(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("false".into()) }
    }
}

/// Calls `probe` until it yields a value (`Some`, `Ok` or `true`) and returns that; panics after `deadline`
/// with `what` was awaited and what the last probe saw. A probe that hangs is given up at the deadline too.
///
/// The probe borrows what it needs (`async || …`); what it changes must be behind a `Cell`, a lock or an atomic.
pub async fn until<S: Seen, F>(deadline: Duration, what: &str, mut probe: impl FnMut() -> F) -> S::Value
where
    F: Future<Output = S>,
{
    let end = Instant::now() + deadline;
    let mut pause = FIRST_PAUSE;
    let mut last = String::from("no probe finished");
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, probe()).await {
            Ok(seen) => match seen.seen() {
                Ok(value) => return value,
                Err(instead) => last = instead,
            },
            Err(_) => panic!("waited {deadline:?} for {what}; the last probe hung; seen before: {last}"),
        }
        if Instant::now() + pause >= end {
            panic!("waited {deadline:?} for {what}; last seen: {last}");
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_value_comes_back_as_soon_as_a_probe_has_it() {
        let calls = std::cell::Cell::new(0);
        let value = until(Duration::from_secs(5), "three calls", async || {
            calls.set(calls.get() + 1);
            (calls.get() == 3).then(|| calls.get())
        })
        .await;
        assert_eq!(value, 3);
    }

    #[tokio::test]
    #[should_panic(expected = "waited 20ms for a miracle; last seen: \"still 7\"")]
    async fn time_up_says_what_was_last_seen() {
        until(Duration::from_millis(20), "a miracle", async || Err::<(), _>("still 7")).await;
    }

    /// Whoever waits may do so in a task of its own.
    #[tokio::test]
    async fn waiting_in_a_spawned_task_is_possible() {
        let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let waiting = tokio::spawn(async move {
            until(Duration::from_secs(5), "a number", async || {
                tokio::task::yield_now().await;
                count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 2
            })
            .await;
        });
        waiting.await.expect("it is there");
    }

    #[tokio::test]
    #[should_panic(expected = "the last probe hung")]
    async fn a_hanging_probe_is_given_up() {
        until(Duration::from_millis(20), "it", async || {
            std::future::pending::<()>().await;
            true
        })
        .await;
    }
}
