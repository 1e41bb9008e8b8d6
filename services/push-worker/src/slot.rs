//! The room that a delivery takes in a worker while it is in hand.

use crate::claim::Unproven;
use prometheus_client::metrics::gauge::Gauge;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The room of a worker: how much it can have in hand, and how much of that is taken.
#[derive(Debug, Clone)]
pub struct Slots {
    free: Arc<Semaphore>,
    unproven: Held,
    /// Whether a delivery is in hand that was taken over from a lost claim (L11).
    lone: Arc<AtomicBool>,
    in_flight: Gauge,
    total: usize,
}

/// How much each subscription has in hand whose last attempt had not succeeded.
#[derive(Debug, Clone, Default)]
struct Held(Arc<Mutex<HashMap<String, usize>>>);

impl Held {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, subscription: &str) {
        *self.lock().entry(subscription.to_owned()).or_default() += 1;
    }

    fn give_back(&self, subscription: &str) {
        let mut held = self.lock();
        match held.get_mut(subscription) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(subscription)),
        }
    }

    fn total(&self) -> usize {
        self.lock().values().sum()
    }
}

/// Room for one delivery, given back when dropped.
#[derive(Debug)]
pub struct Slot {
    _permit: OwnedSemaphorePermit,
    unproven: Option<(Held, String)>,
    lone: Option<Arc<AtomicBool>>,
    in_flight: Gauge,
}

impl Slots {
    pub fn new(total: usize, in_flight: Gauge) -> Self {
        Self {
            free: Arc::new(Semaphore::new(total)),
            unproven: Held::default(),
            lone: Arc::default(),
            in_flight,
            total,
        }
    }

    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    fn quarter(&self) -> usize {
        self.total / 4
    }

    /// How much of the free room subscriptions may take whose last attempt did not succeed: a quarter of all is kept
    /// from them, so that receivers that hang cannot fill a worker.
    pub fn free_for_unproven(&self) -> usize {
        let allowed = (self.total - self.quarter()).max(1);
        allowed.saturating_sub(self.unproven.total()).min(self.free())
    }

    /// Beyond one delivery each, such subscriptions together take a quarter of all: receivers that hang leave the others
    /// room for a first attempt.
    pub fn unproven(&self) -> Unproven {
        let held = self.unproven.lock();
        let beyond = held.values().sum::<usize>() - held.len();
        Unproven { holding: held.keys().cloned().collect(), more: self.quarter().saturating_sub(beyond) }
    }

    /// Whether a lost claim may be taken over.
    pub fn may_reclaim(&self) -> bool {
        !self.lone.load(Ordering::SeqCst)
    }

    /// Takes room. None where there is none, which a caller that asked first does not see.
    pub fn take(&self, subscription: &str, proven: bool, alone: bool) -> Option<Slot> {
        let permit = self.free.clone().try_acquire_owned().ok()?;
        self.in_flight.inc();
        let unproven = (!proven).then(|| (self.unproven.clone(), subscription.to_owned()));
        if let Some((held, subscription)) = &unproven {
            held.take(subscription);
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
        if let Some((held, subscription)) = &self.unproven {
            held.give_back(subscription);
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
        let taken: Vec<_> = (0..6).map(|_| slots.take("a", false, false).expect("room")).collect();
        assert_eq!((slots.free(), slots.free_for_unproven()), (2, 0));
        let lone = slots.take("b", true, true).expect("room for the proven");
        assert!(!slots.may_reclaim());
        drop(lone);
        assert!(slots.may_reclaim());
        drop(taken);
        assert_eq!((slots.free(), slots.free_for_unproven()), (8, 6));
    }
    #[test]
    fn beyond_one_each_the_unproven_share_a_quarter() {
        let slots = Slots::new(16, Gauge::default());
        let more = || (slots.unproven().more, slots.unproven().holding.len());
        let firsts = ["a", "b"].map(|one| slots.take(one, false, false).expect("room"));
        let proven = slots.take("c", true, false).expect("room");
        assert_eq!(more(), (4, 2));
        let seconds = ["a", "a", "b"].map(|one| slots.take(one, false, false).expect("room"));
        assert_eq!(more(), (1, 2));
        drop(firsts);
        assert_eq!(more(), (3, 2));
        drop((seconds, proven));
        assert_eq!(more(), (4, 0));
    }
}
