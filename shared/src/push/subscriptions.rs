//! What operators do with push subscriptions.

use super::definition::{NewSubscription, Patch, Start, signing_fault};
use super::destination::{Policy, Resolver};
use super::error::OperatorError;
use super::secrets::mint_secret;
use super::statements::*;
use super::work::Work;
use crate::Secret;
use crate::config::SYSTEM_SOURCE;
use crate::db::{Session, notify_once};
use crate::ids;
use crate::sealed::{Keyring, Place};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use time::OffsetDateTime;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

pub use super::secrets::{reseal_all, rotate_secret};

/// Who acts, and with what.
#[derive(Clone)]
pub struct Desk {
    /// Stands in the audit row.
    pub actor: String,
    pub keyring: Keyring,
    pub policy: Policy,
    pub resolver: Arc<dyn Resolver>,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("actor", &self.actor).finish_non_exhaustive()
    }
}

/// A subscription as operators see it. No secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    pub id: String,
    pub name: String,
    pub source: String,
    pub url: String,
    pub signing: String,
    pub max_in_flight: i32,
    pub rate: Option<f32>,
    pub ordered: bool,
    pub on_failure: String,
    pub preserve_method: bool,
    pub forward_credentials: bool,
    pub record_response: i32,
    pub retry: Option<Value>,
    #[serde(with = "time::serde::rfc3339")]
    pub created_at: OffsetDateTime,
    pub created_by: String,
    #[serde(with = "time::serde::rfc3339")]
    pub updated_at: OffsetDateTime,
    /// Until when the secret before the present one signs too.
    #[serde(with = "time::serde::rfc3339::option")]
    pub previous_secret_until: Option<OffsetDateTime>,
    /// `active`, `paused`, `disabled` or `deleted`.
    pub state: String,
    pub state_reason: Option<String>,
    pub state_by: Option<String>,
    #[serde(with = "time::serde::rfc3339")]
    pub state_at: OffsetDateTime,
    pub cursor: i64,
    /// Numbers between the cursor and the head of the source.
    pub behind: i64,
    /// Deliveries not yet at an end; 1001 stands for more than 1000.
    pub open: i64,
    /// Failed deliveries; 1001 stands for more than 1000.
    pub failed: i64,
    /// Timeouts and refused connections in a row.
    #[serde(alias = "consecutive_failures")]
    pub strikes: i32,
    /// While the circuit is open: when the receiver is tried next.
    #[serde(with = "time::serde::rfc3339::option")]
    pub probe_at: Option<OffsetDateTime>,
    /// Since when nothing but failures came back.
    #[serde(with = "time::serde::rfc3339::option")]
    pub failing_since: Option<OffsetDateTime>,
}

/// A new subscription; its secret is shown this once.
#[derive(Debug)]
pub struct Created {
    pub subscription: Subscription,
    pub secret: Secret,
}

/// Makes a subscription.
pub async fn create(session: &Session, desk: &Desk, new: &NewSubscription) -> Result<Created, OperatorError> {
    let secret = new.secret.clone().map_or_else(mint_secret, Secret::new);
    let mut faults = new.faults(&desk.policy, &desk.resolver).await;
    if faults.is_empty() {
        faults.extend(signing_fault(&new.signing, &secret));
    }
    if !faults.is_empty() {
        return Err(OperatorError::Invalid { faults });
    }
    let id = ids::subscription_id(unix_millis());
    let sealed = desk.keyring.seal(&secret, Place { row: &id, column: "secret" });
    let start = match new.start {
        Start::Latest => None,
        Start::After(sequence) => Some(sequence),
    };
    let work = Work::begin(session).await?;
    let made = session
        .row(
            INSERT_SUBSCRIPTION,
            &[
                &id,
                &new.name,
                &new.source,
                &new.url,
                &new.signing,
                &sealed,
                &new.max_in_flight,
                &new.rate,
                &new.ordered,
                &new.on_failure,
                &new.preserve_method,
                &new.forward_credentials,
                &new.record_response,
                &new.retry,
                &desk.actor,
                &start,
            ],
        )
        .await;
    match made {
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            return work.refuse(OperatorError::NameTaken).await;
        }
        Err(error) => return Err(error.into()),
        Ok(None) => return work.refuse(OperatorError::NoSource(new.source.clone())).await,
        Ok(Some(_)) => {}
    }
    work.audit(&desk.actor, "push.create", &id, 1, Some(json!({"name": new.name, "source": new.source})))
        .await?;
    work.commit().await?;
    notify_once(session, "!push").await;
    Ok(Created { subscription: show(session, &id).await?, secret })
}

