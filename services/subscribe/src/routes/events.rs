//! `GET /subscribe/{source}/events…`: stored events, one or many, whatever their age.

use super::{Service, auth, query_pairs};
use crate::error::Refusal;
use crate::frame::{self, LONGEST_INLINE_BODY, Sending, Time};
use crate::query::ListQuery;
use crate::store::{self, Listed, PushState};
use actix_web::body::SizedStream;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// A body goes out in pieces, so that a slow client does not make a second copy of all of it.
const PIECE: usize = 64 << 10;
/// How long a download waits for its turn.
const TURN: Duration = Duration::from_secs(5);

#[derive(Serialize)]
struct List {
    events: Vec<Item>,
    next: Option<String>,
}

#[derive(Serialize)]
struct Item {
    delivery_id: String,
    provider_timestamp: Option<Time>,
    received_at: Time,
    event_id: String,
    sequence: i64,
    method: String,
    path: String,
    event_type: Option<String>,
    body_bytes: i64,
    body_sha256: String,
    remote_addr: Option<String>,
}

impl From<Listed> for Item {
    fn from(listed: Listed) -> Self {
        Self {
            delivery_id: listed.delivery_id.unwrap_or_else(|| listed.event_id.clone()),
            provider_timestamp: listed.provider_timestamp.map(Time),
            received_at: Time(listed.received_at),
            event_id: listed.event_id,
            sequence: listed.sequence,
            method: listed.method,
            path: String::from_utf8_lossy(&listed.target).into_owned(),
            event_type: listed.event_type,
            body_bytes: listed.body_bytes,
            body_sha256: hex::encode(&listed.body_sha256),
            remote_addr: listed.remote_addr,
        }
    }
}

#[derive(Serialize)]
struct Push {
    subscription_id: String,
    subscription: String,
    delivery_id: String,
    state: String,
    attempts: i32,
    next_attempt_at: Option<Time>,
    completed_at: Option<Time>,
    failure: Option<String>,
}

impl From<PushState> for Push {
    fn from(state: PushState) -> Self {
        Self {
            subscription_id: state.subscription_id,
            subscription: state.subscription,
            delivery_id: state.delivery_id,
            state: state.state,
            attempts: state.attempts,
            next_attempt_at: state.next_attempt_at.map(Time),
            completed_at: state.completed_at.map(Time),
            failure: state.failure,
        }
    }
}

/// A page of the list.
pub(super) async fn list(
    request: HttpRequest,
    source: web::Path<String>,
    service: web::Data<Service>,
) -> Result<HttpResponse, Refusal> {
    let source = allowed(&service, &request, source.into_inner()).await?;
    let query = ListQuery::parse(&query_pairs(&request))?;
    let (asked, of) = (query.clone(), source.clone());
    let page = service.database.run(async move |session| store::list(&session, &of, &asked).await).await?;
    let next = page.next_behind.map(|sequence| query.next(&source, sequence));
    let events = page.events.into_iter().map(Item::from).collect();
    Ok(HttpResponse::Ok().json(List { events, next }))
}

/// One event: the JSON of the stream's messages, and what push made of it.
pub(super) async fn show(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    service: web::Data<Service>,
) -> Result<HttpResponse, Refusal> {
    let (source, sequence) = path.into_inner();
    let source = allowed(&service, &request, source).await?;
    let sequence = sequence_of(&sequence)?;
    let (stored, push) = service
        .database
        .run(async move |session| {
            let Some(day) = store::day_of(&session, &source, sequence).await? else { return Ok(None) };
            let stored = store::event(&session, &source, sequence, day, LONGEST_INLINE_BODY).await?;
            let push = store::push_state(&session, &source, sequence).await?;
            Ok(stored.map(|stored| (stored, push)))
        })
        .await?
        .ok_or(Refusal::UnknownEvent)?;
    let mut json = frame::data(&stored, Sending::InOrder);
    let push: Vec<Push> = push.into_iter().map(Push::from).collect();
    // One more member at the end of the same object.
    json.truncate(json.trim_end_matches('}').len());
    json.push_str(",\"push\":");
    json.push_str(&serde_json::to_string(&push).unwrap_or_default());
    json.push('}');
    Ok(HttpResponse::Ok().content_type("application/json").body(json))
}

/// The body of one event, byte for byte. An attachment that no browser interprets: it is a stranger's.
pub(super) async fn body(
    request: HttpRequest,
    path: web::Path<(String, String)>,
    service: web::Data<Service>,
) -> Result<HttpResponse, Refusal> {
    let (source, sequence) = path.into_inner();
    let source = allowed(&service, &request, source).await?;
    let sequence = sequence_of(&sequence)?;
    let permit = timeout(TURN, Arc::clone(&service.downloads).acquire_owned())
        .await
        .ok()
        .and_then(Result::ok)
        .ok_or(Refusal::Exhausted)?;
    let name = format!("attachment; filename=\"{source}-{sequence}\"");
    let body = service
        .database
        .run(async move |session| {
            let Some(day) = store::day_of(&session, &source, sequence).await? else { return Ok(None) };
            store::body(&session, &source, sequence, day).await
        })
        .await?
        .ok_or(Refusal::UnknownEvent)?;
    let length = body.len() as u64;
    Ok(HttpResponse::Ok()
        .content_type("application/octet-stream")
        .insert_header((header::CONTENT_DISPOSITION, name))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(SizedStream::new(length, pieces(Bytes::from(body), permit))))
}

/// The pieces of a body; the permit goes back when the last one has been taken.
fn pieces(
    body: Bytes,
    permit: OwnedSemaphorePermit,
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold((body, permit), |(mut rest, permit)| async move {
        if rest.is_empty() {
            return None;
        }
        let piece = rest.split_to(rest.len().min(PIECE));
        Some((Ok(piece), (rest, permit)))
    })
}

/// The source, if it is configured and the bearer may read it.
async fn allowed(service: &Service, request: &HttpRequest, source: String) -> Result<String, Refusal> {
    service.hub.feed(&source).ok_or(Refusal::UnknownSource)?;
    auth::reader_of(service, request, &source).await?;
    Ok(source)
}

fn sequence_of(text: &str) -> Result<i64, Refusal> {
    text.parse().ok().filter(|sequence| *sequence > 0).ok_or(Refusal::UnknownEvent)
}
