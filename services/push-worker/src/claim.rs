//! One claim: a transaction that locks cursor rows, takes what may start now, and commits. Its size is what the worker
//! can start at once (L8b), shared fairly between the subscriptions that have something to send.

use crate::store::{self, Claimed, Day, Limits, Most, Pick, Picked, Reclaimed};
use hooks_shared::db::Session;
use hooks_shared::ids;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};
use time::OffsetDateTime;
use uuid::Uuid;

/// Subscriptions looked at in one claim.
const MOST_SUBSCRIPTIONS: usize = 64;
/// How often one claim chooses anew when nothing could start for what it chose.
const ROUNDS: usize = 8;

/// What a worker asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The claim protocol the worker speaks (L12).
    pub protocol: i32,
    /// Shown to people as the holder of the lease.
    pub worker: String,
    pub lease: Duration,
    /// Deliveries that can be started now.
    pub budget: usize,
    /// Only subscriptions whose last attempt succeeded.
    pub only_proven: bool,
    pub unproven: Unproven,
    /// Whether a lost claim may be taken over: one at a time in a worker (L11).
    pub may_reclaim: bool,
    /// Lost lone claims after which a delivery fails.
    pub max_lost_claims: u32,
    pub paused_sources: Vec<String>,
    /// Subscriptions that had nothing to start a moment ago.
    pub skip: Vec<String>,
    /// Due times below are not looked at.
    pub low: OffsetDateTime,
}

/// Of the subscriptions whose last attempt did not succeed: which have something in hand, and how much all of them may
/// take beyond one each.
#[derive(Debug, Clone)]
pub struct Unproven {
    pub holding: HashSet<String>,
    pub more: usize,
}

/// What was claimed, committed.
#[derive(Debug)]
pub struct Batch {
    /// Monotonic, from before the claim was sent: leases end no earlier than this plus their length.
    pub started: Instant,
    pub claims: Vec<Claimed>,
    pub subscriptions: BTreeMap<String, Picked>,
    /// Picked, but nothing could start for them.
    pub idle: Vec<String>,
    /// Deliveries that lost too many lone claims.
    pub given_up: Vec<GivenUp>,
    /// The earliest due time among retries, where there were any.
    pub earliest_due: Option<OffsetDateTime>,
}

/// A delivery that failed because the claims on it kept getting lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    pub delivery: String,
    pub subscription: String,
    pub source: String,
    pub sequence: i64,
}

/// A claim that did not come through.
#[derive(Debug)]
pub struct ClaimError {
    pub error: tokio_postgres::Error,
    /// Set when the commit was sent and its outcome is not known: where to look, and by which tokens.
    pub unknown: Option<Unknown>,
}

/// What may have been claimed.
#[derive(Debug, Clone)]
pub struct Unknown {
    pub subscriptions: Vec<String>,
    pub tokens: Vec<Uuid>,
}

impl From<tokio_postgres::Error> for ClaimError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self { error, unknown: None }
    }
}

/// Claims. Where everything chosen turned out to be held by others or to have no room, it chooses again among the
/// rest. On an error other than a lost connection the session is left outside a transaction.
pub async fn claim(session: &Session, ask: &Ask) -> Result<Batch, ClaimError> {
    let mut ask = ask.clone();
    let mut idle = Vec::new();
    for _ in 0..ROUNDS {
        let mut batch = claim_once(session, &ask).await?;
        let again = batch.claims.is_empty() && batch.given_up.is_empty() && !batch.idle.is_empty();
        ask.skip.extend_from_slice(&batch.idle);
        idle.append(&mut batch.idle);
        if !again {
            batch.idle = idle;
            return Ok(batch);
        }
    }
    Ok(Batch { idle, ..Batch::empty() })
}

async fn claim_once(session: &Session, ask: &Ask) -> Result<Batch, ClaimError> {
    let mut batch = Batch::empty();
    let pick = Pick {
        protocol: ask.protocol,
        paused_sources: &ask.paused_sources,
        skip: &ask.skip,
        limit: ask.budget.min(MOST_SUBSCRIPTIONS) as i64,
        only_proven: ask.only_proven,
        low: ask.low,
    };
    let (begun, picked) = tokio::join!(store::begin(session), store::pick(session, &pick));
    begun?;
    let picked = match picked {
        Ok(picked) if !picked.is_empty() => picked,
        other => {
            store::rollback(session).await?;
            return other.map(|_| batch).map_err(Into::into);
        }
    };
    let mut tokens = Vec::new();
    if let Err(error) = take(session, ask, &picked, &mut batch, &mut tokens).await {
        let _ = store::rollback(session).await;
        return Err(error.into());
    }
    if let Err(error) = store::commit(session).await {
        let subscriptions = picked.into_iter().map(|one| one.id).collect();
        return Err(ClaimError { error, unknown: Some(Unknown { subscriptions, tokens }) });
    }
    batch.keep(picked);
    Ok(batch)
}

