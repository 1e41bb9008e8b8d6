//! How many bytes of bodies may be in memory at once: taken chunk by chunk while a body arrives, given back
//! when its request has been answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The budget of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: u64,
    used: AtomicU64,
}

/// Bytes held by one request; given back when dropped.
#[derive(Debug)]
pub struct Hold {
    budget: Budget,
    bytes: u64,
}

/// There is no room: the request is answered with 503.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Shared { limit, used: AtomicU64::new(0) }))
    }

    /// An empty hold that [`Hold::grow`] fills.
    pub fn hold(&self) -> Hold {
        Hold { budget: self.clone(), bytes: 0 }
    }

    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }
}

impl Hold {
    pub fn grow(&mut self, bytes: u64) -> Result<(), Full> {
        let shared = &self.budget.0;
        let fits = |used: u64| used.checked_add(bytes).filter(|after| *after <= shared.limit);
        shared.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map_err(|_| Full)?;
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_when_a_request_is_over() {
        let budget = Budget::new(100);
        let mut one = budget.hold();
        let mut two = budget.hold();
        assert_eq!(one.grow(60), Ok(()));
        assert_eq!(two.grow(41), Err(Full));
        assert_eq!(two.grow(40), Ok(()));
        assert_eq!(one.grow(u64::MAX), Err(Full));
        drop(one);
        assert_eq!(budget.used(), 40);
        drop(two);
        assert_eq!(budget.used(), 0);
    }
}
