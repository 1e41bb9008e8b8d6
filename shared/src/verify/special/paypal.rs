//! PayPal: RSA over the transmission's id and time, the webhook's id and a checksum of the body,
//! with the key in a certificate at PayPal.

use super::super::certificate::{Issuer, RsaHash};
use super::super::encoding::Encoding;
use super::super::request::View;
use super::super::scheme::{Check, Context, Cover};
use super::super::store::Wanted;
use super::super::timestamp::{SignedTime, Unit};
use super::super::verdict::Refusal;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use time::OffsetDateTime;

const ID: &str = "PAYPAL-TRANSMISSION-ID";
const TIME: &str = "PAYPAL-TRANSMISSION-TIME";
const SIGNATURE: &str = "PAYPAL-TRANSMISSION-SIG";
const CERTIFICATE: &str = "PAYPAL-CERT-URL";
const ALGORITHM: &str = "PAYPAL-AUTH-ALGO";

#[derive(Debug)]
struct Paypal {
    webhook_ids: Vec<String>,
    certificates: super::Certificates,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let mut webhook_ids: Vec<String> = fields.texts("webhook_id").into_iter().map(str::to_owned).collect();
    webhook_ids.extend(context.secrets.iter().map(|secret| secret.expose().to_owned()));
    if webhook_ids.is_empty() || webhook_ids.iter().any(String::is_empty) {
        fields.fault("webhook_id", "must be the id that PayPal shows for this webhook");
    }
    fields.report().warn("PayPal signs a checksum of the body, which can be matched by another body");
    Some(Box::new(Paypal { webhook_ids, certificates: super::Certificates::read(context) }))
}

/// CRC-32 of IEEE 802.3: for each byte, what eight steps of the division make of it.
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index: u32 = 0;
    while index < 256 {
        let (mut value, mut step) = (index, 0);
        while step < 8 {
            value = (value >> 1) ^ (0xedb8_8320 & (value & 1).wrapping_neg());
            step += 1;
        }
        table[index as usize] = value;
        index += 1;
    }
    table
};

fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| CRC_TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

fn required<'v>(view: &'v View<'_>, name: &str) -> Result<Cow<'v, [u8]>, Refusal> {
    view.header(name)?.ok_or_else(|| Refusal::missing(format!("header {name}")))
}

fn certificate_url(view: &View<'_>) -> Result<Option<String>, Refusal> {
    let url = required(view, CERTIFICATE)?;
    Ok(std::str::from_utf8(&url).ok().and_then(|url| Issuer::Paypal.certificate_url(url)))
}

fn signed_text(view: &View<'_>, webhook_id: &str) -> Result<Vec<u8>, Refusal> {
    let crc = checksum(view.request.body).to_string();
    Ok([&*required(view, ID)?, &*required(view, TIME)?, webhook_id.as_bytes(), crc.as_bytes()].join(&b'|'))
}

impl Check for Paypal {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(view.header(SIGNATURE)?.is_some())
    }

    fn wanted(&self) -> String {
        format!("header {SIGNATURE}")
    }

    fn wants(&self, view: &View<'_>) -> Option<Wanted> {
        self.certificates.wants(certificate_url(view).ok()??)
    }

    fn prove(&self, view: &View<'_>, now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let signature = required(view, SIGNATURE)?;
        let algorithm = required(view, ALGORITHM)?;
        let time_text = required(view, TIME)?;
        required(view, ID)?;
        let url = certificate_url(view)?;
        let time = Unit::Rfc3339
            .read(&time_text)
            .ok_or_else(|| Refusal::malformed(format!("header {TIME} is not a time")))?;
        if !algorithm.eq_ignore_ascii_case(b"SHA256withRSA") {
            return Err(Refusal::bad_signature(format!("header {ALGORITHM} names an unknown algorithm")));
        }
        let url = url.ok_or_else(|| {
            Refusal::bad_signature(format!("header {CERTIFICATE} is not an address of PayPal"))
        })?;
        let certificate = self.certificates.get(&url)?;
        let signature = Encoding::Base64.decode(&signature).unwrap_or_default();
        for webhook_id in &self.webhook_ids {
            let text = signed_text(view, webhook_id)?;
            if certificate.holds_at(now) && certificate.verifies(RsaHash::Sha256, &text, &signature) {
                return Ok(Some(time));
            }
        }
        Err(Refusal::bad_signature("the signature does not match"))
    }

    fn content(&self, view: &View<'_>) -> Option<[u8; 32]> {
        let text = signed_text(view, "").ok()?;
        Some(Sha256::new().chain_update(text).chain_update(view.request.body).finalize().into())
    }

    fn cover(&self) -> Cover {
        Cover { what: format!("RSA of a checksum in {}", self.wanted()), body: false, time: true }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_the_usual_crc_32() {
        assert_eq!(super::checksum(b"123456789"), 0xcbf4_3926);
    }
}
