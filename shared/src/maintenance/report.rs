//! What a round of maintenance did, in numbers and in one line.

use serde::Serialize;
use std::fmt;
use time::Date;

/// What a round of maintenance did.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Days whose partition was made.
    pub partitions_made: Vec<Date>,
    /// Days whose partition was dropped.
    pub partitions_dropped: Vec<Date>,
    /// Days whose partition is to go, but somebody held a lock on it: the next round tries again.
    pub partitions_postponed: Vec<Date>,
    /// Events deleted one by one.
    pub events: u64,
    /// What push was owed of events that had to go: deliveries and events not yet delivered.
    pub expired_backlog: u64,
    /// Ended deliveries whose time had come.
    pub deliveries: u64,
    pub audit: u64,
    pub tokens: u64,
    pub replay_requests: u64,
    pub stale_instances: u64,
    pub handshakes: u64,
    /// Sessions, pairings and invites that ended.
    pub sign_ins: u64,
}

impl Report {
    /// Nothing was there to do.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.partitions_made.len() as u64, "partitions made"),
            (self.partitions_dropped.len() as u64, "partitions dropped"),
            (self.partitions_postponed.len() as u64, "partitions still in use, left for the next round"),
            (self.events, "events deleted"),
            (self.expired_backlog, "undelivered events expired"),
            (self.deliveries, "ended deliveries"),
            (self.audit, "audit rows"),
            (self.tokens, "ended tokens"),
            (self.replay_requests, "replay requests"),
            (self.stale_instances, "stale instances and listeners"),
            (self.handshakes, "old handshakes"),
            (self.sign_ins, "ended sessions, pairings and invites"),
        ];
        let words: Vec<String> =
            counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if words.is_empty() { f.write_str("nothing to do") } else { f.write_str(&words.join(", ")) }
    }
}
