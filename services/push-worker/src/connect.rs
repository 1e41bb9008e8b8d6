//! Connections to receivers: to checked addresses only, or over the one proxy that is configured.

use crate::outgoing::Outgoing;
use crate::sender::SendError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hooks_shared::http1::{self, Request, Stream};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use url::Url;

/// How long one address is tried alone before the next one is tried beside it (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(300);

/// Where a request goes.
#[derive(Debug, Clone)]
pub struct Route {
    pub tls: bool,
    /// A name, or an address without brackets.
    pub host: String,
    pub port: u16,
    /// The `Host` header's value.
    pub authority: String,
    /// Checked before. The host's name is never looked up again.
    pub addresses: Vec<SocketAddr>,
}

impl Route {
    /// The error says what the URL lacks, and not the URL.
    pub fn to(url: &Url, addresses: Vec<SocketAddr>) -> Result<Self, String> {
        let host = url.host_str().ok_or("the URL names no host")?;
        let port = url.port_or_known_default().ok_or("the URL names no port")?;
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { tls: url.scheme() == "https", host, port, authority, addresses })
    }
}

/// An open connection.
pub struct Connection {
    pub stream: Stream,
    /// Whom it was opened to: the receiver, or the proxy.
    pub peer: SocketAddr,
}

/// Opens connections.
pub struct Connector {
    limit: Duration,
    tls: TlsConnector,
    proxy: Option<Proxy>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// `push.proxy`.
struct Proxy {
    route: Route,
    /// The value of `Proxy-Authorization`.
    credentials: Option<String>,
}

impl Proxy {
    fn parse(text: &str) -> Result<Self, String> {
        let bad = |why: &str| format!("push.proxy {why}; write one such as http://proxy.example.com:3128");
        let url = Url::parse(text).map_err(|_| bad("is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("is not an http or https URL"));
        }
        let route = Route::to(&url, Vec::new()).map_err(|why| bad(&why))?;
        let decoded = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
        let credentials = (!url.username().is_empty() || url.password().is_some()).then(|| {
            let pair = [&decoded(url.username())[..], b":", &decoded(url.password().unwrap_or_default())];
            format!("Basic {}", STANDARD.encode(pair.concat()))
        });
        Ok(Self { route, credentials })
    }
}

impl Connector {
    /// `limit` is for TCP, TLS and the proxy's consent together.
    pub fn new(limit: Duration, proxy: Option<&str>) -> Result<Self, String> {
        Ok(Self { limit, tls: http1::tls()?, proxy: proxy.map(Proxy::parse).transpose()? })
    }

    /// Opens a connection over which requests of this route can be sent.
    pub async fn connect(&self, route: &Route) -> Result<Connection, SendError> {
        let opening = async {
            match &self.proxy {
                None => {
                    let (tcp, peer) = open(&route.addresses).await?;
                    Ok(Connection { stream: self.secured(route, tcp).await?, peer })
                }
                Some(proxy) => self.connect_over(proxy, route).await,
            }
        };
        match timeout(self.limit, opening).await {
            Ok(done) => done.map_err(SendError::Network),
            Err(_) => Err(SendError::Timeout(format!("no connection within {:?}", self.limit))),
        }
    }

    async fn connect_over(&self, proxy: &Proxy, route: &Route) -> Result<Connection, String> {
        let named = |error: std::io::Error| format!("push.proxy cannot be resolved: {error}");
        let found = lookup_host((proxy.route.host.as_str(), proxy.route.port)).await.map_err(named)?;
        let opened = open(&found.collect::<Vec<_>>()).await;
        let (tcp, peer) = opened.map_err(|why| format!("push.proxy: {why}"))?;
        let stream = self.secured(&proxy.route, tcp).await.map_err(|why| format!("push.proxy: {why}"))?;
        if !route.tls {
            return Ok(Connection { stream, peer });
        }
        let through = tunnel(stream, proxy, route).await.map_err(|why| format!("push.proxy: {why}"))?;
        Ok(Connection { stream: self.secured(route, through).await?, peer })
    }

    async fn secured(&self, route: &Route, stream: impl http1::Io + 'static) -> Result<Stream, String> {
        if !route.tls {
            return Ok(Box::new(stream));
        }
        let secured = http1::secure(&self.tls, &route.host, stream).await;
        secured.map_err(|error| format!("the TLS connection cannot be made: {error}"))
    }

    /// Makes of a request what a proxy expects, where there is one (RFC 9112, section 3.2.2).
    pub fn adapt(&self, outgoing: &mut Outgoing, route: &Route) {
        let Some(proxy) = self.proxy.as_ref().filter(|_| !route.tls) else { return };
        let request = &mut outgoing.request;
        request.target = format!("http://{}{}", route.authority, request.target);
        if let Some(credentials) = &proxy.credentials {
            request.set("Proxy-Authorization", credentials);
        }
    }

