//! The database: reachable, writable, of the right version and schema, its clock, LISTEN, its timeline, and
//! who says in it that they are alive.

use super::finding::Finding;
use super::{Show, services};
use crate::commands::database::{failed, target, url};
use crate::output::latency;
use crate::store;
use anyhow::Result;
use hooks_shared::Config;
use hooks_shared::config::Listen;
use hooks_shared::db::{
    SchemaState, Session, SessionOptions, Target, check_schema, connect, describe, notify_round_trip,
};
use std::time::{Duration, Instant};
use time::OffsetDateTime;

const OLDEST_SERVER: i32 = 150_000;
/// A difference of the clocks that is worth mentioning: freshness windows are minutes long.
const CLOCKS_APART: f64 = 2.0;

/// Looks at everything. Ends early where the next question makes no sense.
pub async fn examine(config: Option<&Config>, raise: bool, show: &mut Show<'_>) -> Result<()> {
    if url().is_none() {
        if raise {
            // Asked for explicitly: doing nothing would look like success.
            target()?;
        }
        return show(Finding::skipped("database", "HOOKS_DATABASE_URL is not set"));
    }
    let target = match target() {
        Ok(target) => target,
        Err(error) => return show(Finding::bad("database", format!("{error:#}"))),
    };
    let started = Instant::now();
    let session = match connect(&target, &SessionOptions::service("hooksctl doctor")).await {
        Ok(session) => session,
        Err(error) => {
            return show(Finding::away("database", format!("{}: {}", target.describe(), describe(&error))));
        }
    };
    let took = latency(started.elapsed());
    server(&session, &target.describe(), &took, show).await?;
    clock(&session, show).await?;
    listen(config, &target, show).await?;
    match check_schema(&session).await.map_err(failed)? {
        SchemaState::Fits => show(Finding::good("schema", "fits this build"))?,
        state => return show(Finding::bad("schema", state.complaint().unwrap_or_default())),
    }
    timeline(&session, raise, show).await?;
    services::instances(&session, show).await
}

async fn server(session: &Session, place: &str, took: &str, show: &mut Show<'_>) -> Result<()> {
    let Some(row) = session.row(store::SERVER, &[]).await.map_err(failed)? else { return Ok(()) };
    let (version, text): (i32, String) = (row.get("version"), row.get("version_text"));
    let role: String = row.get("role");
    let text = text.split_whitespace().next().unwrap_or_default().to_owned();
    show(match version {
        old if old < OLDEST_SERVER => {
            Finding::bad("database", format!("{place} is PostgreSQL {text}; version 15 or later is needed"))
        }
        _ => Finding::good("database", format!("{place}, PostgreSQL {text}, as {role}, connected in {took}")),
    })?;
    show(match (row.get::<_, bool>("standby"), row.get::<_, bool>("read_only")) {
        (true, _) => Finding::bad("writable", "this is a standby: point HOOKS_DATABASE_URL at the primary"),
        (false, true) => Finding::bad(
            "writable",
            "default_transaction_read_only is on: nothing can be stored; switch it off for this role and database",
        ),
        (false, false) => Finding::good("writable", "takes writes"),
    })?;
    if !row.get::<_, bool>("fsync") {
        show(Finding::warning("durability", "fsync is off: a crash of the machine loses accepted events"))?;
    }
    Ok(())
}

/// The difference to this machine's clock, taken at the middle of the question.
async fn clock(session: &Session, show: &mut Show<'_>) -> Result<()> {
    let (before, asked) = (OffsetDateTime::now_utc(), Instant::now());
    let row = session.query_one("select clock_timestamp()", &[]).await.map_err(failed)?;
    let half = asked.elapsed() / 2;
    let there: OffsetDateTime = row.get(0);
    let apart = (there - (before + half)).as_seconds_f64();
    let detail = format!("the database's clock is {:.2} s {} this machine's", apart.abs(), direction(apart));
    show(if apart.abs() < CLOCKS_APART {
        Finding::good("clock", detail)
    } else {
        Finding::warning("clock", format!("{detail}; let both follow a time server"))
    })
}

fn direction(apart: f64) -> &'static str {
    if apart < 0.0 { "behind" } else { "ahead of" }
}

async fn listen(config: Option<&Config>, target: &Target, show: &mut Show<'_>) -> Result<()> {
    let target = match config.map(|config| &config.listen) {
        Some(Listen::Off) => {
            return show(Finding::skipped("listen", "listen_database_url is off: the services poll"));
        }
        Some(Listen::Url(url)) => match Target::parse(url) {
            Ok(target) => target,
            Err(error) => return show(Finding::bad("listen", format!("listen_database_url: {error}"))),
        },
        Some(Listen::Same) | None => target.clone(),
    };
    let word = format!("!doctor-{}", uuid::Uuid::new_v4().simple());
    show(match notify_round_trip(&target, "hooksctl doctor", &word, Duration::from_secs(5)).await {
        Ok(trip) => Finding::good("listen", format!("a notification comes back in {}", latency(trip))),
        Err(why) => Finding::bad(
            "listen",
            format!(
                "{why}; a transaction pooler in between? Give listen_database_url a direct address, or set it \
                 to off (events then come up to a second later)"
            ),
        ),
    })
}

async fn timeline(session: &Session, raise: bool, show: &mut Show<'_>) -> Result<()> {
    if raise {
        session.row(store::RAISE_HEADS, &[]).await.map_err(failed)?;
        return show(Finding::good("timeline", "every source's number was raised by 1,000,000"));
    }
    let Some(row) = session.row(store::TIMELINE, &[]).await.map_err(failed)? else { return Ok(()) };
    let (remembered, current): (Option<String>, Option<String>) = (row.get("remembered"), row.get("current"));
    show(match (remembered, current) {
        (_, None) => Finding::warning(
            "timeline",
            "this server does not tell its timeline: after a failover run `hooksctl doctor --after-failover`",
        ),
        (Some(old), Some(new)) if old != new => Finding::warning(
            "timeline",
            format!(
                "the server was promoted (timeline {old} to {new}); the next event raises the numbers, or do it \
                 now with --after-failover"
            ),
        ),
        (_, Some(now)) => Finding::good("timeline", format!("{now}, as remembered")),
    })
}
