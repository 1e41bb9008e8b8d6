//! What follows from recorded attempts and may be lost without harm: the receivers' health, and the events by which
//! the relay tells of its own failures. Apart from the recorder, in transactions of its own.

use crate::context::Context;
use crate::outcome::{Outcome, Verdict};
use crate::record::Finished;
use crate::store::{self, Claimed, Disabled, Health, HealthRules};
use hooks_shared::config::SYSTEM_SOURCE;
use hooks_shared::db::{Session, describe, notify_once};
use hooks_shared::ids;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A delivery that failed for good, on `hooks.system`.
pub const DELIVERY_FAILED: &str = "delivery.failed";
/// A subscription that the worker disabled, on `hooks.system`.
pub const SUBSCRIPTION_DISABLED: &str = "subscription.disabled";

/// Strikes in a row that open a receiver's circuit.
const OPEN_AFTER: i32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How often what was only counted is told.
const FLUSH: Duration = Duration::from_secs(20);

/// One thing that happened to a subscription.
#[derive(Debug, Clone)]
pub struct FollowUp {
    subscription: String,
    source: String,
    outcome: Option<Outcome>,
    disable: Option<&'static str>,
    failed: Option<Value>,
}

impl FollowUp {
    /// What follows from an attempt; None where a healthy receiver took its event.
    pub fn of(one: &Finished) -> Option<Self> {
        let (claim, row) = (&one.claim, &one.row);
        if row.outcome == Outcome::Succeeded && one.definition.is_healthy {
            return None;
        }
        let failed = match row.verdict {
            Verdict::Failed(why) => Some(json!({
                "delivery_id": claim.id, "source": claim.source, "sequence": claim.sequence, "reason": why,
                "attempts": claim.attempts + 1, "outcome": row.outcome.as_str(), "status": row.status,
                "error": row.error, "url": row.url,
            })),
            _ => None,
        };
        let disable = match row.verdict {
            Verdict::Failed(crate::outcome::GONE) => Some("gone"),
            Verdict::Failed(_) if one.definition.stop_on_failure => {
                Some("a delivery failed and order must be kept")
            }
            _ => None,
        };
        Some(Self {
            subscription: claim.subscription.clone(),
            source: claim.source.clone(),
            outcome: Some(row.outcome),
            disable,
            failed,
        })
    }

    /// A delivery that failed without a request.
    pub fn unsent_failure(claim: &Claimed, why: &str) -> Self {
        Self::without_request(&claim.id, &claim.subscription, &claim.source, claim.sequence, why)
    }

    /// The same, told by its parts.
    pub fn without_request(
        delivery: &str,
        subscription: &str,
        source: &str,
        sequence: i64,
        why: &str,
    ) -> Self {
        Self {
            subscription: subscription.to_owned(),
            source: source.to_owned(),
            outcome: None,
            disable: None,
            failed: Some(
                json!({"delivery_id": delivery, "source": source, "sequence": sequence, "reason": why}),
            ),
        }
    }
}

/// Runs until all who report are gone.
pub async fn run(context: Arc<Context>, mut follow_ups: mpsc::Receiver<FollowUp>) {
    let mut waiting = Vec::new();
    let mut flush = tokio::time::interval(FLUSH);
    loop {
        tokio::select! {
            count = follow_ups.recv_many(&mut waiting, 1000) => {
                if count == 0 {
                    return;
                }
                let batch = std::mem::take(&mut waiting);
                if let Err(error) = follow(&context, batch).await {
                    log::warn!("what follows from results could not be written down: {error}");
                }
            }
            _ = flush.tick() => {
                if let Err(error) = tell_withheld(&context).await {
                    log::debug!("withheld system events wait: {error}");
                }
            }
        }
    }
}

async fn follow(context: &Context, batch: Vec<FollowUp>) -> Result<(), String> {
    let session = context.pool.get().await.map_err(|error| error.to_string())?;
    let rules = HealthRules {
        open_after: OPEN_AFTER,
        first_pause: FIRST_PAUSE,
        longest_pause: LONGEST_PAUSE,
        disable_after: context.settings.disable_after,
    };
    let said = said(&batch);
    let mut appended = false;
    if !said.is_empty() {
        let disabled = store::update_health(&session, &rules, &said).await.map_err(|e| describe(&e))?;
        for one in disabled {
            appended |= tell_disabled(&session, &one).await?;
        }
    }
    for ((subscription, source), (count, details)) in failures(&batch) {
        appended |= tell_failed(&session, &subscription, &source, count, &details).await?;
    }
    if appended {
        notify_once(&session, SYSTEM_SOURCE).await;
    }
    Ok(())
}

/// The batch by subscription, in its order.
fn said(batch: &[FollowUp]) -> Vec<(String, Health)> {
    let mut by_subscription: BTreeMap<&str, Health> = BTreeMap::new();
    for one in batch {
        let Some(outcome) = one.outcome else { continue };
        let health = by_subscription.entry(&one.subscription).or_default();
        health.disable = health.disable.or(one.disable);
        if outcome == Outcome::Succeeded {
            *health = Health { succeeded: true, disable: health.disable, ..Health::default() };
        } else if outcome.is_strike() {
            health.succeeded = false;
            health.strikes += 1;
        } else {
            *health = Health { answered: true, disable: health.disable, ..Health::default() };
        }
    }
    by_subscription.into_iter().map(|(id, health)| (id.to_owned(), health)).collect()
}

/// How many deliveries of each subscription failed, and the last of them.
fn failures(batch: &[FollowUp]) -> BTreeMap<(String, String), (i32, Value)> {
    let mut all: BTreeMap<(String, String), (i32, Value)> = BTreeMap::new();
    for one in batch {
        let Some(details) = &one.failed else { continue };
        let entry = all.entry((one.subscription.clone(), one.source.clone())).or_insert((0, Value::Null));
        *entry = (entry.0 + 1, details.clone());
    }
    all
}

/// True when an event was appended. A failed delivery of the relay's own events is a log line, never another event.
async fn tell_failed(
    session: &Session,
    subscription: &str,
    source: &str,
    count: i32,
    details: &Value,
) -> Result<bool, String> {
    log::warn!(subscription, source, count, last:% = details; "deliveries failed");
    if source == SYSTEM_SOURCE {
        return Ok(false);
    }
    tell(session, subscription, DELIVERY_FAILED, Some(details), count).await
}

async fn tell_disabled(session: &Session, one: &Disabled) -> Result<bool, String> {
    log::warn!(subscription = one.subscription.as_str(), reason = one.reason.as_str(); "subscription disabled");
    if one.source == SYSTEM_SOURCE {
        return Ok(false);
    }
    let details = json!({"source": one.source, "reason": one.reason});
    tell(session, &one.subscription, SUBSCRIPTION_DISABLED, Some(&details), 1).await
}

async fn tell(
    session: &Session,
    subscription: &str,
    kind: &str,
    details: Option<&Value>,
    count: i32,
) -> Result<bool, String> {
    let millis = time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    let event_id = ids::event_id(millis as i64);
    let number = store::announce(session, subscription, kind, &event_id, details, count)
        .await
        .map_err(|error| describe(&error))?;
    Ok(number.is_some())
}

async fn tell_withheld(context: &Context) -> Result<(), String> {
    let session = context.pool.get().await.map_err(|error| error.to_string())?;
    let mut appended = false;
    for (subscription, kind) in store::withheld(&session).await.map_err(|e| describe(&e))? {
        appended |= tell(&session, &subscription, &kind, None, 0).await?;
    }
    if appended {
        notify_once(&session, SYSTEM_SOURCE).await;
    }
    Ok(())
}
