//! Certificates that nobody has reason to trust.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

/// A self-signed certificate with its key.
#[derive(Debug)]
pub struct Certificate {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Certificate {
    /// Valid now, for these names (`localhost` for [`super::Receiver::url`]) or IP addresses.
    pub fn self_signed(names: &[&str]) -> Self {
        Self::signed(names, |_| ())
    }

    /// The same, but expired long ago.
    pub fn expired(names: &[&str]) -> Self {
        Self::signed(names, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    fn signed(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Self {
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        let mut params = CertificateParams::new(names).expect("names fit for a certificate");
        change(&mut params);
        let key = KeyPair::generate().expect("make a key");
        let certificate = params.self_signed(&key).expect("sign a certificate");
        Self { certificate, key }
    }

    /// The certificate in PEM, for tests that choose to trust it.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// The certificate in DER, likewise.
    pub fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring knows the default versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.der()], key.into())
            .expect("a certificate with its own key");
        TlsAcceptor::from(Arc::new(config))
    }
}
