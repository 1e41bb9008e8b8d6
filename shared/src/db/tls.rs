//! Whom a connection to the database trusts: libpq's `sslmode`, with rustls.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::path::PathBuf;
use std::sync::Arc;

/// What the server's certificate has to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Anything,
    Chain,
    ChainAndName,
}

/// How connections trust and encrypt; `root_cert` names other authorities than this machine's. The error is for people.
pub fn config(trust: Trust, root_cert: Option<PathBuf>) -> Result<rustls::ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Anything => Arc::new(Lenient { chain: None, provider }),
        Trust::Chain => Arc::new(Lenient { chain: Some(web_pki(root_cert, &provider)?), provider }),
        Trust::ChainAndName => web_pki(root_cert, &provider)?,
    };
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn web_pki(
    root_cert: Option<PathBuf>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, String> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(root_store(root_cert)?), provider.clone())
        .build()
        .map_err(|error| format!("sslrootcert cannot be used: {error}"))
}

fn root_store(file: Option<PathBuf>) -> Result<rustls::RootCertStore, String> {
    use rustls_pki_types::{CertificateDer, pem::PemObject};
    let mut roots = rustls::RootCertStore::empty();
    match file {
        Some(path) => {
            let cannot = |why: String| format!("sslrootcert `{}`: {why}", path.display());
            let certificates = CertificateDer::pem_file_iter(&path).map_err(|e| cannot(e.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|e| cannot(e.to_string()))?;
                roots.add(certificate).map_err(|e| cannot(e.to_string()))?;
            }
            if roots.is_empty() {
                return Err(cannot("holds no certificate".to_owned()));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

/// What asks for less than a certificate of the right name.
#[derive(Debug)]
struct Lenient {
    /// `verify-ca` asks for the chain only; without it anybody may answer, as with libpq's `require`.
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