/// All subscriptions, or those of one source.
pub async fn list(session: &Session, source: Option<&str>) -> Result<Vec<Subscription>, OperatorError> {
    let rows = session.rows(LIST_SUBSCRIPTIONS, &[&source, &None::<&str>]).await?;
    Ok(rows.iter().map(read).collect())
}

/// One subscription, deleted ones too.
pub async fn show(session: &Session, id: &str) -> Result<Subscription, OperatorError> {
    let row = session.row(LIST_SUBSCRIPTIONS, &[&None::<&str>, &Some(id)]).await?;
    row.map(|row| read(&row)).ok_or_else(|| OperatorError::NoSubscription(id.to_owned()))
}

/// Changes a definition. Every attempt from now on uses it.
pub async fn update(
    session: &Session,
    desk: &Desk,
    id: &str,
    patch: &Patch,
) -> Result<Subscription, OperatorError> {
    let faults = patch.faults(&desk.policy, &desk.resolver).await;
    if !faults.is_empty() {
        return Err(OperatorError::Invalid { faults });
    }
    let work = Work::begin(session).await?;
    if let Err(error) = work.lock(id).await {
        return work.refuse(error).await;
    }
    if let Some(signing) = &patch.signing
        && let Some(row) = session.row(SECRETS, &[&Some(id)]).await?
    {
        let opened = desk.keyring.open(row.get("secret"), Place { row: id, column: "secret" });
        let refusal = match opened {
            Ok(secret) => {
                signing_fault(signing, &secret).map(|fault| OperatorError::Invalid { faults: vec![fault] })
            }
            Err(error) => Some(error.into()),
        };
        if let Some(error) = refusal {
            return work.refuse(error).await;
        }
    }
    let changed = session
        .row(
            UPDATE_SUBSCRIPTION,
            &[
                &id,
                &patch.name,
                &patch.url,
                &patch.signing,
                &patch.max_in_flight,
                &patch.ordered,
                &patch.on_failure,
                &patch.rate.flatten(),
                &patch.rate.is_some(),
                &patch.preserve_method,
                &patch.retry.clone().flatten(),
                &patch.retry.is_some(),
                &patch.forward_credentials,
                &patch.record_response,
            ],
        )
        .await;
    match changed {
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            return work.refuse(OperatorError::NameTaken).await;
        }
        Err(error) => return Err(error.into()),
        Ok(None) => return work.refuse(OperatorError::NoSubscription(id.to_owned())).await,
        Ok(Some(_)) => {}
    }
    work.audit(&desk.actor, "push.update", id, 1, Some(patch.told())).await?;
    work.commit().await?;
    notify_once(session, "!push").await;
    show(session, id).await
}

/// Stops claims at once; the backlog stays, requests under way end.
pub async fn pause(
    session: &Session,
    actor: &str,
    id: &str,
    reason: Option<&str>,
) -> Result<(), OperatorError> {
    set_state(session, actor, id, "paused", reason).await
}

/// Starts a paused or disabled subscription again, with a closed circuit.
pub async fn resume(session: &Session, actor: &str, id: &str) -> Result<(), OperatorError> {
    set_state(session, actor, id, "active", None).await
}