    /// Whether a connection to `peer` leads to one of the route's checked addresses.
    pub fn leads(&self, route: &Route, peer: SocketAddr) -> bool {
        self.proxy.is_some() || route.addresses.contains(&peer)
    }
}

/// Asks a proxy for a connection to the receiver (RFC 9110, section 9.3.6).
async fn tunnel(stream: Stream, proxy: &Proxy, route: &Route) -> Result<Stream, String> {
    let target = format!("{}:{}", bracketed(&route.host), route.port);
    let mut request = Request {
        method: "CONNECT".to_owned(),
        target: target.clone(),
        headers: Vec::new(),
        body: bytes::Bytes::new(),
    };
    if let Some(credentials) = &proxy.credentials {
        request.set("Proxy-Authorization", credentials);
    }
    let answer = http1::send(stream, &request.head(&target), b"").await.map_err(|error| error.to_string())?;
    match answer.head.status {
        200..300 => {
            answer.into_tunnel().ok_or_else(|| "it said more than that the tunnel is open".to_owned())
        }
        status => Err(format!("it answered {status} to CONNECT")),
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// Connects to whichever address answers first, each with a head start before the next.
async fn open(addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), String> {
    let mut attempts = FuturesUnordered::new();
    let mut left = addresses.iter().copied();
    let mut last = "the host has no address".to_owned();
    loop {
        match left.next() {
            Some(address) => attempts.push(async move { (TcpStream::connect(address).await, address) }),
            None if attempts.is_empty() => return Err(last),
            None => {}
        }
        tokio::select! {
            Some((connected, address)) = attempts.next() => match connected {
                Ok(stream) => {
                    let _ = stream.set_nodelay(true);
                    return Ok((stream, address));
                }
                Err(error) => last = format!("connecting to {address}: {error}"),
            },
            () = sleep(HEAD_START), if left.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn a_route_is_read_from_a_url() {
        let route = |text: &str| Route::to(&Url::parse(text).expect("a URL"), Vec::new()).expect("a route");
        let plain = route("http://shop.example/hook");
        assert_eq!((plain.tls, plain.port, plain.authority.as_str()), (false, 80, "shop.example"));
        let six = route("https://[2001:db8::1]:8443/");
        assert_eq!(
            (six.tls, six.host.as_str(), six.authority.as_str()),
            (true, "2001:db8::1", "[2001:db8::1]:8443")
        );
        assert_eq!(bracketed(&six.host), "[2001:db8::1]");
    }

    #[test]
    fn a_proxy_that_is_none_is_refused_without_its_password() {
        for text in ["proxy:3128", "socks5://u:hunter2@proxy", "http://u:hunter2@"] {
            let error = Proxy::parse(text).err().expect(text);
            assert!(error.contains("push.proxy") && !error.contains("hunter2"), "{error}");
        }
        let proxy = Proxy::parse("http://u:p%40ss@proxy.example:3128").expect("a proxy");
        assert_eq!(proxy.credentials.as_deref(), Some("Basic dTpwQHNz"));
    }

    #[tokio::test]
    async fn a_tunnel_is_asked_for_and_may_be_refused() {
        let proxy = Proxy::parse("http://u:p@proxy.example:3128").expect("a proxy");
        let route =
            Route::to(&Url::parse("https://shop.example/hook").expect("a URL"), Vec::new()).expect("a route");
        for (answer, expected) in [
            ("HTTP/1.1 200 Connection established\r\n\r\n", None),
            ("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", Some("it answered 403 to CONNECT")),
            ("HTTP/1.1 200 OK\r\n\r\nand more", Some("it said more")),
        ] {
            let (here, mut there) = tokio::io::duplex(1 << 10);
            there.write_all(answer.as_bytes()).await.expect("room");
            let refusal = tunnel(Box::new(here), &proxy, &route).await.err();
            assert_eq!(refusal.is_some(), expected.is_some(), "{answer}");
            assert!(refusal.unwrap_or_default().contains(expected.unwrap_or_default()), "{answer}");
            let mut asked = vec![0; 1 << 10];
            let length = there.read(&mut asked).await.expect("a request");
            let asked = String::from_utf8_lossy(&asked[..length]);
            assert!(
                asked.starts_with("CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\n"),
                "{asked}"
            );
            assert!(asked.contains("Proxy-Authorization: Basic dTpw\r\n"), "{asked}");
        }
    }

    #[tokio::test]
    async fn the_next_address_is_tried_when_one_refuses() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let good = listener.local_addr().expect("an address");
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let bad = closed.local_addr().expect("an address");
        drop(closed);
        assert_eq!(open(&[bad, good]).await.expect("the second").1, good);
        let error = open(&[bad]).await.expect_err("refused");
        assert!(error.contains(&bad.to_string()) && error.contains("refused"), "{error}");
        assert!(open(&[]).await.is_err());
    }
}
