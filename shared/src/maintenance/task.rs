//! Maintenance in the background of a push-worker: at start, then hourly.

use super::{Error, Outcome, Report, Settings, open, run_once};
use crate::admin::Readiness;
use crate::db::Target;
use crate::shutdown::Shutdown;
use std::time::Duration;

/// The name under which `/readyz` speaks of maintenance.
pub const CONDITION: &str = "maintenance";

const EVERY: Duration = Duration::from_secs(3600);
/// After a failure, and while the database is not migrated yet.
const AGAIN: Duration = Duration::from_secs(30);

/// Runs until shutdown. `/readyz` notes when the role may not: the service does its own work all the same.
pub fn spawn(
    target: Target,
    settings: Settings,
    readiness: Readiness,
    shutdown: Shutdown,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut first = true;
        loop {
            let pause = match round(&target, &settings).await {
                Ok(Outcome::Done(report)) => {
                    readiness.note(CONDITION, None);
                    say(&report);
                    EVERY
                }
                Ok(Outcome::Busy) => {
                    readiness.note(CONDITION, None);
                    EVERY
                }
                Err(error @ Error::NotOwner { .. }) => {
                    if first {
                        log::warn!("maintenance is off: {error}");
                    }
                    readiness.note(CONDITION, Some(format!("off: {error}")));
                    EVERY
                }
                Err(error) => {
                    log::warn!("maintenance did not finish, it will be tried again: {error}");
                    readiness.note(CONDITION, Some(format!("failed: {error}")));
                    AGAIN
                }
            };
            first = false;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = shutdown.wait() => return,
            }
        }
    })
}

fn say(report: &Report) {
    if report.is_empty() {
        log::debug!("maintenance: nothing to do");
    } else {
        log::info!("maintenance: {report}");
    }
}

async fn round(target: &Target, settings: &Settings) -> Result<Outcome, Error> {
    let session = open(target).await?;
    run_once(&session, settings).await
}
