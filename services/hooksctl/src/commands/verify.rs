//! `hooksctl verify`: does every stored body still have the hash that ingest gave it?

use super::{Failed, database};
use crate::interrupt::unless_interrupted;
use crate::options::Global;
use crate::output::{Screen, line};
use crate::store;
use anyhow::{Context, Result};
use hooks_shared::db::{Session, SessionOptions};
use serde_json::json;
use time::{Date, OffsetDateTime, UtcOffset};

/// Recompute the hash of every stored body; code 1 if one differs. Talks to: the database.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this source
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Events read at once
    #[arg(long, default_value = "500", value_parser = clap::value_parser!(i64).range(1..=10_000))]
    page: i64,
}

/// A source's day of the log.
struct Day {
    source: String,
    day: Date,
    events: i64,
}

pub async fn run(global: &Global, args: Args) -> Result<()> {
    unless_interrupted(verify(global, args)).await
}

async fn verify(global: &Global, args: Args) -> Result<()> {
    let session = database::connect(SessionOptions::unhurried("hooksctl verify")).await?;
    database::expect_schema(&session).await?;
    let days = days(&session, args.source.as_deref()).await?;
    let total: i64 = days.iter().map(|day| day.events).sum();
    let screen = Screen::with_progress(global.json, total.unsigned_abs());
    let mut count = Count::default();
    for day in &days {
        check_day(&session, day, args.page, &screen, &mut count).await?;
    }
    screen.clear();
    if global.json {
        line(&json!({"checked": count.checked, "mismatches": count.wrong}).to_string())?;
    } else {
        line(&format!("{} bodies checked, {} differ from their hash", count.checked, count.wrong))?;
    }
    match count.wrong {
        0 => Ok(()),
        _ => Err(Failed(
            "stored bodies have changed: restore them from a backup, and look for a failing disk".to_owned(),
        )
        .into()),
    }
}

#[derive(Debug, Default)]
struct Count {
    checked: u64,
    wrong: u64,
}

async fn days(session: &Session, source: Option<&str>) -> Result<Vec<Day>> {
    let rows = session.rows(store::DAYS, &[]).await.map_err(database::failed)?;
    let day = |row: &tokio_postgres::Row| Day {
        source: row.get("source"),
        day: row.get("day"),
        events: row.get("events"),
    };
    let days = rows.iter().map(day);
    Ok(days.filter(|day| source.is_none_or(|source| day.source == source)).collect())
}

async fn check_day(
    session: &Session,
    day: &Day,
    page: i64,
    screen: &Screen,
    count: &mut Count,
) -> Result<()> {
    let (from, to) = bounds(day.day)?;
    screen.status(format!("{} {}", day.source, day.day));
    let mut after = 0i64;
    loop {
        let rows = session
            .rows(store::HASHES, &[&day.source, &after, &from, &to, &page])
            .await
            .map_err(database::failed)?;
        for row in &rows {
            after = row.get("sequence");
            count.checked += 1;
            let (stored, found): (String, String) = (row.get("stored"), row.get("found"));
            if stored != found {
                count.wrong += 1;
                report(screen, &day.source, after, &stored, &found)?;
            }
        }
        screen.advance(rows.len() as u64);
        if (rows.len() as i64) < page {
            return Ok(());
        }
    }
}

fn bounds(day: Date) -> Result<(OffsetDateTime, OffsetDateTime)> {
    let next = day.next_day().context("the last day of the calendar")?;
    Ok((day.midnight().assume_offset(UtcOffset::UTC), next.midnight().assume_offset(UtcOffset::UTC)))
}

fn report(screen: &Screen, source: &str, sequence: i64, stored: &str, found: &str) -> Result<()> {
    if screen.json {
        let shown = json!({"source": source, "sequence": sequence, "stored": stored, "recomputed": found});
        return screen.line(&shown.to_string());
    }
    screen.line(&format!("mismatch source={source} sequence={sequence} stored={stored} recomputed={found}"))
}
