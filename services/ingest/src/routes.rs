//! `/ingest/{source}`: from a request to its answer, in the order that README.md promises.

use crate::behind::Behind;
use crate::body;
use crate::budget::{Budget, Hold};
use crate::error::Answer;
use crate::event::{NewEvent, window_seconds};
use crate::head::{Parsed, TapHandle, capture, claimed};
use crate::lane::{Lanes, Outcome};
use crate::metrics::Metrics;
use crate::rejected::LOOKED_AT;
use crate::sources::{Current, ReadySource};
use crate::span::Taking;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use hooks_shared::clock::Clock;
use hooks_shared::config::DedupeWindow;
use hooks_shared::event::{Header, encode_headers};
use hooks_shared::spans::Spans;
use hooks_shared::verify::{Ack, ChallengeAnswer, Parts, Refusal, Request, Verdict, Verified};
use hooks_shared::{ids, remote};
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use time::OffsetDateTime;

/// What every request needs; one per worker thread, cheap to clone.
#[derive(Debug, Clone)]
pub struct Ingest {
    pub behind: Behind,
    pub sources: Current,
    pub lanes: Lanes,
    pub budget: Budget,
    pub clock: Clock,
    pub metrics: Metrics,
    pub spans: Spans,
    pub trusted_proxies: Vec<IpNet>,
}

/// A body up to this size is verified on the spot; hashing a larger one would keep the thread's other
/// connections waiting.
const VERIFY_INLINE: usize = 256 * 1024;

/// A request as it is verified: what actix parsed, owned, so that a large one can be verified elsewhere.
struct Incoming {
    method: String,
    target: String,
    headers: Vec<Header>,
    body: Bytes,
    remote_addr: Option<IpAddr>,
}

/// A request, what the verifier says of it, and the digest of its body.
struct Judged {
    incoming: Incoming,
    verdict: Verdict<'static>,
    body_sha256: [u8; 32],
}

fn judge(source: &ReadySource, incoming: Incoming, now: OffsetDateTime) -> Judged {
    let verdict = source.verifier.verify(&incoming.request(), now).into_owned();
    let body_sha256 = match verdict {
        Verdict::Ok(_) => Sha256::digest(&incoming.body).into(),
        _ => [0; 32],
    };
    Judged { incoming, verdict, body_sha256 }
}

