//! `GET /subscribe/{source}`: the event stream.

use super::{Service, auth, query_pairs};
use crate::backfill::Window;
use crate::cursor::{CursorError, Start};
use crate::error::Refusal;
use crate::listener::{Begin, Listener};
use crate::registry::Connected;
use crate::socket::StreamSocket;
use actix_web::http::header::{self, HeaderName};
use actix_web::{HttpRequest, HttpResponse, web};
use std::sync::Arc;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
const KEEPALIVE: HeaderName = HeaderName::from_static("x-hooks-keepalive");

/// The order of the checks is part of the contract.
pub(super) async fn subscribe(
    request: HttpRequest,
    source: web::Path<String>,
    service: web::Data<Service>,
) -> Result<HttpResponse, Refusal> {
    let feed = service.hub.feed(&source).ok_or(Refusal::UnknownSource)?;
    let token = auth::reader_of(&service, &request, &source).await?;
    let start = start(&request)?;
    let head = service.hub.read_head(&source).await?;
    let cursor = start.cursor(head.sequence);
    let socket = request.conn_data::<Arc<StreamSocket>>().cloned().ok_or(Refusal::Exhausted)?;
    let connected = Connected::new(token.id, Arc::clone(&feed.source), cursor, socket);
    let place = service.registry.enter(connected).ok_or(Refusal::Stopping)?;
    let window = Window::open(service.clock.now(), feed.rules().skew);
    let begin = Begin { cursor, head, window, keepalive: service.settings.keepalive };
    let listener = Listener::new(Arc::clone(&service.hub), feed, place, begin);
    Ok(answer(&service, listener))
}

fn answer(service: &Service, listener: Listener) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "text/event-stream"))
        .insert_header((header::CACHE_CONTROL, "no-cache, no-transform"))
        .insert_header((ACCEL_BUFFERING, "no"))
        .insert_header((KEEPALIVE, seconds(service.settings.keepalive)))
        .streaming(listener.into_stream())
}

/// Whole seconds where possible: `15`, `0.2`.
fn seconds(duration: std::time::Duration) -> String {
    duration.as_secs_f64().to_string()
}

fn start(request: &HttpRequest) -> Result<Start, CursorError> {
    let since = query_pairs(request).into_iter().find(|(name, _)| name == "since").map(|(_, value)| value);
    let last = match request.headers().get(&LAST_EVENT_ID) {
        None => None,
        Some(value) => Some(value.to_str().map_err(|_| CursorError::LastEventId("\u{fffd}".to_owned()))?),
    };
    Start::parse(since.as_deref(), last)
}
