//! Events: the list, one, its body, live, and again.

use super::deliveries::Delivery;
use super::paging;
use crate::error::Error;
use crate::http::{Answer, Call, Pairs};
use crate::moment::Moment;
use crate::ops::events::{Ask, list as list_events};
use crate::search::{Place as SearchPlace, Search};
use crate::store;
use crate::store::events::{EventRow, Place, PushCounts};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hooks_shared::event::{Event, header};
use hooks_shared::push::event_replay::To;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use utoipa::ToSchema;

type Parameter = (&'static str, &'static str);
pub const QUERY: &[Parameter] = &[
    ("source", "Only of this source"),
    ("q", "Conditions: `data.id = evt-1 and header.x-github-event = push`; a word alone is an id or a type"),
    ("type", "Only of this event type"),
    ("delivery_id", "Only with this id of the provider, or this event id"),
    ("push", "`delivered`, `failed`, `pending` or `none`"),
    ("from", "Received at or after"),
    ("to", "Received before"),
    ("limit", "Events a page, 1 to 500; usually 100"),
    ("cursor", "Where the page begins; taken from a `next` link"),
];

/// How the deliveries of an event may stand, as a filter.
pub const PUSH: [&str; 4] = ["delivered", "failed", "pending", "none"];

/// A body longer than this is fetched by its own route.
const LONGEST_INLINE: i64 = 1 << 20;

/// How the deliveries of an event stand.
#[derive(Debug, Serialize, ToSchema)]
pub struct PushState {
    pub delivered: i64,
    pub failed: i64,
    pub pending: i64,
    pub cancelled: i64,
}

