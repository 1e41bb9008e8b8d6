//! The sections that belong to one service each, with their defaults (this file is the only place of them).

use super::Retention;
use super::table::Table;
use std::time::Duration;

/// `ingest:`
#[derive(Debug, Clone, Copy)]
pub struct IngestSettings {
    /// Committers of this process; a source always belongs to the same one.
    pub lanes: usize,
    /// Bytes of request bodies that may be in memory at once.
    pub byte_budget: u64,
    /// How long an undecided commit is pursued before the answer is 503.
    pub commit_deadline: Duration,
}

impl IngestSettings {
    pub(super) fn read(table: Table<'_>) -> Self {
        let settings = Self {
            lanes: table.count("lanes", 1, 64).unwrap_or(4) as usize,
            byte_budget: table.size("byte_budget").unwrap_or(256 << 20),
            commit_deadline: table.duration("commit_deadline").unwrap_or(Duration::from_secs(10)),
        };
        if settings.byte_budget < 1 << 20 {
            table.fault("byte_budget", "is below 1MiB: a single ordinary event would not fit");
        }
        if settings.commit_deadline < Duration::from_millis(100) {
            table.fault("commit_deadline", "is below 100ms: no commit could be waited for");
        }
        table.finish();
        settings
    }
}

/// `subscribe:`
#[derive(Debug, Clone, Copy)]
pub struct SubscribeSettings {
    pub keepalive: Duration,
    /// Bytes of serialised newest events kept per source.
    pub ring_bytes: u64,
    /// Pages read from the database at once for listeners that are behind.
    pub catch_up_reads: usize,
    /// A reader that takes nothing for so long is cut.
    pub stall_timeout: Duration,
}

impl SubscribeSettings {
    pub(super) fn read(table: Table<'_>) -> Self {
        let settings = Self {
            keepalive: table.duration("keepalive").unwrap_or(Duration::from_secs(15)),
            ring_bytes: table.size("ring_bytes").unwrap_or(16 << 20),
            catch_up_reads: table.count("catch_up_reads", 1, 1024).unwrap_or(16) as usize,
            stall_timeout: table.duration("stall_timeout").unwrap_or(Duration::from_secs(60)),
        };
        if settings.keepalive < Duration::from_millis(100) {
            table.fault("keepalive", "is below 100ms");
        }
        if settings.stall_timeout <= settings.keepalive {
            table.fault(
                "stall_timeout",
                "must be longer than subscribe.keepalive: a healthy idle reader takes something only that often",
            );
        }
        table.finish();
        settings
    }
}

/// `inspector:`
#[derive(Debug, Clone)]
pub struct InspectorSettings {
    /// Host names under which the page may be reached; loopback is always allowed.
    pub hosts: Vec<String>,
    pub session_ttl: Duration,
    /// None: secure cookies behind TLS, plain ones on loopback.
    pub secure_cookies: Option<bool>,
    pub audit_retention: Retention,
}

impl InspectorSettings {
    pub(super) fn read(table: Table<'_>) -> Self {
        let settings = Self {
            hosts: table.texts("hosts").unwrap_or_default(),
            session_ttl: table.duration("session_ttl").unwrap_or(Duration::from_secs(30 * 86_400)),
            secure_cookies: table
                .parsed("secure_cookies", |text| match text {
                    "auto" => Ok(None),
                    "true" => Ok(Some(true)),
                    "false" => Ok(Some(false)),
                    _ => Err(format!("must be auto, true or false, not `{text}`")),
                })
                .flatten(),
            audit_retention: table
                .parsed("audit_retention", Retention::parse)
                .unwrap_or(Retention::For(Duration::from_secs(400 * 86_400))),
        };
        if settings.session_ttl < Duration::from_secs(60) {
            table.fault("session_ttl", "is below 1m: nobody could stay signed in");
        }
        table.finish();
        settings
    }
}