/// Handles a request of any method.
pub async fn ingest(request: HttpRequest, payload: Payload, ingest: Data<Ingest>) -> HttpResponse {
    let name = request.match_info().get("source").unwrap_or_default().to_owned();
    let tap = request.conn_data::<TapHandle>().cloned();
    let raw = claimed(&request);
    let id = request_id(&request, &ingest.clock);
    let mut response = match ingest.sources.get(&name) {
        None => ingest.refuse("", &Answer::UnknownSource),
        Some(source) => match ingest.handle(&request, payload, &source, raw, tap).await {
            Ok(response) => response,
            Err(answer) => {
                log::warn!(source = name.as_str(), reason = answer.word(), request_id = id.as_str();
                    "not accepted: {}", answer.detail());
                ingest.refuse(&name, &answer)
            }
        },
    };
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SEQUENCE: HeaderName = HeaderName::from_static("x-hooks-sequence");

fn request_id(request: &HttpRequest, clock: &Clock) -> String {
    let given = request.headers().get(&REQUEST_ID).map(HeaderValue::as_bytes);
    ids::request_id_of(given, unix_millis(clock.now()))
}

fn unix_millis(now: OffsetDateTime) -> i64 {
    (now.unix_timestamp_nanos() / 1_000_000) as i64
}

impl Ingest {
    async fn handle(
        &self,
        request: &HttpRequest,
        mut payload: Payload,
        source: &Arc<ReadySource>,
        raw: Option<Vec<u8>>,
        tap: Option<TapHandle>,
    ) -> Result<HttpResponse, Answer> {
        let began = self.clock.now();
        let declared = content_length(request);
        let (body, hold) = body::read(&mut payload, declared, source.body_limit, &self.budget).await?;
        let judged = self.verify(source, self.incoming(request, body)).await?;
        self.beside(source, &judged, raw.as_deref()).await?;
        match &judged.verdict {
            Verdict::Challenge(answer) => {
                drop(hold);
                Ok(self.answer_challenge(source, answer))
            }
            // A handshake may come by any method, and may be refused by any.
            Verdict::Refused(refusal) if refusal.handshake.is_some() => Err(refused(source, refusal)),
            _ if !source.methods.contains(&judged.incoming.method) => {
                Err(Answer::MethodNotAllowed { allow: source.methods.join(", ") })
            }
            Verdict::Refused(refusal) => Err(refused(source, refusal)),
            Verdict::Ok(verified) => {
                let verified = verified.clone();
                let event = self.event(source, judged, verified, raw, tap);
                self.store(source, event, hold, began).await
            }
        }
    }

    fn incoming(&self, request: &HttpRequest, body: Bytes) -> Incoming {
        let headers = request.headers();
        let forwarded = headers.get_all("x-forwarded-for").map(|value| value.as_bytes()).collect::<Vec<_>>();
        let peer = request.peer_addr().map(|address| address.ip());
        Incoming {
            method: request.method().as_str().to_owned(),
            target: request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned(),
            headers: headers
                .iter()
                .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect(),
            body,
            remote_addr: remote::sender(peer, forwarded.into_iter(), &self.trusted_proxies),
        }
    }

    /// What a verdict asks for besides its answer.
    async fn beside(
        &self,
        source: &Arc<ReadySource>,
        judged: &Judged,
        raw: Option<&[u8]>,
    ) -> Result<(), Answer> {
        match &judged.verdict {
            Verdict::Challenge(answer) => self.behind.settle(source, answer).await,
            Verdict::Refused(refusal)
                if refusal.handshake.is_some() || source.methods.contains(&judged.incoming.method) =>
            {
                let request = || (judged.incoming.parts(), capture(raw, &judged.incoming.parsed()));
                let length = judged.incoming.body.len();
                self.behind.refused(source, refusal, request, length, self.clock.now());
                Ok(())
            }
            Verdict::Refused(_) | Verdict::Ok(_) => Ok(()),
        }
    }

    async fn verify(&self, source: &Arc<ReadySource>, incoming: Incoming) -> Result<Judged, Answer> {
        let now = self.clock.now();
        self.behind.fetch_key(source, &incoming.request(), now).await;
        if incoming.body.len() <= VERIFY_INLINE {
            return Ok(judge(source, incoming, now));
        }
        let source = source.clone();
        // An error means that the process is stopping or that the verifier panicked: either way nothing is stored.
        tokio::task::spawn_blocking(move || judge(&source, incoming, now))
            .await
            .map_err(|_| Answer::Unavailable)
    }

    fn event(
        &self,
        source: &ReadySource,
        judged: Judged,
        verified: Verified<'static>,
        raw: Option<Vec<u8>>,
        tap: Option<TapHandle>,
    ) -> NewEvent {
        let Judged { incoming, body_sha256, .. } = judged;
        let captured = capture(raw.as_deref(), &incoming.parsed());
        if !captured.exact {
            self.metrics.inexact.inc();
            if let Some(tap) = tap {
                tap.give_up();
            }
        }
        let event_id = ids::event_id(unix_millis(self.clock.now()));
        let window = source.window_for(&verified.dedupe);
        let dedupe_key = match window {
            // Nothing is a repeat but this very event, sent again by its lane.
            DedupeWindow::Off => Sha256::digest(event_id.as_bytes()).into(),
            DedupeWindow::For(_) => verified.dedupe_key(&incoming.body),
        };
        NewEvent {
            source: source.name.clone(),
            event_id,
            dedupe_key,
            window_seconds: window_seconds(window),
            delivery_id: verified.delivery_id.map(Cow::into_owned),
            event_type: verified.event_type.map(Cow::into_owned),
            provider_timestamp: verified.timestamp,
            method: incoming.method,
            target: captured.target,
            headers: encode_headers(&captured.headers),
            exact: captured.exact,
            remote_addr: incoming.remote_addr,
            body_sha256,
            body: incoming.body,
        }
    }

    async fn store(
        &self,
        source: &ReadySource,
        event: NewEvent,
        hold: Hold,
        began: OffsetDateTime,
    ) -> Result<HttpResponse, Answer> {
        let bytes = event.body.len() as u64;
        let taking = Taking::begin(&self.spans, &event, began);
        let outcome = self.lanes.store(event, hold).await;
        if let Some(taking) = taking {
            taking.end(&self.spans, &outcome, self.clock.now());
        }
        match outcome {
            Outcome::Stored { sequence } => {
                self.metrics.body_bytes.inc_by(bytes);
                self.metrics.count(&source.name, "stored", &self.budget);
                Ok(acknowledge(source.verifier.ack(), sequence))
            }
            Outcome::Duplicate { sequence } => {
                self.metrics.count(&source.name, "duplicate", &self.budget);
                Ok(acknowledge(&source.repeat_ack(), sequence))
            }
            Outcome::Refused { .. } => Err(Answer::NotStorable),
            Outcome::Unavailable { .. } => Err(Answer::Unavailable),
        }
    }

    fn answer_challenge(&self, source: &ReadySource, answer: &ChallengeAnswer) -> HttpResponse {
        self.metrics.count(&source.name, "challenge", &self.budget);
        log::info!(source = source.name.as_ref(), kind = answer.kind; "answered a handshake");
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        let mut response = HttpResponse::build(status);
        for (name, value) in &answer.headers {
            response.insert_header((name.as_str(), value.as_str()));
        }
        response.insert_header(("X-Content-Type-Options", "nosniff"));
        response.body(answer.body.clone())
    }

    fn refuse(&self, source: &str, answer: &Answer) -> HttpResponse {
        self.metrics.count(source, answer.word(), &self.budget);
        answer.response()
    }
}

impl Incoming {
    /// A copy for the record; of a body as much as is looked at.
    fn parts(&self) -> Parts {
        Parts {
            method: self.method.clone(),
            target: self.target.clone(),
            headers: self.headers.clone(),
            body: self.body[..self.body.len().min(LOOKED_AT)].to_vec(),
            remote_addr: self.remote_addr,
        }
    }

    fn parsed(&self) -> Parsed<'_> {
        Parsed { method: &self.method, target: &self.target, headers: &self.headers }
    }

    fn request(&self) -> Request<'_> {
        Request {
            method: &self.method,
            target: &self.target,
            headers: &self.headers,
            body: &self.body,
            remote_addr: self.remote_addr,
        }
    }
}

fn refused(source: &ReadySource, refusal: &Refusal) -> Answer {
    let status = source.verifier.refuse_status(refusal.reason);
    Answer::Refused { reason: refusal.reason, status, detail: refusal.detail.clone() }
}

fn acknowledge(ack: &Ack, sequence: i64) -> HttpResponse {
    let mut response = HttpResponse::build(StatusCode::from_u16(ack.status).unwrap_or(StatusCode::OK));
    response.insert_header((SEQUENCE, sequence));
    if let Some(content_type) = &ack.content_type {
        response.content_type(content_type.as_str());
    }
    response.body(ack.body.clone())
}

fn content_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get("content-length")?.to_str().ok()?.trim().parse().ok()
}
