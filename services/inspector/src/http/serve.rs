//! The one way into every handler: host, who, access, body, CSRF, then the work on the process's runtime.

use super::answer::{Answer, Body};
use super::call::{Call, Incoming, is_type};
use super::{Pairs, host};
use crate::access::Access;
use crate::auth::{self, csrf};
use crate::error::Error;
use crate::routes::{Method, Route};
use crate::state::State;
use crate::who::{Origin, Who};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, StreamExt};
use hooks_shared::ids;
use hooks_shared::remote;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::timeout;

/// How long a handler may take to answer.
const WORK_TIME: Duration = Duration::from_secs(30);

/// The headers that handlers may ask for.
const KEPT: &[&str] = &[
    "accept",
    "authorization",
    "content-type",
    "idempotency-key",
    "last-event-id",
    "origin",
    "referer",
    "sec-fetch-site",
    "x-hooks-csrf",
];

/// Nothing runs that is not ours, nothing is loaded from elsewhere, nobody frames us.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// `GET /healthz`: alive. Asked by proxies and orchestrators under any host name.
pub async fn healthz() -> HttpResponse {
    hooks_shared::admin::healthz().await
}

/// Registers every route of the table, and for each path the answer to other methods.
pub fn configure(config: &mut web::ServiceConfig, table: &'static [Route]) {
    let mut paths: BTreeMap<&str, Vec<&'static Route>> = BTreeMap::new();
    for route in table {
        paths.entry(route.path).or_default().push(route);
    }
    // Fixed paths first: `/api/events/live` is no source called `live`.
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_by_key(|(path, _)| path.matches('{').count());
    for (path, routes) in paths {
        let mut resource = web::resource(path);
        let mut allowed = Vec::new();
        for route in routes {
            let handler = move |request: HttpRequest, payload: web::Payload, state: web::Data<State>| {
                serve(route, request, payload, state)
            };
            allowed.push(route.method.as_str());
            resource = resource.route(web::method(route.method.to_actix()).to(handler));
            if route.method == Method::Get {
                allowed.push("HEAD");
                resource = resource.route(web::head().to(handler));
            }
        }
        let allowed = allowed.join(", ");
        config.service(resource.default_service(web::to(
            move |request: HttpRequest, state: web::Data<State>| {
                let error = Error::MethodNotAllowed(allowed.clone());
                async move { refuse(&incoming(&request, &state), &Who::default(), error) }
            },
        )));
    }
    config.default_service(web::to(|request: HttpRequest, state: web::Data<State>| async move {
        let incoming = incoming(&request, &state);
        let error = match host::is_allowed_host(&incoming.host, &state.config) {
            true => Error::NotFound("page"),
            false => Error::WrongHost,
        };
        refuse(&incoming, &Who::default(), error)
    }));
}

async fn serve(
    route: &'static Route,
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<State>,
) -> HttpResponse {
    let incoming = incoming(&request, &state);
    let mut who = Who::default();
    match admit(route, &request, payload, &state, &incoming, &mut who).await {
        Ok((renewed, call)) => {
            let mut answer = match work(route, call, &state).await {
                Ok(answer) => answer,
                Err(error) => return refuse(&incoming, &who, error),
            };
            if let Some(cookie) = renewed
                && answer.header("Set-Cookie").is_none()
            {
                answer = answer.with("Set-Cookie", cookie);
            }
            finish(&incoming, answer)
        }
        Err(Error::Unauthorized) if route.is_page() && route.method == Method::Get => {
            let next = request.uri().path_and_query().map_or("/", |path| path.as_str());
            finish(&incoming, Answer::see(format!("/login?next={}", super::encode(next))))
        }
        Err(error) => refuse(&incoming, &who, error),
    }
}

/// Everything that is decided before a handler runs. The text is a session cookie to be set again. `who` is told as soon
/// as it is known, so that a refusal can be put to them.
async fn admit(
    route: &'static Route,
    request: &HttpRequest,
    payload: web::Payload,
    state: &State,
    incoming: &Incoming,
    who: &mut Who,
) -> Result<(Option<String>, Call), Error> {
    if !host::is_allowed_host(&incoming.host, &state.config) {
        return Err(Error::WrongHost);
    }
    let renewed;
    (*who, renewed) = identify(route, request, state, incoming).await?;
    if let Some(refusal) = route.access.refusal(who) {
        return Err(refusal);
    }
    let body = read(payload, route.body_limit, state.body_time).await?;
    if route.method.changes() {
        let form =
            is_type(incoming.header("content-type").unwrap_or_default(), "application/x-www-form-urlencoded");
        let field = form.then(|| Pairs::parse(&String::from_utf8_lossy(&body)));
        let public = route.access == Access::Public;
        csrf::check(who, public, incoming, field.as_ref().and_then(|pairs| pairs.get("csrf_token")))?;
    }
    let query = Pairs::parse(&incoming.query_string);
    route.check_query(&query)?;
    let params = request.match_info().iter();
    let params = params.map(|(name, value)| (name.to_owned(), decode(value))).collect();
    let call =
        Call { state: state.clone(), who: who.clone(), incoming: incoming.clone(), params, query, body };
    if !route.is_page() && route.method.changes() && route.takes.is_none() {
        call.expect_no_members()?;
    }
    Ok((renewed, call))
}