/// Everything between the locks and the commit: one lost claim, retries, new events, in this order.
async fn take(
    session: &Session,
    ask: &Ask,
    picked: &[Picked],
    batch: &mut Batch,
    tokens: &mut Vec<Uuid>,
) -> Result<(), tokio_postgres::Error> {
    let mut most = most(ask, picked);
    let mut left = ask.budget;
    let due: Vec<String> = picked.iter().filter(|one| one.has_due).map(|one| one.id.clone()).collect();
    if ask.may_reclaim && !due.is_empty() {
        let (token, ceiling) = (mint(tokens, 1)[0], ask.max_lost_claims as i32);
        match store::reclaim(session, &ask.limits(1, &most), &due, token, ceiling).await? {
            Some(Reclaimed::Claimed(claimed)) => {
                left -= 1;
                taken(&mut most, std::slice::from_ref(&claimed));
                batch.claims.push(claimed);
            }
            Some(Reclaimed::Failed { id, subscription, source, sequence }) => {
                batch.given_up.push(GivenUp { delivery: id, subscription, source, sequence });
            }
            None => {}
        }
    }
    let due: Vec<String> = due.into_iter().filter(|id| most.contains_key(id)).collect();
    if left > 0 && !due.is_empty() {
        let minted = mint(tokens, left);
        let claimed = store::claim_due(session, &ask.limits(left, &most), &due, &minted).await?;
        batch.earliest_due = claimed.iter().map(|claim| claim.due).min();
        left -= claimed.len();
        taken(&mut most, &claimed);
        batch.claims.extend(claimed);
    }
    for (day, subscriptions) in by_day(picked, &most) {
        if left == 0 {
            break;
        }
        let minted = mint(tokens, left);
        let made = new_ids(left);
        let limits = ask.limits(left, &most);
        let born = store::fan_out(session, &limits, &subscriptions, day, &made, &minted).await?;
        left -= born.len();
        batch.claims.extend(born);
    }
    Ok(())
}

/// Of each subscription as many as there are for all, evenly; but where its last attempt did not succeed, only one, and
/// its share of what is left beyond that. Those that may start nothing are left out.
fn most(ask: &Ask, picked: &[Picked]) -> Most {
    let each = (ask.budget / picked.len()).max(1);
    let unproven = picked.iter().filter(|one| !one.proven).count().max(1);
    let most = picked.iter().map(|one| {
        let first = usize::from(!ask.unproven.holding.contains(&one.id));
        let allowed = if one.proven { each } else { first.saturating_add(ask.unproven.more / unproven) };
        (one.id.clone(), each.min(allowed))
    });
    most.filter(|(_, most)| *most > 0).collect()
}

/// Takes what was claimed off what may be.
fn taken(most: &mut Most, claimed: &[Claimed]) {
    for claim in claimed {
        if let Some(left) = most.get_mut(&claim.subscription) {
            *left = left.saturating_sub(1);
        }
    }
    most.retain(|_, left| *left > 0);
}

/// Subscriptions that are behind the log, by the day in which their next event lies. Without such a day the log has
/// nothing above the cursor but a raised head: any day serves to move the cursor up to it.
fn by_day(picked: &[Picked], most: &Most) -> BTreeMap<Day, Vec<String>> {
    let mut days: BTreeMap<Day, Vec<String>> = BTreeMap::new();
    for one in picked.iter().filter(|one| one.has_more && most.contains_key(&one.id)) {
        let day = one.day.unwrap_or(Day::of(OffsetDateTime::UNIX_EPOCH));
        days.entry(day).or_default().push(one.id.clone());
    }
    days
}

/// One fresh random token a row (L2), remembered so that an undecided commit can be looked into.
fn mint(all: &mut Vec<Uuid>, count: usize) -> Vec<Uuid> {
    let minted: Vec<Uuid> = (0..count).map(|_| Uuid::new_v4()).collect();
    all.extend_from_slice(&minted);
    minted
}

fn new_ids(count: usize) -> Vec<String> {
    let millis = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    (0..count).map(|_| ids::delivery_id(millis as i64)).collect()
}

impl Ask {
    fn limits<'a>(&'a self, budget: usize, most: &'a Most) -> Limits<'a> {
        Limits {
            protocol: self.protocol,
            worker: &self.worker,
            lease: self.lease,
            budget,
            most,
            low: self.low,
        }
    }
}

impl Batch {
    fn empty() -> Self {
        Self {
            started: Instant::now(),
            claims: Vec::new(),
            subscriptions: BTreeMap::new(),
            idle: Vec::new(),
            given_up: Vec::new(),
            earliest_due: None,
        }
    }

    fn keep(&mut self, picked: Vec<Picked>) {
        for one in picked {
            if self.claims.iter().any(|claim| claim.subscription == one.id) {
                self.subscriptions.insert(one.id.clone(), one);
            } else {
                self.idle.push(one.id);
            }
        }
    }
}
