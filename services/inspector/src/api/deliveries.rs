//! Deliveries: listed, shown, replayed, cancelled.

use super::paging;
use crate::error::Error;
use crate::http::{Answer, Call, Pairs};
use crate::moment::Moment;
use crate::ops::push::acting;
use crate::store;
use crate::store::deliveries::{Ask, DeliveryRow, Page};
use crate::who::Sight;
use hooks_shared::push::deliveries::{self, Filter};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

type Parameter = (&'static str, &'static str);
pub const QUERY: &[Parameter] = &[
    ("subscription", "Only of this push subscription"),
    ("source", "Only of this source"),
    ("state", "`pending`, `processing`, `delivered`, `failed` or `cancelled`"),
    ("from", "Made at or after"),
    ("to", "Made before"),
    ("limit", "Rows a page, 1 to 500; usually 100"),
    ("cursor", "Where the page begins; taken from a `next` link"),
];

#[derive(Debug, Serialize, ToSchema)]
pub struct Delivery {
    pub id: String,
    pub subscription_id: String,
    pub subscription_name: String,
    pub source: String,
    pub sequence: i64,
    pub received_at: Moment,
    pub state: String,
    /// Requests of its whole life.
    pub attempts: i32,
    /// Requests of the present cycle.
    pub cycle_attempts: i32,
    pub next_attempt_at: Moment,
    pub due_because: String,
    pub claim_expires_at: Option<Moment>,
    pub claimed_by: Option<String>,
    pub replayed: bool,
    /// Why it failed.
    pub failure: Option<String>,
    pub last_status: Option<i32>,
    pub last_outcome: Option<String>,
    pub last_error: Option<String>,
    pub created_at: Moment,
    pub completed_at: Option<Moment>,
}