impl From<PushCounts> for PushState {
    fn from(counts: PushCounts) -> Self {
        Self {
            delivered: counts.delivered,
            failed: counts.failed,
            pending: counts.open,
            cancelled: counts.cancelled,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EventSummary {
    pub source: String,
    pub sequence: i64,
    pub event_id: String,
    /// The provider's id, else the event id.
    pub delivery_id: String,
    pub event_type: Option<String>,
    pub received_at: Moment,
    pub provider_timestamp: Option<Moment>,
    pub method: String,
    /// Path and query; credentials in it are masked.
    pub path: String,
    pub remote_addr: Option<String>,
    pub body_bytes: i64,
    pub push: PushState,
}

/// One row of a list.
pub fn summary(call: &Call, row: &EventRow, push: PushCounts) -> EventSummary {
    EventSummary {
        source: row.source.clone(),
        sequence: row.sequence,
        event_id: row.event_id.clone(),
        delivery_id: row.delivery_id().to_owned(),
        event_type: row.event_type.clone(),
        received_at: Moment(row.received_at),
        provider_timestamp: row.provider_timestamp.map(Moment),
        method: row.method.clone(),
        path: call.state.schemes.shown_target(&row.source, &row.target),
        remote_addr: row.remote_addr.map(|address| address.to_string()),
        body_bytes: row.body_bytes,
        push: push.into(),
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EventList {
    events: Vec<EventSummary>,
    /// May lead to an empty page: a request looks at a bounded stretch of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// What a query asks for; the same names on the page and in the API.
pub fn ask(query: &Pairs, limit: usize) -> Result<Ask, Error> {
    let text = query.text("q")?.unwrap_or_default();
    let mut search = Search::parse(&text).map_err(|why| Error::invalid(format!("q: {why}")))?;
    for name in ["type", "delivery_id"] {
        if let Some(value) = query.text(name)? {
            search = search.and(SearchPlace::Known, &value);
        }
    }
    let push = query.get("push").map(str::to_owned);
    if push.as_deref().is_some_and(|state| !PUSH.contains(&state)) {
        return Err(Error::invalid("push: must be delivered, failed, pending or none"));
    }
    Ok(Ask {
        source: query.text("source")?,
        from: query.moment("from")?,
        to: query.moment("to")?,
        search,
        push,
        behind: None,
        limit,
    })
}

/// A place as a cursor's key.
pub fn key_of(place: &Place) -> (i128, &str, i64) {
    (place.at.unix_timestamp_nanos(), &place.source, place.sequence)
}

pub fn place_of(key: Option<(i128, String, i64)>) -> Result<Option<Place>, Error> {
    let Some((nanos, source, sequence)) = key else { return Ok(None) };
    let at = OffsetDateTime::from_unix_timestamp_nanos(nanos).ok();
    let at = at.filter(|at| (1970..=9999).contains(&at.year()) && !source.contains('\0'));
    let at = at.ok_or(Error::invalid("cursor: is not one of a `next` link"))?;
    Ok(Some(Place { at, source, sequence }))
}

pub async fn list(call: Call) -> Result<Answer, Error> {
    let limit = usize::try_from(paging::limit(&call)?).unwrap_or_default();
    let ask = Ask { behind: place_of(paging::cursor(&call)?)?, ..ask(&call.query, limit)? };
    let page = list_events(&*call.session().await?, &call.who.sight(), &ask).await?;
    let next = page.next.as_ref().map(|place| paging::link(&call, &key_of(place)));
    let events = page.rows.iter().map(|row| summary(&call, row, page.counts(row))).collect();
    Ok(Answer::json(200, &EventList { events, next }))
}

/// A header as it came; credentials are masked.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeaderView {
    name: String,
    value: String,
    /// The value is not shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    masked: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EventDetail {
    source: String,
    sequence: i64,
    event_id: String,
    delivery_id: String,
    event_type: Option<String>,
    received_at: Moment,
    provider_timestamp: Option<Moment>,
    method: String,
    path: String,
    remote_addr: Option<String>,
    /// Every header in order.
    headers: Vec<HeaderView>,
    /// The headers are exactly as sent.
    exact: bool,
    /// Base64; missing above 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Where the body's bytes are.
    body_url: String,
    body_bytes: i64,
    body_sha256: String,
    deliveries: Vec<Delivery>,
    /// Listeners of the source connected now that are past this event.
    listeners_past: i64,
}

/// An event that the caller may see, else "no such event".
pub async fn find(call: &Call, longest_body: i64) -> Result<(Event, i64), Error> {
    let (source, sequence) = (call.param("source"), call.sequence()?);
    if !call.who.sight().covers(source) || source.contains('\0') {
        return Err(Error::NotFound("event"));
    }
    let found = store::events::show(&*call.session().await?, source, sequence, longest_body).await?;
    found.ok_or(Error::NotFound("event"))
}

pub async fn show(call: Call) -> Result<Answer, Error> {
    let (event, body_bytes) = find(&call, LONGEST_INLINE).await?;
    let db = call.session().await?;
    let deliveries = store::deliveries::of_event(&db, &event.source, event.sequence).await?;
    let listeners = store::listeners::listeners(&db, Some(&event.source)).await?;
    let schemes = &call.state.schemes;
    let headers = event.headers.iter().map(|header| {
        let (name, value) = schemes.shown(&event.source, header);
        HeaderView { masked: schemes.hides_header(&event.source, &name), name, value }
    });
    let view = EventDetail {
        headers: headers.collect(),
        path: schemes.shown_target(&event.source, &event.target),
        delivery_id: event.delivery_id().to_owned(),
        received_at: Moment(event.received_at),
        provider_timestamp: event.provider_timestamp.map(Moment),
        remote_addr: event.remote_addr.map(|address| address.to_string()),
        exact: event.exact,
        body: (body_bytes <= LONGEST_INLINE).then(|| STANDARD.encode(&event.body)),
        body_url: format!("/api/events/{}/{}/body", event.source, event.sequence),
        body_bytes,
        body_sha256: hex::encode(&event.body_sha256),
        deliveries: deliveries.iter().map(Delivery::from).collect(),
        listeners_past: listeners.iter().filter(|listener| listener.cursor >= event.sequence).count() as i64,
        sequence: event.sequence,
        event_id: event.event_id,
        event_type: event.event_type,
        method: event.method,
        source: event.source,
    };
    Ok(Answer::json(200, &view))
}

/// The bytes, as a download: a stranger's bytes are never shown as a page of ours.
pub async fn body(call: Call) -> Result<Answer, Error> {
    let (source, sequence) = (call.param("source").to_owned(), call.sequence()?);
    if !call.who.sight().covers(&source) || source.contains('\0') {
        return Err(Error::NotFound("event"));
    }
    let found = store::events::body(&*call.session().await?, &source, sequence).await?;
    let (body, _) = found.ok_or(Error::NotFound("event"))?;
    let name = format!("attachment; filename=\"{}-{sequence}.bin\"", file_name(&source));
    Ok(Answer::of(200, "application/octet-stream", body)
        .with("Content-Disposition", name)
        .with("Content-Security-Policy", "default-src 'none'; sandbox"))
}

/// Names of sources are plain, but those of the log need not be of this configuration.
fn file_name(source: &str) -> String {
    source.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// The type of a body, without parameters, in lower case.
pub fn content_type(event: &Event) -> String {
    let value = header(&event.headers, "content-type").unwrap_or_default();
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    text.split(';').next().unwrap_or_default().trim().to_owned()
}

/// To whom an event goes again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct Replay {
    /// The listeners connected now.
    #[serde(default)]
    listeners: bool,
    /// `all`, or a list of subscription ids.
    #[schema(value_type = Option<Object>)]
    push: Option<serde_json::Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayDone {
    /// Whether the listeners get it.
    listeners: bool,
    /// Deliveries that are due now.
    deliveries: Vec<String>,
    /// Subscriptions that are sending it at this moment, and are left alone.
    under_way: Vec<String>,
}

pub async fn replay(call: Call) -> Result<Answer, Error> {
    let (source, sequence) = (call.param("source").to_owned(), call.sequence()?);
    let to: To = call.json()?;
    let done = crate::ops::replay::replay(&call, &source, sequence, &to).await?;
    let view =
        ReplayDone { listeners: done.listeners, deliveries: done.deliveries, under_way: done.under_way };
    Ok(Answer::json(200, &view))
}
