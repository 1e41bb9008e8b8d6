//! Making and removing the partitions of `events`.
//!
//! Removal is in steps, each of which may be interrupted and is found and finished by a later round: detach
//! concurrently (two transactions of the server's own; between them the partition is *pending* and invisible to new
//! statements), then lock, then drop. Nobody waits for us longer than the lock timeout.

use super::report::Report;
use super::{Error, statements};
use crate::db::{Failure, Session, failure_of};
use std::time::Duration;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};

/// How often a lock is asked for before the next round has to do it.
const TRIES: u32 = 5;

/// A day's table. Its name is made from a date alone, which is why it may stand in the text of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    pub day: Date,
    pub attached: bool,
    pub pending: bool,
}

impl Partition {
    pub fn name(&self) -> String {
        format!("events_{:04}{:02}{:02}", self.day.year(), u8::from(self.day.month()), self.day.day())
    }

    /// Its first instant.
    pub fn lower(&self) -> OffsetDateTime {
        PrimitiveDateTime::new(self.day, Time::MIDNIGHT).assume_utc()
    }

    /// The first instant of the day after it.
    pub fn upper(&self) -> OffsetDateTime {
        self.lower() + time::Duration::DAY
    }
}

/// Whether something was done, or a lock was not to be had.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Done,
    Locked,
}

/// All partitions, oldest first.
pub async fn list(session: &Session) -> Result<Vec<Partition>, Error> {
    let rows = session.rows(statements::PARTITIONS, &[]).await?;
    let read = |row: &tokio_postgres::Row| Partition {
        day: row.get("day"),
        attached: row.get("attached"),
        pending: row.get("pending"),
    };
    Ok(rows.iter().map(read).collect())
}

/// Makes the partitions that will be needed.
pub async fn make_ahead(session: &Session, report: &mut Report) -> Result<(), Error> {
    for row in session.rows(statements::DAYS_AHEAD, &[]).await? {
        let day: Date = row.get("day");
        let mut made = false;
        let mut patience = Patience::default();
        let step = loop {
            let tried = session.row(statements::CREATE_PARTITION, &[&day]).await;
            let tried = tried.map(|row| made = row.is_some_and(|row| row.get("created")));
            if let Some(step) = patience.judge(tried).await? {
                break step;
            }
        };
        match step {
            Step::Done if made => report.partitions_made.push(day),
            Step::Done => {}
            Step::Locked => log::warn!(day:%; "the log is locked: a partition could not be attached"),
        }
    }
    Ok(())
}

/// Takes a partition out of the log; a detach that an earlier round began is finished.
pub async fn detach(session: &Session, partition: Partition) -> Result<Step, Error> {
    let name = partition.name();
    let mut pending = partition.pending;
    let mut patience = Patience::default();
    loop {
        let how = if pending { "finalize" } else { "concurrently" };
        let statement = format!("alter table public.events detach partition public.{name} {how}");
        let tried = session.batch_execute(&statement).await;
        if let Some(step) = patience.judge(tried).await? {
            return Ok(step);
        }
        // Whatever stopped it, the first of its two transactions may have been committed.
        pending = is_pending(session, &partition).await?;
    }
}

async fn is_pending(session: &Session, partition: &Partition) -> Result<bool, tokio_postgres::Error> {
    let rows = session.rows(statements::PARTITIONS, &[]).await?;
    Ok(rows.iter().any(|row| row.get::<_, Date>("day") == partition.day && row.get("pending")))
}

/// What became of a detached partition.
#[derive(Debug, PartialEq, Eq)]
pub enum Dropped {
    Yes,
    /// A replay needs it: it is part of the log again.
    NeededAgain,
    Locked,
}

/// Drops a detached partition, unless a delivery of one of its events was begun anew before it was detached: then it
/// goes back into the log. The question is asked under the partition's lock.
pub async fn drop_detached(session: &Session, partition: Partition) -> Result<Dropped, Error> {
    let mut patience = Patience::default();
    loop {
        let mut needed = false;
        let tried = try_drop(session, &partition, &mut needed).await;
        if tried.is_err() {
            let _ = session.batch_execute("rollback").await;
        }
        match patience.judge(tried).await? {
            Some(Step::Done) if needed => return reattach(session, &partition).await,
            Some(Step::Done) => return Ok(Dropped::Yes),
            Some(Step::Locked) => return Ok(Dropped::Locked),
            None => {}
        }
    }
}

async fn try_drop(
    session: &Session,
    partition: &Partition,
    needed: &mut bool,
) -> Result<(), tokio_postgres::Error> {
    let name = partition.name();
    session.batch_execute(&format!("begin; lock table public.{name} in access exclusive mode")).await?;
    let (lower, upper) = (partition.lower(), partition.upper());
    *needed =
        session.row(statements::OPEN_DELIVERIES, &[&lower, &upper]).await?.is_some_and(|r| r.get("open"));
    let end = if *needed { "commit".to_owned() } else { format!("drop table public.{name}; commit") };
    session.batch_execute(&end).await
}

async fn reattach(session: &Session, partition: &Partition) -> Result<Dropped, Error> {
    let statement = format!(
        "alter table public.events attach partition public.{} for values from ('{} 00:00+00') to ('{} 00:00+00')",
        partition.name(),
        partition.day,
        partition.day.next_day().unwrap_or(partition.day),
    );
    let mut patience = Patience::default();
    loop {
        let tried = session.batch_execute(&statement).await;
        if let Some(step) = patience.judge(tried).await? {
            return Ok(if step == Step::Done { Dropped::NeededAgain } else { Dropped::Locked });
        }
    }
}

/// Counts the tries at something that needs a lock.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    /// What a try came to; None, after a pause, where it is worth another.
    async fn judge(&mut self, tried: Result<(), tokio_postgres::Error>) -> Result<Option<Step>, Error> {
        match tried {
            Ok(()) => return Ok(Some(Step::Done)),
            Err(error) if failure_of(&error) != Failure::Contended => return Err(error.into()),
            Err(_) => self.0 += 1,
        }
        if self.0 == TRIES {
            return Ok(Some(Step::Locked));
        }
        let pause = crate::backoff::full_jitter(Duration::from_millis(100), Duration::from_secs(1), self.0);
        tokio::time::sleep(pause).await;
        Ok(None)
    }
}
