//! Sending one stored event again, whatever its age: to push subscriptions, and to the listeners connected now.

use super::error::OperatorError;
use super::statements::*;
use super::subscriptions::{self, unix_millis};
use super::work::Work;
use crate::db::{Session, notify_once};
use crate::ids;
use serde::{Deserialize, Serialize};
use serde_json::json;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};

/// Which push subscriptions get the event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Push {
    #[default]
    None,
    /// All active and paused ones of the source.
    All,
    Some(Vec<String>),
}

impl<'de> Deserialize<'de> for Push {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Word(String),
            Ids(Vec<String>),
        }
        match Written::deserialize(deserializer)? {
            Written::Word(word) if word == "all" => Ok(Push::All),
            Written::Word(_) => Err(serde::de::Error::custom("must be `all` or a list of subscription ids")),
            Written::Ids(ids) => Ok(Push::Some(ids)),
        }
    }
}

/// Who gets the event again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct To {
    pub listeners: bool,
    pub push: Push,
}

/// What a replay came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Replayed {
    /// Whether the listeners get it.
    pub listeners: bool,
    /// Deliveries that are due now.
    pub deliveries: Vec<String>,
    /// Subscriptions that are sending it at this moment, and are left alone.
    pub under_way: Vec<String>,
}

/// Replays an event. Asked for one subscription that is sending it right now, it refuses.
pub async fn replay_event(
    session: &Session,
    actor: &str,
    source: &str,
    sequence: i64,
    to: &To,
) -> Result<Replayed, OperatorError> {
    let received_at = find(session, source, sequence).await?;
    let ids = match &to.push {
        Push::None => Vec::new(),
        Push::All => subscriptions::list(session, Some(source)).await?.into_iter().map(|s| s.id).collect(),
        Push::Some(ids) => ids.clone(),
    };
    let mut replayed = Replayed { listeners: to.listeners, ..Replayed::default() };
    for id in &ids {
        match push_found(session, actor, id, (source, sequence, received_at), "event.replay").await {
            Ok(delivery) => replayed.deliveries.push(delivery),
            Err(OperatorError::UnderWay) if ids.len() > 1 => replayed.under_way.push(id.clone()),
            Err(error) => return Err(error),
        }
    }
    if to.listeners {
        to_listeners(session, actor, source, sequence, received_at).await?;
        notify_once(session, "!replay").await;
    }
    if !replayed.deliveries.is_empty() {
        notify_once(session, "!push").await;
    }
    Ok(replayed)
}

/// Makes one event due now for one subscription; the delivery's id.
pub(super) async fn push_one(
    session: &Session,
    actor: &str,
    subscription: &str,
    source: &str,
    sequence: i64,
    action: &str,
) -> Result<String, OperatorError> {
    let received_at = find(session, source, sequence).await?;
    let delivery = push_found(session, actor, subscription, (source, sequence, received_at), action).await?;
    notify_once(session, "!push").await;
    Ok(delivery)
}

async fn push_found(
    session: &Session,
    actor: &str,
    subscription: &str,
    (source, sequence, received_at): (&str, i64, OffsetDateTime),
    action: &str,
) -> Result<String, OperatorError> {
    let id = ids::delivery_id(unix_millis());
    let work = Work::begin(session).await?;
    match work.lock(subscription).await {
        Ok((state, _)) if state == "deleted" => {
            return work.refuse(OperatorError::NoSubscription(subscription.to_owned())).await;
        }
        Ok(_) => {}
        Err(error) => return work.refuse(error).await,
    }
    let row = session.row(REPLAY_EVENT, &[&subscription, &id, &source, &sequence, &received_at]).await?;
    let Some(row) = row else { return work.refuse(OperatorError::UnderWay).await };
    let delivery: String = row.get("id");
    let details = json!({"source": source, "sequence": sequence, "delivery": delivery});
    work.audit(actor, action, subscription, 1, Some(details)).await?;
    work.commit().await?;
    Ok(delivery)
}

async fn to_listeners(
    session: &Session,
    actor: &str,
    source: &str,
    sequence: i64,
    received_at: OffsetDateTime,
) -> Result<(), OperatorError> {
    let work = Work::begin(session).await?;
    let number: i64 = match session.row(LOCK_REPLAY_HEAD, &[]).await? {
        Some(row) => row.get("last_number"),
        None => 1,
    };
    session.run(INSERT_REPLAY_REQUEST, &[&number, &source, &sequence, &received_at, &actor]).await?;
    let subject = format!("{source}/{sequence}");
    work.audit(actor, "event.replay_to_listeners", &subject, 1, None).await?;
    work.commit().await
}

/// When an event arrived: looked for on the day that holds its sequence.
async fn find(session: &Session, source: &str, sequence: i64) -> Result<OffsetDateTime, OperatorError> {
    let missing = || OperatorError::NoEvent { source_name: source.to_owned(), sequence };
    let day: Date =
        session.row(DAY_OF_SEQUENCE, &[&source, &sequence]).await?.ok_or_else(missing)?.get("day");
    let (lower, upper) = bounds(day);
    let row = session.row(FIND_EVENT, &[&source, &sequence, &lower, &upper]).await?;
    Ok(row.ok_or_else(missing)?.get("received_at"))
}

/// A UTC day's first instant and the next day's.
pub(super) fn bounds(day: Date) -> (OffsetDateTime, OffsetDateTime) {
    let lower = PrimitiveDateTime::new(day, Time::MIDNIGHT).assume_utc();
    (lower, lower + time::Duration::DAY)
}