impl From<&DeliveryRow> for Delivery {
    fn from(row: &DeliveryRow) -> Self {
        let row = row.clone();
        Self {
            id: row.id,
            subscription_id: row.subscription_id,
            subscription_name: row.subscription_name,
            source: row.source,
            sequence: row.sequence,
            received_at: Moment(row.received_at),
            state: row.state,
            attempts: row.attempts,
            cycle_attempts: row.cycle_attempts,
            next_attempt_at: Moment(row.next_attempt_at),
            due_because: row.due_because,
            claim_expires_at: row.claim_expires_at.map(Moment),
            claimed_by: row.claimed_by,
            replayed: row.replayed,
            failure: row.failure,
            last_status: row.last_status,
            last_outcome: row.last_outcome,
            last_error: row.last_error,
            created_at: Moment(row.created_at),
            completed_at: row.completed_at.map(Moment),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryList {
    deliveries: Vec<Delivery>,
    /// May lead to an empty page: a request looks at a bounded stretch of the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub const STATES: [&str; 5] = ["pending", "processing", "delivered", "failed", "cancelled"];

/// The key of a page: the sequence within a subscription, else the id.
pub type Key = (Option<i64>, Option<String>);

/// A page of what the query asks for, and the key of the next.
pub async fn page(call: &Call, query: &Pairs, behind: Key, limit: i64) -> Result<(Page, Option<Key>), Error> {
    let state = query.get("state");
    if state.is_some_and(|state| !STATES.contains(&state)) {
        return Err(Error::invalid("state: must be pending, processing, delivered, failed or cancelled"));
    }
    let sight = call.who.sight();
    let db = call.session().await?;
    let subscription = match query.text("subscription")? {
        Some(id) => {
            let found = hooks_shared::push::subscriptions::show(&db, &id).await?;
            if !sight.covers(&found.source) {
                return Err(Error::NotFound("push subscription"));
            }
            Some((id, found.source))
        }
        None => None,
    };
    let sources = match (query.text("source")?, &sight) {
        (Some(source), sight) => Some(if sight.covers(&source) { vec![source] } else { Vec::new() }),
        (None, Sight::Only(sources)) => Some(sources.clone()),
        (None, Sight::All) => None,
    };
    let ask = Ask {
        subscription: subscription.as_ref().map(|(id, source)| (id.as_str(), source.as_str())),
        sources: sources.as_deref(),
        state,
        from: query.moment("from")?,
        to: query.moment("to")?,
        behind_sequence: behind.0,
        behind_id: behind.1.as_deref(),
        limit,
    };
    let page = store::deliveries::page(&db, &ask).await?;
    let next = page.more.then(|| match subscription {
        Some(_) => (page.end_sequence, None),
        None => (None, page.end_id.clone()),
    });
    Ok((page, next))
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let limit = paging::limit(&call)?;
    let behind: Key = paging::cursor(&call)?.unwrap_or_default();
    if behind.1.as_deref().is_some_and(|id| id.contains('\0')) {
        return Err(Error::invalid("cursor: is not one of a `next` link"));
    }
    let (page, next) = page(&call, &call.query, behind, limit).await?;
    let next = next.map(|key| paging::link(&call, &key));
    Ok(Answer::json(200, &DeliveryList { deliveries: page.rows.iter().map(Delivery::from).collect(), next }))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Attempt {
    number: i32,
    started_at: Moment,
    duration_ms: i32,
    outcome: String,
    status: Option<i32>,
    error: Option<String>,
    /// Without its query.
    url: String,
    worker: String,
    /// Ended after another worker had taken over.
    late: bool,
    /// The beginning of the response, where the subscription keeps it.
    response: Option<String>,
}

/// One delivery with its history, and why it is where it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryDetail {
    id: String,
    subscription_id: String,
    subscription_name: String,
    subscription_state: String,
    source: String,
    sequence: i64,
    received_at: Moment,
    state: String,
    attempts: i32,
    cycle_attempts: i32,
    next_attempt_at: Moment,
    due_because: String,
    claim_expires_at: Option<Moment>,
    claimed_by: Option<String>,
    replayed: bool,
    failure: Option<String>,
    created_at: Moment,
    completed_at: Option<Moment>,
    lost_claims: i32,
    /// Requests of the subscription under way.
    in_flight: i32,
    /// Deliveries of the subscription that come before; 1001 stands for more than 1000.
    ahead: i64,
    /// In words.
    why: String,
    attempt_history: Vec<Attempt>,
}

/// One delivery that the caller may see.
pub async fn find(call: &Call) -> Result<deliveries::Detail, Error> {
    let id = call.param("id");
    if id.contains('\0') {
        return Err(Error::NotFound("delivery"));
    }
    let detail = deliveries::show(&*call.session().await?, id).await?;
    match call.who.sight().covers(&detail.delivery.source) {
        true => Ok(detail),
        false => Err(Error::NotFound("delivery")),
    }
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let detail = find(&call).await?;
    let delivery = detail.delivery;
    let attempts = detail.attempt_history.into_iter().map(|attempt| Attempt {
        number: attempt.number,
        started_at: Moment(attempt.started_at),
        duration_ms: attempt.duration_ms,
        outcome: attempt.outcome,
        status: attempt.status,
        error: attempt.error,
        url: attempt.url,
        worker: attempt.worker,
        late: attempt.late,
        response: attempt.response,
    });
    let view = DeliveryDetail {
        id: delivery.id,
        subscription_id: delivery.subscription_id,
        subscription_name: detail.subscription_name,
        subscription_state: detail.subscription_state,
        source: delivery.source,
        sequence: delivery.sequence,
        received_at: Moment(delivery.received_at),
        state: delivery.state,
        attempts: delivery.attempts,
        cycle_attempts: delivery.cycle_attempts,
        next_attempt_at: Moment(delivery.next_attempt_at),
        due_because: delivery.due_because,
        claim_expires_at: delivery.claim_expires_at.map(Moment),
        claimed_by: delivery.claimed_by,
        replayed: delivery.replayed,
        failure: delivery.failure,
        created_at: Moment(delivery.created_at),
        completed_at: delivery.completed_at.map(Moment),
        lost_claims: detail.lost_claims,
        in_flight: detail.in_flight,
        ahead: detail.ahead,
        why: detail.why,
        attempt_history: attempts.collect(),
    };
    Ok(Answer::json(200, &view))
}

pub async fn replay(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    deliveries::replay(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::no_content())
}

pub async fn cancel(call: Call) -> Result<Answer, Error> {
    find(&call).await?;
    deliveries::cancel(&*acting(&call).await?, &call.who.label(), call.param("id")).await?;
    Ok(Answer::no_content())
}

/// Which failed deliveries to replay.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkReplay {
    subscription: Option<String>,
    source: Option<String>,
    /// When their events arrived, from here …
    from: Option<String>,
    /// … to before here.
    to: Option<String>,
    /// Status of the last attempt.
    status: Option<i32>,
    ids: Option<Vec<String>>,
    /// Only says what would be done.
    dry_run: bool,
    /// Without any condition nothing is done unless this is true.
    all: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct BulkPlan {
    pub count: i64,
    /// Arrival of the oldest and of the newest event.
    pub oldest: Option<Moment>,
    pub newest: Option<Moment>,
    pub dry_run: bool,
}

fn moment(name: &str, text: Option<&str>) -> Result<Option<OffsetDateTime>, Error> {
    let read = |text| crate::moment::parse(text).map_err(|why| Error::invalid(format!("{name}: {why}")));
    text.filter(|text| !text.is_empty()).map(read).transpose()
}

/// Ids of one request.
const MOST_IDS: usize = 1_000;

pub async fn bulk_replay(call: Call) -> Result<Answer, Error> {
    let wish: BulkReplay = call.json()?;
    let filter = Filter {
        subscription: wish.subscription,
        source: wish.source,
        state: None,
        from: moment("from", wish.from.as_deref())?,
        to: moment("to", wish.to.as_deref())?,
        status: wish.status,
        ids: wish.ids,
    };
    if filter == Filter::default() && !wish.all && !wish.dry_run {
        return Err(Error::invalid("name what to replay, or say `all`"));
    }
    if filter.ids.as_ref().is_some_and(|ids| ids.len() > MOST_IDS) {
        return Err(Error::invalid(format!("ids: at most {MOST_IDS}")));
    }
    Ok(Answer::json(200, &run_replay(&call, &filter, wish.dry_run).await?))
}

/// Plans or does it.
pub async fn run_replay(call: &Call, filter: &Filter, dry_run: bool) -> Result<BulkPlan, Error> {
    let db = acting(call).await?;
    let plan = match dry_run {
        true => deliveries::plan_replay(&db, filter).await?,
        false => deliveries::replay_where(&db, &call.who.label(), filter, |_| {}).await?,
    };
    Ok(BulkPlan {
        count: plan.count,
        oldest: plan.oldest.map(Moment),
        newest: plan.newest.map(Moment),
        dry_run,
    })
}

/// What is pending of one subscription.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkCancel {
    subscription: String,
    /// When their events arrived, from here …
    from: Option<String>,
    /// … to before here.
    to: Option<String>,
    /// Only says what would be done.
    dry_run: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Cancelled {
    /// Deliveries; for a `dry_run` 10001 stands for more than 10000.
    cancelled: i64,
    dry_run: bool,
}

pub async fn bulk_cancel(call: Call) -> Result<Answer, Error> {
    let wish: BulkCancel = call.json()?;
    if wish.subscription.is_empty() {
        return Err(Error::invalid("subscription is required"));
    }
    let (from, to) = (moment("from", wish.from.as_deref())?, moment("to", wish.to.as_deref())?);
    let db = acting(&call).await?;
    let cancelled = match wish.dry_run {
        true => store::deliveries::plan_cancel(&db, &wish.subscription, from, to).await?.count,
        false => deliveries::cancel_where(&db, &call.who.label(), &wish.subscription, from, to).await?,
    };
    Ok(Answer::json(200, &Cancelled { cancelled, dry_run: wish.dry_run }))
}
