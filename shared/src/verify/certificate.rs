//! RSA keys that a provider publishes as a certificate, and whom they may be fetched from.

use super::timestamp::Unit;
use ring::signature::{self, RsaParameters, UnparsedPublicKey};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use time::OffsetDateTime;
use x509_cert::der::Decode as _;

/// The public key of a certificate, for as long as the certificate holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// RSAPublicKey in DER (RFC 8017, appendix A.1.1).
    key: Vec<u8>,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RsaHash {
    Sha1,
    Sha256,
}

impl Certificate {
    /// Reads the first certificate of a PEM text.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let der = CertificateDer::from_pem_slice(pem).map_err(|_| "is not a PEM certificate")?;
        let parsed = x509_cert::Certificate::from_der(&der).map_err(|_| "is not an X.509 certificate")?;
        let body = parsed.tbs_certificate;
        let time = |at: x509_cert::time::Time| {
            Unit::Seconds.read(at.to_unix_duration().as_secs().to_string().as_bytes())?.storable()
        };
        Ok(Self {
            key: body.subject_public_key_info.subject_public_key.raw_bytes().to_vec(),
            not_before: time(body.validity.not_before).ok_or("has no readable validity")?,
            not_after: time(body.validity.not_after).ok_or("has no readable validity")?,
        })
    }

    pub(super) fn holds_at(&self, now: OffsetDateTime) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    /// PKCS #1 v1.5, with keys of 2048 bits and more.
    pub(super) fn verifies(&self, hash: RsaHash, message: &[u8], signature: &[u8]) -> bool {
        let parameters: &'static RsaParameters = match hash {
            RsaHash::Sha1 => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
            RsaHash::Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        };
        UnparsedPublicKey::new(parameters, &self.key).verify(message, signature).is_ok()
    }
}

/// Who is allowed to hand out the certificates of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Issuer {
    Sns,
    Paypal,
}

impl Issuer {
    /// The address, if it is one of this issuer's: https, its own host, no user, no port, and for
    /// SNS a file that ends in `.pem`.
    pub(super) fn certificate_url(self, text: &str) -> Option<String> {
        let url = self.own_url(text)?;
        match self {
            Self::Sns => url.path().ends_with(".pem").then(|| url.to_string()),
            Self::Paypal => url.path().starts_with("/v1/notifications/certs/").then(|| url.to_string()),
        }
    }

    /// The address, if its host belongs to this issuer.
    pub(super) fn own_url(self, text: &str) -> Option<url::Url> {
        // A parser of URLs drops line breaks and tabs.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let url = url::Url::parse(text).ok()?;
        let plain = url.scheme() == "https" && url.port().is_none();
        let anonymous = url.username().is_empty() && url.password().is_none();
        let own = url.host_str().is_some_and(|host| self.owns(host));
        (plain && anonymous && own).then_some(url)
    }

    fn owns(self, host: &str) -> bool {
        match self {
            Self::Sns => {
                let rest = host.strip_prefix("sns.");
                let region = rest.and_then(|rest| {
                    rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn"))
                });
                region.is_some_and(|region| {
                    !region.is_empty() && region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                })
            }
            Self::Paypal => matches!(
                host,
                "api.paypal.com" | "api.sandbox.paypal.com" | "api-m.paypal.com" | "api-m.sandbox.paypal.com"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Issuer::*;

    #[test]
    fn certificates_come_from_the_provider_only() {
        let good = [
            (Sns, "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-1.pem"),
            (Sns, "https://sns.cn-north-1.amazonaws.com.cn/a.pem"),
            (Paypal, "https://api.paypal.com/v1/notifications/certs/CERT-360caa42"),
        ];
        for (issuer, url) in good {
            assert!(issuer.certificate_url(url).is_some(), "{url}");
        }
        let bad = [
            (Sns, "http://sns.us-west-2.amazonaws.com/a.pem"),
            (Sns, "https://sns.us-west-2.amazonaws.com.evil.example/a.pem"),
            (Sns, "https://sns.evil.example/.amazonaws.com/a.pem"),
            (Sns, "https://sns.a.b.amazonaws.com/a.pem"),
            (Sns, "https://s3.amazonaws.com/sns.us-west-2.amazonaws.com/a.pem"),
            (Sns, "https://sns.us-west-2.amazonaws.com/a.txt"),
            (Sns, "https://sns.us-west-2.amazonaws.com:8443/a.pem"),
            (Sns, "https://user@sns.us-west-2.amazonaws.com/a.pem"),
            (Sns, "https://sns.us-west-2.amazonaws.com/a\r\n.pem"),
            (Sns, " https://sns.us-west-2.amazonaws.com/a.pem"),
            (Paypal, "https://api.paypal.com.evil.example/v1/notifications/certs/x"),
            (Paypal, "https://api.paypal.com/redirect?to=https://evil.example"),
        ];
        for (issuer, url) in bad {
            assert!(issuer.certificate_url(url).is_none(), "{url}");
        }
    }
}
