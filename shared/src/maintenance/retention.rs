//! What of the log has had its time. A partition in which everything has expired is dropped, which costs nothing;
//! where a source is kept shorter than its neighbours, its events are deleted in small batches.

use super::partition::{self, Partition, Step};
use super::report::Report;
use super::{Error, Settings, statements};
use crate::config::Retention;
use crate::db::Session;
use std::time::Duration;
use time::{OffsetDateTime, Time};

/// Rows of one delete.
const BATCH: i64 = 1_000;
const DAY: Duration = Duration::from_secs(86_400);

/// What becomes of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// All of it has expired.
    Drop,
    /// Of these sources the events before these times have expired; nothing where the list is empty.
    Keep(Vec<(String, OffsetDateTime)>),
}

/// Decides over the partition `[lower, upper)` that holds events of `sources`.
///
/// A source that is kept for a day or longer loses whole days, since its neighbours' partition usually goes soon
/// anyway: events may outlive their retention by up to a day. One that is kept shorter is cut to the minute.
/// An empty partition goes two days after its day, when maintenance no longer makes it.
pub fn fate_of(
    lower: OffsetDateTime,
    upper: OffsetDateTime,
    sources: &[(String, Retention)],
    now: OffsetDateTime,
) -> Fate {
    if sources.is_empty() {
        return if upper + 2 * DAY <= now { Fate::Drop } else { Fate::Keep(Vec::new()) };
    }
    let expired = |retention: Retention| match retention {
        Retention::Forever => false,
        Retention::For(kept) => upper + kept <= now,
    };
    if sources.iter().all(|(_, retention)| expired(*retention)) {
        return Fate::Drop;
    }
    let cut = |retention: Retention| match retention {
        Retention::Forever => None,
        Retention::For(kept) if kept < DAY => Some(now - kept),
        Retention::For(kept) => Some((now - kept).replace_time(Time::MIDNIGHT)),
    };
    let cuts = sources.iter().filter_map(|(name, retention)| Some((name, cut(*retention)?)));
    let cuts = cuts.filter(|(_, cut)| *cut > lower).map(|(name, cut)| (name.clone(), cut.min(upper)));
    Fate::Keep(cuts.collect())
}

/// Applies it to every partition, oldest first.
pub async fn apply(session: &Session, settings: &Settings, report: &mut Report) -> Result<(), Error> {
    let now: OffsetDateTime = session.query_one("select now()", &[]).await?.get(0);
    let mut partitions = partition::list(session).await?;
    // The server allows one pending detach at a time: what was interrupted comes first.
    partitions.sort_by_key(|partition| (!partition.pending, partition.attached, partition.day));
    for partition in partitions {
        if partition.pending || !partition.attached {
            // Only maintenance detaches, and only what has expired.
            remove(session, partition, report).await?;
            continue;
        }
        let sources = sources_in(session, settings, &partition).await?;
        match fate_of(partition.lower(), partition.upper(), &sources, now) {
            Fate::Drop => remove(session, partition, report).await?,
            Fate::Keep(cuts) => {
                for (source, before) in cuts {
                    report.events += delete(session, &partition, &source, before).await?;
                }
            }
        }
    }
    Ok(())
}

async fn sources_in(
    session: &Session,
    settings: &Settings,
    partition: &Partition,
) -> Result<Vec<(String, Retention)>, Error> {
    let bounds = (partition.lower(), partition.upper());
    let rows = session.rows(statements::SOURCES_OF_DAY, &[&bounds.0, &bounds.1]).await?;
    let named = rows.iter().map(|row| row.get::<_, String>("source"));
    Ok(named.map(|source| (source.clone(), settings.retention_of(&source))).collect())
}

async fn remove(session: &Session, partition: Partition, report: &mut Report) -> Result<(), Error> {
    let mut step = Step::Done;
    if partition.attached {
        step = partition::detach(session, partition).await?;
    }
    if step == Step::Done {
        step = partition::drop_detached(session, partition).await?;
    }
    match step {
        Step::Done => {
            log::info!(day:% = partition.day; "dropped a partition of the log: everything in it had expired");
            report.partitions_dropped.push(partition.day);
        }
        Step::Locked => report.partitions_postponed.push(partition.day),
    }
    Ok(())
}

async fn delete(
    session: &Session,
    partition: &Partition,
    source: &str,
    before: OffsetDateTime,
) -> Result<u64, Error> {
    let (lower, upper) = (partition.lower(), partition.upper());
    let mut gone = 0;
    loop {
        let deleted = session.run(statements::DELETE_EXPIRED, &[&source, &lower, &before, &BATCH]).await?;
        gone += deleted;
        if deleted < BATCH as u64 {
            break;
        }
    }
    if before == upper {
        session.run(statements::FORGET_DAY, &[&source, &partition.day, &lower, &upper]).await?;
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2030-03-31 10:00 UTC);

    fn on(day: u8, sources: &[(&str, Retention)]) -> Fate {
        let lower = datetime!(2030-03-01 00:00 UTC) + (day - 1) as u32 * DAY;
        let sources: Vec<_> = sources.iter().map(|(name, r)| ((*name).to_owned(), *r)).collect();
        fate_of(lower, lower + DAY, &sources, NOW)
    }

    fn days(n: u32) -> Retention {
        Retention::For(n * DAY)
    }

    #[test]
    fn a_day_goes_when_its_last_event_has_expired() {
        assert_eq!(on(23, &[("a", days(7))]), Fate::Drop);
        assert_eq!(on(24, &[("a", days(7))]), Fate::Keep(vec![]));
        assert_eq!(on(23, &[("a", days(7)), ("b", days(1))]), Fate::Drop);
    }

    #[test]
    fn a_longer_or_endless_retention_keeps_the_day_but_not_the_others_events() {
        let upper = datetime!(2030-03-02 00:00 UTC);
        for longer in [days(40), Retention::Forever] {
            assert_eq!(on(1, &[("a", days(7)), ("b", longer)]), Fate::Keep(vec![("a".to_owned(), upper)]));
        }
    }

    #[test]
    fn less_than_a_day_is_cut_exactly() {
        let hour = Retention::For(Duration::from_secs(3600));
        assert_eq!(
            on(31, &[("a", hour)]),
            Fate::Keep(vec![("a".to_owned(), NOW - Duration::from_secs(3600))])
        );
    }

    #[test]
    fn an_empty_day_goes_once_nobody_makes_it_again() {
        assert_eq!(on(28, &[]), Fate::Drop);
        assert_eq!(on(29, &[]), Fate::Keep(vec![]));
        assert_eq!(on(31, &[]), Fate::Keep(vec![]));
    }
}
