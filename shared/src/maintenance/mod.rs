//! Housekeeping of the log: partitions made ahead, retention, and rows that have had their time. A task in every
//! push-worker runs it hourly, `hooksctl prune` on demand; an advisory lock keeps it to one at a time.
//!
//! Retention knows of push: what a subscription's cursor or an open delivery still needs is kept up to the backlog
//! limit; then the deliveries fail as expired, the cursor goes past, and an event on `hooks.system` says so.
//!
//! The database's clock decides. Sequences live in `source_heads`, which is never touched here, so numbers go on
//! after everything was pruned.

mod backlog;
mod history;
mod partition;
mod report;
mod retention;
mod statements;
mod task;

pub use report::Report;
pub use retention::{Fate, Holding, fate_of};
pub use statements::STATEMENTS;
pub use task::{CONDITION, spawn};

use crate::config::{Config, Retention};
use crate::db::{Session, SessionOptions, Target, connect, describe};
use std::collections::BTreeMap;
use std::time::Duration;

/// Key of the advisory lock; any number that nobody else uses.
const LOCK: i64 = 0x686f_6f6b_735f_6d74;

/// How long a lock on the log is waited for: everything behind us in the queue waits as long.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);

/// What is kept for how long.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Of the configured sources.
    pub retention: BTreeMap<String, Retention>,
    /// Of every other source: those no longer configured, and `hooks.system`.
    pub default_retention: Retention,
    /// For how long events are kept that push still needs, counted from their arrival.
    pub backlog_limit: Duration,
    /// For how long ended deliveries and their attempts are kept.
    pub history: Duration,
    pub audit_retention: Retention,
}

impl From<&Config> for Settings {
    fn from(config: &Config) -> Self {
        let retention =
            config.sources.iter().map(|(name, source)| (name.clone(), source.retention)).collect();
        Self {
            retention,
            default_retention: config.retention,
            backlog_limit: config.push.backlog_limit,
            history: config.push.history,
            audit_retention: config.inspector.audit_retention,
        }
    }
}

impl Settings {
    /// How long events of `source` are kept.
    pub fn retention_of(&self, source: &str) -> Retention {
        self.retention.get(source).copied().unwrap_or(self.default_retention)
    }
}

/// What a run came to.
#[derive(Debug)]
pub enum Outcome {
    Done(Report),
    /// Somebody else is at it at this moment, which is as good.
    Busy,
}

/// Why maintenance cannot run or did not finish.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tables belong to another role; nothing was tried.
    #[error(
        "{me} does not own the tables, {owner} does: set HOOKS_MAINTENANCE_DATABASE_URL to a role that may"
    )]
    NotOwner { me: String, owner: String },
    #[error("the database has no hooks schema; run `hooksctl migrate`")]
    NoSchema,
    #[error("{}", describe(.0))]
    Database(#[from] tokio_postgres::Error),
}

/// Opens a connection for maintenance, acting as the owner of the tables. It must not go through a transaction
/// pooler: locks and roles belong to the session.
pub async fn open(target: &Target) -> Result<Session, Error> {
    let options =
        SessionOptions { lock_timeout: LOCK_TIMEOUT, ..SessionOptions::unhurried("hooks-maintenance") };
    let session = connect(target, &options).await?;
    become_owner(&session).await?;
    Ok(session)
}

async fn become_owner(session: &Session) -> Result<(), Error> {
    let row = session.row(statements::ACCESS, &[]).await?.ok_or(Error::NoSchema)?;
    if row.get("is_owner") {
        return Ok(());
    }
    let (me, owner): (String, String) = (row.get("me"), row.get("owner"));
    if !row.get::<_, bool>("is_member") {
        return Err(Error::NotOwner { me, owner });
    }
    // A role name cannot be a parameter; it comes from the catalogue and is quoted.
    session.batch_execute(&format!("set role \"{}\"", owner.replace('"', "\"\""))).await?;
    Ok(())
}

/// One round of everything, over a connection of [`open`].
pub async fn run_once(session: &Session, settings: &Settings) -> Result<Outcome, Error> {
    let locked: bool = session.query_one("select pg_try_advisory_lock($1)", &[&LOCK]).await?.get(0);
    if !locked {
        return Ok(Outcome::Busy);
    }
    let done = run_locked(session, settings).await;
    // Should this fail, the session is broken and its end releases the lock.
    let _ = session.execute("select pg_advisory_unlock($1)", &[&LOCK]).await;
    Ok(Outcome::Done(done?))
}

async fn run_locked(session: &Session, settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::default();
    // First what ingest cannot do without.
    partition::make_ahead(session, &mut report).await?;
    retention::apply(session, settings, &mut report).await?;
    history::purge(session, settings, &mut report).await?;
    tidy(session, settings, &mut report).await?;
    Ok(report)
}

async fn tidy(session: &Session, settings: &Settings, report: &mut Report) -> Result<(), Error> {
    session.run(statements::FORGET_DAYS, &[]).await?;
    report.tokens = session.run(statements::TIDY_TOKENS, &[]).await?;
    report.replay_requests = session.run(statements::TIDY_REPLAYS, &[]).await?;
    report.stale_instances = session.run(statements::TIDY_INSTANCES, &[]).await?
        + session.run(statements::TIDY_LISTENERS, &[]).await?;
    report.handshakes = session.run(statements::TIDY_HANDSHAKES, &[]).await?;
    if let Some(row) = session.row(statements::TIDY_PEOPLE, &[]).await? {
        report.sign_ins = u64::try_from(row.get::<_, i64>("people")).unwrap_or(0);
    }
    session.run(statements::DROP_SEARCH_PARTITIONS, &[]).await?;
    session.run(statements::TIDY_NOTICES, &[]).await?;
    if let Retention::For(kept) = settings.audit_retention {
        report.audit = session.run(statements::TIDY_AUDIT, &[&kept.as_secs_f64()]).await?;
    }
    Ok(())
}
