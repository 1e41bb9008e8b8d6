//! Connections, plain or over TLS.

use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// What can be spoken over.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection of either kind.
pub type Stream = Box<dyn Io>;

/// TLS that trusts this machine's authorities (`SSL_CERT_FILE` can name others) and speaks HTTP/1.1 only.
///
/// # Errors
/// When the library cannot be set up.
pub fn tls() -> Result<TlsConnector, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Encrypts a connection to `host`, a name or an address, and checks who answers.
///
/// # Errors
/// What TLS says, or that there can be no certificate for such a host.
pub async fn secure(tls: &TlsConnector, host: &str, stream: impl Io + 'static) -> std::io::Result<Stream> {
    let name = ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
    Ok(Box::new(tls.connect(name, stream).await?))
}

/// A kept connection, unless the other end has closed it meanwhile or says more on it than it should. Looking
/// first, instead of trying and sending again, means that no request goes out twice in one attempt.
pub async fn still_open(mut stream: Stream) -> Option<Stream> {
    // A turn of the runtime, which may have news of the connection.
    tokio::task::yield_now().await;
    let silent = timeout(Duration::ZERO, stream.read(&mut [0; 1])).await.is_err();
    silent.then_some(stream)
}
