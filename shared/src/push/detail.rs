//! One delivery with its history, and the answer to "why is it not moving?".

use super::deliveries::{Delivery, read};
use super::error::OperatorError;
use super::statements::{LIST_ATTEMPTS, SHOW_DELIVERY};
use crate::db::Session;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_postgres::Row;

/// One request that went out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    pub number: i32,
    #[serde(with = "time::serde::rfc3339")]
    pub started_at: OffsetDateTime,
    pub duration_ms: i32,
    pub outcome: String,
    pub status: Option<i32>,
    pub error: Option<String>,
    /// Without its query.
    pub url: String,
    pub worker: String,
    /// Ended after another worker had taken over.
    pub late: bool,
    /// The beginning of the response, where the subscription keeps it; as text, odd bytes replaced.
    pub response: Option<String>,
}

/// A delivery with its history.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Detail {
    #[serde(flatten)]
    pub delivery: Delivery,
    pub subscription_name: String,
    pub subscription_state: String,
    pub lost_claims: i32,
    /// Requests of the subscription under way.
    pub in_flight: i32,
    /// Deliveries of the subscription that come before; 1001 stands for more than 1000.
    pub ahead: i64,
    /// Why it is where it is, in words.
    pub why: String,
    pub attempt_history: Vec<Attempt>,
}

/// One delivery with its history.
pub async fn show(session: &Session, id: &str) -> Result<Detail, OperatorError> {
    let row = session.row(SHOW_DELIVERY, &[&id]).await?;
    let row = row.ok_or_else(|| OperatorError::NoDelivery(id.to_owned()))?;
    let history = session.rows(LIST_ATTEMPTS, &[&id]).await?.iter().map(attempt).collect();
    let delivery = read(&row);
    Ok(Detail {
        why: why(&delivery, &row),
        delivery,
        subscription_name: row.get("name"),
        subscription_state: row.get("subscription_state"),
        lost_claims: row.get("lost_claims"),
        in_flight: row.get("busy"),
        ahead: row.get("ahead"),
        attempt_history: history,
    })
}

fn attempt(row: &Row) -> Attempt {
    let response: Option<Vec<u8>> = row.get("response");
    Attempt {
        number: row.get("number"),
        started_at: row.get("started_at"),
        duration_ms: row.get("duration_ms"),
        outcome: row.get("outcome"),
        status: row.get("status"),
        error: row.get("error"),
        url: row.get("url"),
        worker: row.get("worker"),
        late: row.get("late"),
        response: response.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    }
}

fn why(delivery: &Delivery, row: &Row) -> String {
    match delivery.state.as_str() {
        "delivered" => "delivered".to_owned(),
        "cancelled" => "cancelled by an operator".to_owned(),
        "failed" => match delivery.failure.as_deref() {
            Some("exhausted") => {
                "failed: every attempt of its schedule is spent; replay it to begin anew".to_owned()
            }
            Some("gone") => "failed: the receiver answered 410 and wants no more events".to_owned(),
            Some("expired") => "failed: its event was no longer in the log".to_owned(),
            Some("lost_claims") => "failed: workers that took it alone kept dying".to_owned(),
            other => format!("failed: {}", other.unwrap_or("unknown")),
        },
        "processing" => under_way(delivery, row),
        _ => waiting(delivery, row),
    }
}

fn under_way(delivery: &Delivery, row: &Row) -> String {
    let now: OffsetDateTime = row.get("now");
    let holder = delivery.claimed_by.as_deref().unwrap_or("unknown");
    match delivery.claim_expires_at {
        Some(until) if until > now => {
            format!("under way: worker {holder} holds it until {}", show_time(until))
        }
        _ => match subscription_hold(row) {
            Some(hold) => format!("worker {holder} was lost with it, and nobody takes over: {hold}"),
            None => format!("worker {holder} was lost with it; the next free worker takes over"),
        },
    }
}

fn waiting(delivery: &Delivery, row: &Row) -> String {
    if let Some(hold) = subscription_hold(row) {
        return format!("waiting: {hold}");
    }
    let now: OffsetDateTime = row.get("now");
    let due = delivery.next_attempt_at;
    if due > now {
        let because = match delivery.due_because.as_str() {
            "retry_after" => "the receiver asked for it (Retry-After)",
            "schedule" => "the retry schedule says so",
            _ => "it was made so",
        };
        return format!("waiting until {}: {because}", show_time(due));
    }
    let (ordered, busy, room, limit): (bool, i32, i32, i32) =
        (row.get("ordered"), row.get("busy"), row.get("room"), row.get("max_in_flight"));
    let ahead: i64 = row.get("ahead");
    if ordered && ahead > 0 {
        format!("due, but {ahead} earlier deliveries of this ordered subscription come first")
    } else if busy >= limit {
        format!("due, but {busy} requests of the subscription are under way, which is its limit")
    } else if room == 0 && row.get::<_, Option<f32>>("rate").is_some() {
        "due, but the subscription's rate is used up for the moment".to_owned()
    } else {
        format!("due since {}: the next free worker takes it", show_time(due))
    }
}

/// What keeps the whole subscription from being served.
fn subscription_hold(row: &Row) -> Option<String> {
    let state: String = row.get("subscription_state");
    let by = row.get::<_, Option<String>>("state_by").map(|by| format!(" by {by}")).unwrap_or_default();
    let reason = row.get::<_, Option<String>>("state_reason").map(|r| format!(": {r}")).unwrap_or_default();
    if state != "active" {
        return Some(format!("the subscription is {state}{by}{reason}"));
    }
    let (now, probe): (OffsetDateTime, Option<OffsetDateTime>) = (row.get("now"), row.get("probe_at"));
    let strikes: i32 = row.get("strikes");
    probe.filter(|at| *at > now).map(|at| {
        format!("the receiver did not answer {strikes} times in a row; it is tried next at {}", show_time(at))
    })
}

fn show_time(at: OffsetDateTime) -> String {
    at.replace_nanosecond(0).unwrap_or(at).format(&Rfc3339).unwrap_or_default()
}
