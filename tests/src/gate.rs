//! Something that waits until the test says go.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// Holds back whoever waits at it until the test lets them pass, one by one or all. Clones are one gate.
#[derive(Debug, Clone)]
pub struct Gate {
    passes: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Default for Gate {
    fn default() -> Self {
        Self::closed()
    }
}

impl Gate {
    /// A gate that lets nobody pass yet.
    pub fn closed() -> Self {
        Self { passes: Arc::new(Semaphore::new(0)), waiting: Arc::default() }
    }

    /// Lets everybody pass, from now on.
    pub fn open(&self) {
        self.passes.close();
    }

    /// Lets `n` more pass.
    pub fn release(&self, n: usize) {
        self.passes.add_permits(n);
    }

    /// How many stand at the gate now.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Waits to be let through.
    pub async fn pass(&self) {
        let _here = Here::at(&self.waiting);
        if let Ok(permit) = self.passes.acquire().await {
            permit.forget();
        }
    }
}

/// Counts one as present while it lives, also when its future is dropped.
struct Here<'a>(&'a AtomicUsize);

impl<'a> Here<'a> {
    fn at(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
