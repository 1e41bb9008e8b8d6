//! UTC days: every statement on the log is bounded by one.

use super::Result;
use hooks_shared::db::{Session, Sql};
use hooks_shared::sql;
use time::{Date, OffsetDateTime, Time, UtcOffset};

const DAYS: Sql = sql!("days.sql");
const DAY_OF: Sql = sql!("day_of.sql");
pub(super) const STATEMENTS: &[Sql] = &[DAYS, DAY_OF];

/// Days looked at in one request; the next page goes on behind them.
pub const MOST_DAYS: i64 = 30;

/// One UTC day: a partition of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub Date);

impl Day {
    pub fn of(at: OffsetDateTime) -> Self {
        Self(at.to_offset(UtcOffset::UTC).date())
    }

    pub fn start(self) -> OffsetDateTime {
        self.0.with_time(Time::MIDNIGHT).assume_utc()
    }

    pub fn end(self) -> OffsetDateTime {
        self.0.next_day().unwrap_or(Date::MAX).with_time(Time::MIDNIGHT).assume_utc()
    }
}

/// The days on which any of the sources has events, newest first, between two days.
pub async fn days(db: &Session, sources: &[String], from: Date, to: Date) -> Result<Vec<Day>> {
    // One more than is looked at tells whether there is a next page.
    let most = MOST_DAYS + 1;
    let rows = db.rows(DAYS, &[&sources, &from, &to, &most]).await?;
    rows.iter().map(|row| Ok(Day(row.try_get("day")?))).collect()
}

/// The day of a sequence, if that number was ever given.
pub async fn day_of(db: &Session, source: &str, sequence: i64) -> Result<Option<Day>> {
    let row = db.row(DAY_OF, &[&source, &sequence]).await?;
    row.map(|row| Ok(Day(row.try_get("day")?))).transpose()
}