/// Like pause, and says that something is wrong.
pub async fn disable(
    session: &Session,
    actor: &str,
    id: &str,
    reason: Option<&str>,
) -> Result<(), OperatorError> {
    set_state(session, actor, id, "disabled", reason).await
}

async fn set_state(
    session: &Session,
    actor: &str,
    id: &str,
    state: &str,
    reason: Option<&str>,
) -> Result<(), OperatorError> {
    let work = Work::begin(session).await?;
    if let Err(error) = work.lock(id).await {
        return work.refuse(error).await;
    }
    if session.row(SET_STATE, &[&id, &state, &reason, &actor]).await?.is_none() {
        return work.refuse(OperatorError::NoSubscription(id.to_owned())).await;
    }
    let action = format!("push.{state}");
    work.audit(actor, &action, id, 1, reason.map(|reason| json!({"reason": reason}))).await?;
    work.commit().await?;
    notify_once(session, "!push").await;
    Ok(())
}

/// Deletes a subscription and cancels all it owes, requests under way included; how many deliveries that were.
pub async fn delete(session: &Session, actor: &str, id: &str) -> Result<i64, OperatorError> {
    let work = Work::begin(session).await?;
    if let Err(error) = work.lock(id).await {
        return work.refuse(error).await;
    }
    let Some(row) = session.row(DELETE_SUBSCRIPTION, &[&id, &actor]).await? else {
        return work.refuse(OperatorError::NoSubscription(id.to_owned())).await;
    };
    let cancelled: i64 = row.get("cancelled");
    work.audit(actor, "push.delete", id, cancelled, None).await?;
    work.commit().await?;
    notify_once(session, "!push").await;
    Ok(cancelled)
}

/// Sends a sample event to a subscription: an event of type `subscription.test` on `hooks.system`, and a delivery of
/// it. The delivery's id.
pub async fn test(session: &Session, actor: &str, id: &str) -> Result<String, OperatorError> {
    let event_id = ids::event_id(unix_millis());
    let details = json!({"message": "a test, asked for by an operator", "by": actor});
    // In a transaction of its own: the head of the log must not wait for a cursor row.
    show(session, id).await?;
    let number: Option<i64> =
        session.row(ANNOUNCE_TEST, &[&id, &event_id, &details]).await?.and_then(|row| row.get("number"));
    let unavailable = || OperatorError::NoEvent { source_name: SYSTEM_SOURCE.to_owned(), sequence: 0 };
    let number = number.ok_or_else(unavailable)?;
    super::event_replay::push_one(session, actor, id, SYSTEM_SOURCE, number, "push.test").await
}

pub(super) fn unix_millis() -> i64 {
    (OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000) as i64
}

fn read(row: &Row) -> Subscription {
    Subscription {
        id: row.get("id"),
        name: row.get("name"),
        source: row.get("source"),
        url: row.get("url"),
        signing: row.get("signing"),
        max_in_flight: row.get("max_in_flight"),
        rate: row.get("rate"),
        ordered: row.get("ordered"),
        on_failure: row.get("on_failure"),
        preserve_method: row.get("preserve_method"),
        forward_credentials: row.get("forward_credentials"),
        record_response: row.get("record_response"),
        retry: row.get("retry"),
        created_at: row.get("created_at"),
        created_by: row.get("created_by"),
        updated_at: row.get("updated_at"),
        previous_secret_until: row.get("previous_secret_until"),
        state: row.get("state"),
        state_reason: row.get("state_reason"),
        state_by: row.get("state_by"),
        state_at: row.get("state_at"),
        cursor: row.get("cursor"),
        behind: row.get::<_, Option<i64>>("behind").unwrap_or(0),
        open: row.get("open"),
        failed: row.get("failed"),
        strikes: row.get("strikes"),
        probe_at: row.get("probe_at"),
        failing_since: row.get("failing_since"),
    }
}
