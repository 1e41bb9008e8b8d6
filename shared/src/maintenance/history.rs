//! Deliveries that came to an end, with their attempts, after their time.

use super::partition::Partition;
use super::report::Report;
use super::{Error, Settings, statements};
use crate::db::Session;

/// Rows of one delete, as the statements have it.
const BATCH: u64 = 5_000;

/// Purges by age, and the subscriptions of which nothing is left.
pub async fn purge(session: &Session, settings: &Settings, report: &mut Report) -> Result<(), Error> {
    let history = settings.history.as_secs_f64();
    loop {
        let gone = session.run(statements::PURGE_HISTORY, &[&history]).await?;
        report.deliveries += gone;
        if gone < BATCH {
            break;
        }
    }
    session.run(statements::PURGE_SUBSCRIPTIONS, &[&history]).await?;
    Ok(())
}

/// Purges the deliveries of events that went with their day: of one source, or of all.
pub async fn purge_day(
    session: &Session,
    partition: &Partition,
    source: Option<&str>,
    report: &mut Report,
) -> Result<(), Error> {
    let (lower, upper) = (partition.lower(), partition.upper());
    loop {
        let gone = session.run(statements::PURGE_DAY, &[&lower, &upper, &source]).await?;
        report.deliveries += gone;
        if gone < BATCH {
            return Ok(());
        }
    }
}