/// The caller. Where anybody may come, a bad credential is nobody; elsewhere it is refused.
async fn identify(
    route: &'static Route,
    request: &HttpRequest,
    state: &State,
    incoming: &Incoming,
) -> Result<(Who, Option<String>), Error> {
    let cookies = request.headers().get_all("cookie").map(HeaderValue::as_bytes);
    let cookie = super::cookie(cookies, auth::SESSION_COOKIE).map(str::to_owned);
    if cookie.is_none() && incoming.header("authorization").is_none() {
        return Ok((Who::default(), None));
    }
    let (state, incoming) = (state.clone(), incoming.clone());
    let runtime = state.runtime.clone();
    let found = runtime.spawn(async move { auth::identify(&state, &incoming, cookie.as_deref()).await });
    match found.await.map_err(|_| Error::Internal)? {
        Err(Error::Unauthorized) if route.access == Access::Public => Ok((Who::default(), None)),
        other => other,
    }
}

/// Runs the handler where the database connections live. A panic is one failed request.
async fn work(route: &'static Route, call: Call, state: &State) -> Result<Answer, Error> {
    let handler = route.handler;
    let task = state.runtime.spawn(AssertUnwindSafe(async move { handler(call).await }).catch_unwind());
    match timeout(WORK_TIME, task).await {
        Ok(Ok(Ok(answer))) => answer,
        Ok(_) => {
            log::error!(route = route.path; "a handler panicked");
            Err(Error::Internal)
        }
        Err(_) => Err(Error::Unavailable),
    }
}

async fn read(mut payload: web::Payload, limit: usize, time: Duration) -> Result<Bytes, Error> {
    let reading = async {
        let mut body = BytesMut::new();
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|_| Error::BrokenBody)?;
            if body.len() + chunk.len() > limit {
                return Err(Error::TooLarge(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    };
    timeout(time, reading).await.map_err(|_| Error::SlowBody(time.as_secs()))?
}

fn incoming(request: &HttpRequest, state: &State) -> Incoming {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let peer = request.peer_addr().map(|address| address.ip());
    let forwarded: Vec<&[u8]> = headers.get_all("x-forwarded-for").map(HeaderValue::as_bytes).collect();
    let trusted = &state.config.trusted_proxies;
    let from_proxy = peer.is_some_and(|peer| trusted.iter().any(|net| net.contains(&peer.to_canonical())));
    let host = text("host").or_else(|| request.uri().host().map(str::to_owned)).unwrap_or_default();
    let given_id = headers.get("x-request-id").map(HeaderValue::as_bytes);
    let millis = (state.clock.now().unix_timestamp_nanos() / 1_000_000) as i64;
    Incoming {
        method: request.method().to_string(),
        path: request.path().to_owned(),
        query_string: request.query_string().to_owned(),
        https: host::is_https(&host, text("x-forwarded-proto").as_deref(), from_proxy, &state.config),
        host,
        origin: Origin {
            address: remote::sender(peer, forwarded.into_iter(), trusted),
            user_agent: text("user-agent").unwrap_or_default().chars().take(256).collect(),
            request_id: ids::request_id_of(given_id, millis),
        },
        headers: kept(headers),
    }
}

fn kept(headers: &HeaderMap) -> std::collections::HashMap<&'static str, String> {
    let read = |name: &&'static str| Some((*name, headers.get(*name)?.to_str().ok()?.to_owned()));
    KEPT.iter().filter_map(read).collect()
}

/// A part of a path, decoded once; what is not UTF-8 is replaced and so names nothing.
fn decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn refuse(incoming: &Incoming, who: &Who, error: Error) -> HttpResponse {
    let status = error.status();
    log::info!(
        request_id = incoming.origin.request_id, method = incoming.method, path = incoming.path, status,
        code = error.code(); "refused"
    );
    let wants_page = incoming.header("accept").is_some_and(|accept| accept.contains("text/html"));
    let mut answer = if wants_page && !incoming.path.starts_with("/api/") {
        crate::pages::failure(incoming, who, &error)
    } else {
        Answer::json(
            status,
            &serde_json::json!({"error": {
                "code": error.code(), "message": error.to_string(), "request_id": incoming.origin.request_id,
            }}),
        )
    };
    match &error {
        Error::Unauthorized => answer = answer.with("WWW-Authenticate", "Bearer"),
        Error::MethodNotAllowed(allow) => answer = answer.with("Allow", allow),
        Error::RateLimited(seconds) => answer = answer.with("Retry-After", seconds.to_string()),
        Error::Unavailable => answer = answer.with("Retry-After", "2"),
        _ => {}
    }
    let mut response = finish(incoming, answer);
    if matches!(error, Error::TooLarge(_) | Error::BrokenBody | Error::SlowBody(_)) {
        // What is left of the body is not read.
        response.head_mut().set_connection_type(actix_web::http::ConnectionType::Close);
    }
    response
}

fn finish(incoming: &Incoming, answer: Answer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    let own_policy = answer.header("Content-Security-Policy").is_some();
    let own_caching = answer.header("Cache-Control").is_some();
    for (name, value) in &answer.headers {
        // A value with a line end would be a bug; it is left out rather than sent.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(*name), HeaderValue::try_from(value)) {
            response.append_header((name, value));
        }
    }
    response
        .insert_header(("X-Request-Id", incoming.origin.request_id.as_str()))
        .insert_header(("X-Content-Type-Options", "nosniff"))
        .insert_header(("X-Frame-Options", "DENY"))
        .insert_header(("Referrer-Policy", "same-origin"))
        .insert_header(("Cross-Origin-Opener-Policy", "same-origin"))
        .insert_header(("Cross-Origin-Resource-Policy", "same-origin"));
    if !own_policy {
        response.insert_header(("Content-Security-Policy", CONTENT_POLICY));
    }
    if !own_caching {
        response.insert_header(("Cache-Control", "no-store"));
    }
    if incoming.https {
        response.insert_header(("Strict-Transport-Security", "max-age=31536000"));
    }
    match answer.body {
        Body::Empty => response.finish(),
        Body::Whole(bytes) => response.body(bytes),
        Body::Stream(chunks) => response.streaming(chunks),
    }
}
