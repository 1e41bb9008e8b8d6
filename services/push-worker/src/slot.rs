//! The room that a delivery takes in a worker while it is in hand.

use prometheus_client::metrics::gauge::Gauge;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The room of a worker: how much it can have in hand, and how much of that is taken.
#[derive(Debug, Clone)]
pub struct Slots {
    free: Arc<Semaphore>,
    /// Taken for subscriptions whose last attempt did not succeed.
    unproven: Arc<AtomicUsize>,
    /// Whether a delivery is in hand that was taken over from a lost claim (L11).
    lone: Arc<AtomicBool>,
    in_flight: Gauge,
    total: usize,
}

/// Room for one delivery, given back when dropped.
#[derive(Debug)]
pub struct Slot {
    _permit: OwnedSemaphorePermit,
    unproven: Option<Arc<AtomicUsize>>,
    lone: Option<Arc<AtomicBool>>,
    in_flight: Gauge,
}

impl Slots {
    pub fn new(total: usize, in_flight: Gauge) -> Self {
        Self {
            free: Arc::new(Semaphore::new(total)),
            unproven: Arc::default(),
            lone: Arc::default(),
            in_flight,
            total,
        }
    }

    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// How much of the free room subscriptions may take whose last attempt did not succeed: a quarter of all is kept
    /// from them, so that receivers that hang cannot fill a worker.
    pub fn free_for_unproven(&self) -> usize {
        let allowed = (self.total - self.total / 4).max(1);
        allowed.saturating_sub(self.unproven.load(Ordering::SeqCst)).min(self.free())
    }

    /// Whether a lost claim may be taken over.
    pub fn may_reclaim(&self) -> bool {
        !self.lone.load(Ordering::SeqCst)
    }

    /// Takes room. None where there is none, which a caller that asked first does not see.
    pub fn take(&self, proven: bool, alone: bool) -> Option<Slot> {
        let permit = self.free.clone().try_acquire_owned().ok()?;
        self.in_flight.inc();
        let unproven = (!proven).then(|| self.unproven.clone());
        if let Some(count) = &unproven {
            count.fetch_add(1, Ordering::SeqCst);
        }
        let lone = alone.then(|| self.lone.clone());
        if let Some(flag) = &lone {
            flag.store(true, Ordering::SeqCst);
        }
        Some(Slot { _permit: permit, unproven, lone, in_flight: self.in_flight.clone() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.in_flight.dec();
        if let Some(count) = &self.unproven {
            count.fetch_sub(1, Ordering::SeqCst);
        }
        if let Some(flag) = &self.lone {
            flag.store(false, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_kept_for_the_proven_and_room_comes_back() {
        let slots = Slots::new(8, Gauge::default());
        let taken: Vec<_> = (0..6).map(|_| slots.take(false, false).expect("room")).collect();
        assert_eq!((slots.free(), slots.free_for_unproven()), (2, 0));
        let lone = slots.take(true, true).expect("room for the proven");
        assert!(!slots.may_reclaim());
        drop(lone);
        assert!(slots.may_reclaim());
        drop(taken);
        assert_eq!((slots.free(), slots.free_for_unproven()), (8, 6));
    }
}
