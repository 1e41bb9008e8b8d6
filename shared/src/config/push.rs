//! `push:`, and the laws between its keys that a worker refuses to start without.

use super::Retention;
use super::table::{Table, kind};
use super::values;
use serde_json::Value;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// When a failed delivery is tried again: the waits after the first, second, … failed attempt.
/// The number of attempts is the number of waits plus one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySchedule(Vec<Duration>);

impl Default for RetrySchedule {
    /// 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 6 h, 12 h, 24 h: ten attempts over about two days.
    fn default() -> Self {
        Self([5, 30, 120, 600, 1800, 7200, 21_600, 43_200, 86_400].map(Duration::from_secs).to_vec())
    }
}

impl RetrySchedule {
    pub const MOST_ATTEMPTS: usize = 100;

    /// The wait after the `made`-th attempt of a cycle; None when the allowance is spent.
    pub fn wait_after(&self, made: u32) -> Option<Duration> {
        made.checked_sub(1).and_then(|index| self.0.get(index as usize)).copied()
    }

    pub fn max_attempts(&self) -> u32 {
        self.0.len() as u32 + 1
    }

    pub fn waits(&self) -> &[Duration] {
        &self.0
    }

    /// Reads `{schedule: [5s, …]}` or `{max_attempts, initial, factor, cap}`; the error is a place and a message.
    pub fn from_value(value: &Value) -> Result<Self, (String, String)> {
        let at = |key: &str, message: String| (key.to_owned(), message);
        let Value::Object(map) = value else {
            return Err(at("", format!("must be a mapping, not {}", kind(value))));
        };
        if let Some(list) = map.get("schedule") {
            if let Some(other) = map.keys().find(|key| *key != "schedule") {
                return Err(at(other, "cannot stand beside `schedule`".to_owned()));
            }
            return Self::from_list(list);
        }
        let known = ["max_attempts", "initial", "factor", "cap"];
        if let Some(other) = map.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(at(other, format!("is not known here; known are: schedule, {}", known.join(", "))));
        }
        let span = |key: &str, default: Duration| match map.get(key) {
            None => Ok(default),
            Some(Value::String(text)) => values::duration(text).map_err(|message| at(key, message)),
            Some(other) => Err(at(key, format!("must be a duration such as 5s, not {}", kind(other)))),
        };
        let attempts = match map.get("max_attempts") {
            None => 10,
            Some(number) => number
                .as_u64()
                .filter(|n| (1..=Self::MOST_ATTEMPTS as u64).contains(n))
                .ok_or_else(|| at("max_attempts", "must be a whole number from 1 to 100".to_owned()))?,
        };
        let factor = match map.get("factor") {
            None => 2.0,
            Some(number) => number
                .as_f64()
                .filter(|f| (1.0..=100.0).contains(f))
                .ok_or_else(|| at("factor", "must be a number from 1 to 100".to_owned()))?,
        };
        let initial = span("initial", Duration::from_secs(5))?;
        let cap = span("cap", 24 * HOUR)?;
        if cap < initial {
            return Err(at("cap", "is shorter than `initial`".to_owned()));
        }
        let mut wait = initial.as_secs_f64();
        let mut waits = Vec::new();
        for _ in 1..attempts {
            waits.push(Duration::from_secs_f64(wait.min(cap.as_secs_f64())));
            wait = (wait * factor).min(cap.as_secs_f64());
        }
        Ok(Self(waits))
    }

    fn from_list(list: &Value) -> Result<Self, (String, String)> {
        let Value::Array(items) = list else {
            return Err(("schedule".to_owned(), format!("must be a list of durations, not {}", kind(list))));
        };
        if items.len() >= Self::MOST_ATTEMPTS {
            return Err(("schedule".to_owned(), "has more than 99 waits".to_owned()));
        }
        let mut waits = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let place = format!("schedule[{index}]");
            match item {
                Value::String(text) => {
                    waits.push(values::duration(text).map_err(|message| (place, message))?)
                }
                other => return Err((place, format!("must be a duration such as 5s, not {}", kind(other)))),
            }
        }
        Ok(Self(waits))
    }
}

