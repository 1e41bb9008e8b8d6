//! What of the log has had its time. A partition in which everything has expired is dropped, which costs nothing;
//! where a source is kept shorter than its neighbours, its events are deleted in small batches.

use super::partition::{self, Dropped, Partition, Step};
use super::report::Report;
use super::{Error, Settings, backlog, history, statements};
use crate::config::Retention;
use crate::db::{Failure, Session, failure_of};
use std::time::Duration;
use time::{OffsetDateTime, Time};

/// Rows of one delete.
const BATCH: i64 = 1_000;
const DAY: Duration = Duration::from_secs(86_400);

/// A source with events in a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    pub source: String,
    pub retention: Retention,
    /// Push still needs some of them.
    pub needed: bool,
}

/// What becomes of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// All of it has expired. Of these sources push has to give up first what it still needs.
    Drop { give_up: Vec<String> },
    /// Of these sources the events before these times have expired; nothing where the list is empty.
    Keep(Vec<(String, OffsetDateTime)>),
}

/// Decides over the partition `[lower, upper)`.
///
/// A source that is kept for a day or longer loses whole days, since its neighbours' partition usually goes soon
/// anyway: events may outlive their retention by up to a day. One that is kept shorter is cut to the minute.
/// What push needs is kept up to the backlog limit. An empty partition goes two days after its day, when maintenance
/// no longer makes it.
pub fn fate_of(
    lower: OffsetDateTime,
    upper: OffsetDateTime,
    holdings: &[Holding],
    backlog_limit: Duration,
    now: OffsetDateTime,
) -> Fate {
    if holdings.is_empty() {
        let gone = upper + 2 * DAY <= now;
        return if gone { Fate::Drop { give_up: Vec::new() } } else { Fate::Keep(Vec::new()) };
    }
    let expired = |one: &Holding| match one.retention {
        Retention::Forever => false,
        Retention::For(kept) => {
            upper + kept <= now && (!one.needed || upper + kept.max(backlog_limit) <= now)
        }
    };
    if holdings.iter().all(expired) {
        let needed = holdings.iter().filter(|one| one.needed);
        return Fate::Drop { give_up: needed.map(|one| one.source.clone()).collect() };
    }
    let cut = |retention: Retention| match retention {
        Retention::Forever => None,
        Retention::For(kept) if kept < DAY => Some(now - kept),
        Retention::For(kept) => Some((now - kept).replace_time(Time::MIDNIGHT)),
    };
    let cuts = holdings.iter().filter_map(|one| Some((one.source.clone(), cut(one.retention)?)));
    Fate::Keep(cuts.filter(|(_, cut)| *cut > lower).map(|(name, cut)| (name, cut.min(upper))).collect())
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
        let holdings = holdings(session, settings, &partition).await?;
        match fate_of(partition.lower(), partition.upper(), &holdings, settings.backlog_limit, now) {
            Fate::Drop { give_up } => {
                for source in give_up {
                    let all = (partition.lower(), partition.upper());
                    report.expired_backlog += backlog::expire(session, &source, all.0, all.1).await?;
                }
                remove(session, partition, report).await?;
            }
            Fate::Keep(cuts) => {
                for (source, before) in cuts {
                    cut(session, settings, &partition, &source, before, now, report).await?;
                }
            }
        }
    }
    Ok(())
}

async fn holdings(
    session: &Session,
    settings: &Settings,
    partition: &Partition,
) -> Result<Vec<Holding>, Error> {
    let bounds = (partition.lower(), partition.upper());
    let mut all = Vec::new();
    for row in session.rows(statements::SOURCES_OF_DAY, &[&bounds.0, &bounds.1]).await? {
        let source: String = row.get("source");
        let retention = settings.retention_of(&source);
        let needed = backlog::needs(session, &source, partition).await?;
        all.push(Holding { source, retention, needed });
    }
    Ok(all)
}

