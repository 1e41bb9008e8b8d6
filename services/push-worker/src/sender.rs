//! Sends one request and waits for its answer. The real one is reqwest, held to addresses that were checked before.

use crate::outgoing::Outgoing;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Request};
use rustls::RootCertStore;
use std::collections::HashMap;
use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Of a body so much is read, so that the connection can be used again; the rest is never looked at.
const BODY_LIMIT: usize = 16 << 10;
/// How long a body may take once the status is known.
const BODY_TIME: Duration = Duration::from_secs(2);
/// An idle connection is kept shorter than most servers keep theirs, so that we rarely write to a closed one.
const IDLE: Duration = Duration::from_secs(15);
/// Hosts whose checked addresses are remembered.
const PINS: usize = 10_000;

/// What came back: the head of a response, and the beginning of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub retry_after: Option<String>,
    pub body: Bytes,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendError {
    /// A part, or the whole, took too long.
    Timeout(String),
    Network(String),
    /// No request could be made of it.
    Unsendable(String),
}

/// Sends requests. A seam: tests make it panic, abort or wait.
pub trait Sender: Send + Sync {
    /// Sends to one of `addresses`, all of which were checked. Nothing takes longer than `deadline`.
    fn send(
        &self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Answer, SendError>>;
}

/// The real sender.
#[derive(Debug)]
pub struct HttpSender {
    client: Client,
    pins: Arc<Pins>,
}

impl HttpSender {
    /// `proxy` is the only proxy ever used: the environment is not asked.
    pub fn new(connect_timeout: Duration, proxy: Option<&str>) -> Result<Self, String> {
        let pins = Arc::new(Pins::default());
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .connect_timeout(connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .http1_only()
            .http1_title_case_headers()
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(32)
            .tcp_nodelay(true)
            .dns_resolver(pins.clone());
        if let Some(url) = proxy {
            let proxy = reqwest::Proxy::all(url).map_err(|error| format!("push.proxy: {error}"))?;
            pins.trust(url);
            builder = builder.proxy(proxy);
        }
        let client = builder.build().map_err(|error| format!("the HTTP client cannot be set up: {error}"))?;
        Ok(Self { client, pins })
    }

    async fn exchange(&self, request: Request, deadline: Instant) -> Result<Answer, SendError> {
        let sent = timeout_at(deadline, self.client.execute(request)).await;
        let mut response = match sent {
            Err(_) => return Err(SendError::Timeout("no answer within the attempt's time".to_owned())),
            Ok(Err(error)) => return Err(classed(&error)),
            Ok(Ok(response)) => response,
        };
        let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let mut answer = Answer {
            status: response.status().as_u16(),
            retry_after: retry_after.map(str::to_owned),
            body: Bytes::new(),
        };
        // The status has decided; a broken, slow or endless body changes nothing.
        let mut body = Vec::new();
        let end = deadline.min(Instant::now() + BODY_TIME);
        while let Ok(Ok(Some(chunk))) = timeout_at(end, response.chunk()).await {
            body.extend_from_slice(&chunk[..chunk.len().min(BODY_LIMIT - body.len())]);
            if body.len() == BODY_LIMIT {
                break;
            }
        }
        answer.body = body.into();
        Ok(answer)
    }
}

impl Sender for HttpSender {
    fn send(
        &self,
        outgoing: Outgoing,
        addresses: Vec<SocketAddr>,
        deadline: Instant,
    ) -> BoxFuture<'_, Result<Answer, SendError>> {
        Box::pin(async move {
            if let Some(host) = outgoing.url.domain() {
                self.pins.set(host, addresses);
            }
            let mut request = Request::new(outgoing.method, outgoing.url);
            *request.headers_mut() = outgoing.headers;
            *request.body_mut() = Some(outgoing.body.into());
            self.exchange(request, deadline).await
        })
    }
}

/// Sorts an error of the client. Its text names causes, never the URL.
fn classed(error: &reqwest::Error) -> SendError {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    causes.dedup();
    let text = if causes.is_empty() { "the request failed".to_owned() } else { causes.join(": ") };
    if error.is_timeout() {
        SendError::Timeout(text)
    } else if error.is_builder() {
        SendError::Unsendable(text)
    } else {
        SendError::Network(text)
    }
}

fn tls() -> Result<rustls::ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The checked addresses of each host, put here right before a request. The client asks nobody else for addresses.
#[derive(Debug, Default)]
struct Pins {
    checked: Mutex<HashMap<String, Vec<SocketAddr>>>,
    /// The configured proxy's host, which is resolved in the ordinary way.
    trusted: Mutex<Option<String>>,
}

impl Pins {
    fn set(&self, host: &str, addresses: Vec<SocketAddr>) {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked.len() >= PINS {
            checked.clear();
        }
        checked.insert(host.to_owned(), addresses);
    }

    fn trust(&self, proxy: &str) {
        let host = url::Url::parse(proxy).ok().and_then(|url| url.host_str().map(str::to_owned));
        *self.trusted.lock().unwrap_or_else(PoisonError::into_inner) = host;
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let trusted = self.trusted.lock().unwrap_or_else(PoisonError::into_inner).as_deref() == Some(&host);
        if trusted {
            return Box::pin(async move {
                let found: Vec<_> = tokio::net::lookup_host((host, 0)).await?.collect();
                Ok(Box::new(found.into_iter()) as Addrs)
            });
        }
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner).get(&host).cloned();
        Box::pin(async move {
            let addresses = checked.ok_or("no checked address is known for this host")?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