/// `push:`
#[derive(Debug, Clone)]
pub struct PushSettings {
    pub lease: Duration,
    /// Total: connect, TLS, write, headers and body.
    pub attempt_timeout: Duration,
    pub connect_timeout: Duration,
    /// Time kept for recording a result before the lease ends.
    pub margin: Duration,
    pub drain: Duration,
    pub concurrency: usize,
    pub retry: RetrySchedule,
    /// How long terminal deliveries and their attempts are kept.
    pub history: Duration,
    /// How long events are kept for cursors and open deliveries beyond their retention.
    pub backlog_limit: Duration,
    pub max_lost_claims: u32,
    pub disable_after: Duration,
    /// CIDRs, `loopback`, `private`.
    pub allow_destinations: Vec<String>,
    pub proxy: Option<String>,
    /// Declared push subscriptions, for `hooksctl push apply`.
    pub subscriptions: Option<Value>,
}

impl PushSettings {
    pub(super) fn read(table: Table<'_>, retention: &Retention) -> Self {
        let or = |key, default: u64| table.duration(key).unwrap_or(Duration::from_secs(default));
        let week = 7 * 24 * HOUR;
        let kept = match retention {
            Retention::For(kept) => week.max(*kept * 2),
            Retention::Forever => week,
        };
        let retry = match table.value("retry") {
            None => RetrySchedule::default(),
            Some(value) => RetrySchedule::from_value(&value).unwrap_or_else(|(place, message)| {
                let key = if place.is_empty() { "retry".to_owned() } else { format!("retry.{place}") };
                table.fault(&key, message);
                RetrySchedule::default()
            }),
        };
        let settings = Self {
            lease: or("lease", 60),
            attempt_timeout: or("attempt_timeout", 30),
            connect_timeout: or("connect_timeout", 10),
            margin: or("margin", 10),
            drain: or("drain", 30),
            concurrency: table.count("concurrency", 1, 100_000).unwrap_or(256) as usize,
            retry,
            history: or("history", 30 * 86_400),
            backlog_limit: table.duration("backlog_limit").unwrap_or(kept),
            max_lost_claims: table.count("max_lost_claims", 1, 1000).unwrap_or(10) as u32,
            disable_after: or("disable_after", 5 * 86_400),
            allow_destinations: table.texts("allow_destinations").unwrap_or_default(),
            proxy: table.text("proxy"),
            subscriptions: table.value("subscriptions"),
        };
        settings.check(&table);
        table.finish();
        settings
    }

    /// Law L8: the lease outlasts an attempt and its recording; a drain ends before the lease does.
    fn check(&self, table: &Table<'_>) {
        if self.attempt_timeout.is_zero() || self.connect_timeout.is_zero() {
            table.fault("attempt_timeout", "and push.connect_timeout must be longer than zero");
        }
        if self.lease <= self.attempt_timeout + self.margin {
            table.fault(
                "lease",
                format!(
                    "({:?}) must be longer than push.attempt_timeout ({:?}) plus push.margin ({:?}), or another worker takes a delivery whose request is still under way",
                    self.lease, self.attempt_timeout, self.margin
                ),
            );
        }
        if self.drain > self.lease {
            table.fault(
                "drain",
                format!(
                    "({:?}) must not be longer than push.lease ({:?}): claims would expire while the worker still drains",
                    self.drain, self.lease
                ),
            );
        }
        if self.connect_timeout > self.attempt_timeout {
            table
                .fault("connect_timeout", "must not be longer than push.attempt_timeout, which is the total");
        }
        for (index, text) in self.allow_destinations.iter().enumerate() {
            let known =
                matches!(text.as_str(), "loopback" | "private") || text.parse::<ipnet::IpNet>().is_ok();
            if !known {
                table.fault(
                    &format!("allow_destinations[{index}]"),
                    format!("`{text}` is neither `loopback`, `private` nor a range such as 10.0.0.0/8"),
                );
            }
        }
    }
}
