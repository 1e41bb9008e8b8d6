//! Sources, listeners and the state of the whole.

use crate::error::Error;
use crate::http::{Answer, Call};
use crate::moment::Moment;
use crate::ops::push::acting;
use crate::store::samples::{self, Sample};
use crate::store::sources::Head;
use crate::store::{self, StoreError};
use hooks_shared::captured;
use hooks_shared::verify::public_address;
use serde::Serialize;
use time::{Duration, OffsetDateTime};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Serialize, ToSchema)]
pub struct Source {
    pub name: String,
    /// The configuration names it; else only its events are left.
    pub configured: bool,
    pub paused: bool,
    /// A preset, or `custom`.
    pub verifier: Option<String>,
    /// One line for each way of checking.
    pub checks: Vec<String>,
    pub body_protected: bool,
    pub time_protected: bool,
    /// The address to give to the provider.
    pub url: Option<String>,
    pub last_sequence: i64,
    pub last_received_at: Option<Moment>,
    pub listeners: i64,
    pub push_subscriptions: i64,
    /// Events in the last hour, as far as samples tell.
    pub last_hour: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceList {
    sources: Vec<Source>,
}

/// Where a provider sends to.
pub fn ingest_url(call: &Call, name: &str) -> Option<String> {
    let config = &call.state.config;
    let source = config.sources.get(name)?;
    public_address(&source.verification(config), &source.path())
}

fn view(call: &Call, name: &str, head: Option<&Head>, last_hour: Option<i64>) -> Source {
    let configured = call.state.config.sources.get(name);
    let scheme = call.state.schemes.get(name);
    Source {
        name: name.to_owned(),
        configured: call.state.knows_source(name),
        paused: configured.is_some_and(|source| source.paused),
        verifier: scheme.map(|scheme| scheme.verifier.clone()),
        checks: scheme.map(|scheme| scheme.what.clone()).unwrap_or_default(),
        body_protected: scheme.is_some_and(|scheme| scheme.body_protected),
        time_protected: scheme.is_some_and(|scheme| scheme.time_protected),
        url: ingest_url(call, name),
        last_sequence: head.map_or(0, |head| head.sequence),
        last_received_at: head.and_then(|head| head.received_at).map(Moment),
        listeners: head.map_or(0, |head| head.listeners),
        push_subscriptions: head.map_or(0, |head| head.subscriptions),
        last_hour,
    }
}

/// Two samples are this far apart, or a little more.
const SAMPLED_EVERY: Duration = Duration::minutes(2);

/// What came since the first sample of the hour; of a source that is younger than an hour, everything.
fn last_hour(head: &Head, first: Option<&Sample>, young: bool) -> Option<i64> {
    if young { Some(head.sequence) } else { Some((head.sequence - first?.value as i64).max(0)) }
}

/// Every source that the caller may see: of the configuration and of the log, by name.
pub async fn visible(call: &Call) -> Result<Vec<Source>, Error> {
    let db = call.session().await?;
    let heads = store::sources::heads(&db).await?;
    let hour_ago = OffsetDateTime::now_utc() - Duration::HOUR;
    let taken = samples::read(&db, "sequence", None, hour_ago).await?;
    let first = |name: &str| taken.iter().find(|sample| sample.subject == name);
    // Samples that go back for the hour tell all; where they do not, the source itself may be that young.
    let told = |name: &str| first(name).is_some_and(|first| first.at < hour_ago + SAMPLED_EVERY);
    let untold: Vec<String> =
        heads.iter().map(|head| head.source.clone()).filter(|name| !told(name)).collect();
    let young = store::sources::young(&db, &untold, hour_ago).await?;
    let mut names = call.state.source_names();
    names.extend(heads.iter().map(|head| head.source.clone()));
    names.sort();
    names.dedup();
    let sight = call.who.sight();
    let visible = names.iter().filter(|name| sight.covers(name));
    let read = visible.map(|name| {
        let head = heads.iter().find(|head| head.source == *name);
        view(call, name, head, head.and_then(|head| last_hour(head, first(name), young.contains(name))))
    });
    Ok(read.collect())
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    Ok(Answer::json(200, &SourceList { sources: visible(&call).await? }))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Handshake {
    pub at: Moment,
    pub kind: String,
    pub outcome: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct SourceDetail {
    #[serde(flatten)]
    pub source: Source,
    /// Answered challenges of the provider, newest first.
    pub handshakes: Vec<Handshake>,
    /// Events a minute over the last day, oldest first.
    pub rate: Vec<Point>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Point {
    pub at: Moment,
    pub value: f64,
}

/// What came between two samples of a counter, a minute's worth.
pub fn rates(samples: &[Sample]) -> Vec<Point> {
    let pairs = samples.windows(2).filter(|pair| pair[0].subject == pair[1].subject);
    let rates = pairs.map(|pair| {
        let minutes = ((pair[1].at - pair[0].at).as_seconds_f64() / 60.0).max(1.0);
        // Heads jump by a million after a failover; that is no rate.
        let grown = (pair[1].value - pair[0].value).max(0.0);
        Point { at: Moment(pair[1].at), value: if grown >= 1e6 { 0.0 } else { grown / minutes } }
    });
    rates.collect()
}

/// One source that the caller may see.
pub async fn find(call: &Call) -> Result<SourceDetail, Error> {
    let name = call.param("name");
    let source = visible(call).await?.into_iter().find(|source| source.name == name);
    let source = source.ok_or(Error::NotFound("source"))?;
    let db = call.session().await?;
    let handshakes = store::sources::handshakes(&db, name).await?;
    let day_ago = OffsetDateTime::now_utc() - Duration::DAY;
    let taken = samples::read(&db, "sequence", Some(name), day_ago).await?;
    let handshakes = handshakes.into_iter().map(|one| Handshake {
        at: Moment(one.at),
        kind: one.kind,
        outcome: one.outcome,
    });
    Ok(SourceDetail { source, handshakes: handshakes.collect(), rate: rates(&taken) })
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    Ok(Answer::json(200, &find(&call).await?))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Renewable {
    source: String,
    /// Until then the next handshake replaces the secret.
    renewable_until: Moment,
}

/// Lets the provider of the source in the path hand over another secret.
pub async fn open_renewal(call: &Call) -> Result<OffsetDateTime, Error> {
    let source = call.param("source");
    if source.contains('\0') {
        return Err(Error::NotFound("source"));
    }
    let db = acting(call).await?;
    let until = captured::renew(&db, &call.who.label(), source).await.map_err(StoreError::Query)?;
    until.ok_or(Error::NotFound("secret: the provider of this source has handed none over"))
}

pub async fn renew_secret(call: Call) -> Result<Answer, Error> {
    let until = open_renewal(&call).await?;
    let view = Renewable { source: call.param("source").to_owned(), renewable_until: Moment(until) };
    Ok(Answer::json(200, &view))
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Listener {
    pub id: Uuid,
    pub source: String,
    pub token_id: Uuid,
    pub token_name: Option<String>,
    pub owner_email: Option<String>,
    pub since: Moment,
    pub cursor: i64,
    /// Events between the cursor and the newest.
    pub behind: i64,
    pub seen_at: Moment,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ListenerList {
    pub listeners: Vec<Listener>,
}

/// Who listens now to what the caller may see.
pub async fn visible_listeners(call: &Call, source: Option<&str>) -> Result<Vec<Listener>, Error> {
    let sight = call.who.sight();
    let all = store::listeners::listeners(&*call.session().await?, source).await?;
    let shown = all.into_iter().filter(|one| sight.covers(&one.source));
    let view = shown.map(|one| Listener {
        id: one.id,
        source: one.source,
        token_id: one.token_id,
        token_name: one.token_name,
        owner_email: one.owner_email,
        since: Moment(one.since),
        cursor: one.cursor,
        behind: one.behind,
        seen_at: Moment(one.seen_at),
    });
    Ok(view.collect())
}

pub async fn listeners(call: Call) -> Result<Answer, Error> {
    let source = call.query.text("source")?;
    Ok(Answer::json(200, &ListenerList { listeners: visible_listeners(&call, source.as_deref()).await? }))
}
