//! The process's clock, injected wherever a rule reads it. (Leases and due times use the database's.)

use std::sync::{Arc, Mutex};
use time::OffsetDateTime;

/// What time it is. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> OffsetDateTime + Send + Sync>);

impl Clock {
    /// The machine's clock, UTC.
    pub fn system() -> Self {
        Self(Arc::new(OffsetDateTime::now_utc))
    }

    /// A clock that stands still until it is moved; for tests.
    pub fn fixed(at: OffsetDateTime) -> (Self, ClockHand) {
        let hand = ClockHand(Arc::new(Mutex::new(at)));
        let shown = hand.clone();
        (Self(Arc::new(move || shown.get())), hand)
    }

    pub fn now(&self) -> OffsetDateTime {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

/// Moves a fixed clock.
#[derive(Debug, Clone)]
pub struct ClockHand(Arc<Mutex<OffsetDateTime>>);

impl ClockHand {
    pub fn get(&self) -> OffsetDateTime {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub fn set(&self, at: OffsetDateTime) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = at;
    }
}