async fn remove(session: &Session, partition: Partition, report: &mut Report) -> Result<(), Error> {
    if partition.attached && partition::detach(session, partition).await? == Step::Locked {
        report.partitions_postponed.push(partition.day);
        return Ok(());
    }
    match partition::drop_detached(session, partition).await? {
        Dropped::Yes => {
            log::info!(day:% = partition.day; "dropped a partition of the log: everything in it had expired");
            report.partitions_dropped.push(partition.day);
            history::purge_day(session, &partition, None, report).await
        }
        Dropped::NeededAgain => {
            log::info!(day:% = partition.day; "a replay needs a partition of the log that was to be dropped: it stays");
            report.partitions_postponed.push(partition.day);
            Ok(())
        }
        Dropped::Locked => {
            report.partitions_postponed.push(partition.day);
            Ok(())
        }
    }
}

/// Deletes a source's events before a time, less what push needs and may still wait for.
async fn cut(
    session: &Session,
    settings: &Settings,
    partition: &Partition,
    source: &str,
    before: OffsetDateTime,
    now: OffsetDateTime,
    report: &mut Report,
) -> Result<(), Error> {
    let (lower, upper) = (partition.lower(), partition.upper());
    let patience_ends = before.min(now - settings.backlog_limit);
    let done = async {
        if patience_ends > lower {
            report.expired_backlog += backlog::expire(session, source, lower, patience_ends).await?;
        }
        loop {
            let deleted = backlog::under_cursor_locks(session, source, async || {
                session.run(statements::DELETE_EXPIRED, &[&source, &lower, &before, &BATCH]).await
            })
            .await?;
            report.events += deleted;
            if deleted < BATCH as u64 {
                return Ok(());
            }
        }
    };
    match done.await {
        Ok(()) => {}
        // A claim holds the cursors: the next round deletes the rest.
        Err(Error::Database(error)) if failure_of(&error) == Failure::Contended => return Ok(()),
        Err(error) => return Err(error),
    }
    if before == upper {
        session.run(statements::FORGET_DAY, &[&source, &partition.day, &lower, &upper]).await?;
        history::purge_day(session, partition, Some(source), report).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    const NOW: OffsetDateTime = datetime!(2030-03-31 10:00 UTC);

    fn on(day: u8, sources: &[(&str, Retention)]) -> Fate {
        let unneeded: Vec<_> = sources.iter().map(|(name, retention)| (*name, *retention, false)).collect();
        judged(day, &unneeded)
    }

    fn judged(day: u8, sources: &[(&str, Retention, bool)]) -> Fate {
        let lower = datetime!(2030-03-01 00:00 UTC) + u32::from(day - 1) * DAY;
        let holdings: Vec<_> = sources
            .iter()
            .map(|(name, retention, needed)| Holding {
                source: (*name).to_owned(),
                retention: *retention,
                needed: *needed,
            })
            .collect();
        fate_of(lower, lower + DAY, &holdings, 14 * DAY, NOW)
    }

    const DROP: Fate = Fate::Drop { give_up: Vec::new() };

    #[test]
    fn what_push_needs_is_kept_up_to_the_backlog_limit_and_then_given_up() {
        assert_eq!(
            judged(20, &[("a", days(7), true)]),
            Fate::Keep(vec![("a".into(), datetime!(2030-03-21 0:00 UTC))])
        );
        assert_eq!(judged(20, &[("a", days(7), false)]), DROP);
        assert_eq!(judged(10, &[("a", days(7), true)]), Fate::Drop { give_up: vec!["a".into()] });
        assert_eq!(judged(10, &[("a", days(30), true)]), Fate::Keep(vec![]), "a longer retention is kept");
    }

    fn days(n: u32) -> Retention {
        Retention::For(n * DAY)
    }

    #[test]
    fn a_day_goes_when_its_last_event_has_expired() {
        assert_eq!(on(23, &[("a", days(7))]), DROP);
        assert_eq!(on(24, &[("a", days(7))]), Fate::Keep(vec![]));
        assert_eq!(on(23, &[("a", days(7)), ("b", days(1))]), DROP);
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
        assert_eq!(on(28, &[]), DROP);
        assert_eq!(on(29, &[]), Fate::Keep(vec![]));
        assert_eq!(on(31, &[]), Fate::Keep(vec![]));
    }
}
