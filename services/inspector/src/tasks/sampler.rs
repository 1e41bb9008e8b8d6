//! A sample a minute. Every process tries; the minute is part of the key, so one writes.

use crate::state::State;
use crate::store::{StoreError, samples};
use hooks_shared::shutdown::Shutdown;
use std::time::Duration;

/// Runs until shutdown.
pub async fn run(state: State, shutdown: Shutdown) {
    loop {
        if let Err(error) = take(&state).await {
            log::debug!("no sample this time: {error}");
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
            () = shutdown.wait() => return,
        }
    }
}

async fn take(state: &State) -> Result<(), StoreError> {
    let db = state.session().await?;
    samples::take(&db).await
}
