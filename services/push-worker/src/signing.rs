//! The signatures of an outgoing request, made fresh for every attempt.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use hooks_shared::Secret;
use hooks_shared::verify::Signer;
use serde_json::Value;
use sha2::Sha256;
use std::sync::Arc;

/// How a subscription's requests are signed beyond `X-Hooks-Signature`, which every request carries.
#[derive(Debug, Clone)]
pub enum Signing {
    /// `X-Hooks-Signature` alone.
    Hooks,
    /// Fresh `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    StandardWebhooks,
    /// As a provider would sign. Such schemes know one secret: the newest signs.
    Preset(Arc<Signer>),
}

impl Signing {
    /// Reads the word of a subscription; `secret` is its newest. The error holds no secret.
    pub fn read(text: &str, secret: &Secret) -> Result<Self, String> {
        match text {
            "hooks" => Ok(Signing::Hooks),
            "standard_webhooks" => Ok(Signing::StandardWebhooks),
            preset => Signer::new(&Value::String(preset.to_owned()), secret)
                .map(|signer| Signing::Preset(Arc::new(signer)))
                .map_err(|faults| {
                    let messages: Vec<String> = faults.iter().map(|fault| fault.message.clone()).collect();
                    format!("the signing scheme `{preset}` cannot be used: {}", messages.join("; "))
                }),
        }
    }
}

/// The value of `X-Hooks-Signature`: the time, and two signatures for each secret, the newest first. `v1` is over
/// `<t>.<body>`, `v2` over `<t>.<event id>.<body>`, so that it also covers what receivers deduplicate on.
pub fn hooks_signature(secrets: &[Secret], unix: i64, event_id: &str, body: &[u8]) -> String {
    let mut value = format!("t={unix}");
    for secret in secrets {
        let key = secret.expose().as_bytes();
        let v1 = hmac(key, &[format!("{unix}.").as_bytes(), body]);
        let v2 = hmac(key, &[format!("{unix}.{event_id}.").as_bytes(), body]);
        value.push_str(&format!(",v1={},v2={}", hex::encode(v1), hex::encode(v2)));
    }
    value
}

/// The value of `webhook-signature` (Standard Webhooks): one `v1,<base64>` for each secret.
pub fn standard_signature(secrets: &[Secret], unix: i64, event_id: &str, body: &[u8]) -> String {
    let signed = secrets.iter().map(|secret| {
        let prefix = format!("{event_id}.{unix}.");
        format!("v1,{}", STANDARD.encode(hmac(&standard_key(secret), &[prefix.as_bytes(), body])))
    });
    signed.collect::<Vec<_>>().join(" ")
}

/// `whsec_` and base64, as the specification writes it; any other text is the key itself.
fn standard_key(secret: &Secret) -> Vec<u8> {
    let text = secret.expose();
    text.strip_prefix("whsec_")
        .and_then(|encoded| STANDARD.decode(encoded).ok())
        .unwrap_or_else(|| text.as_bytes().to_vec())
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"type":"deploy_ended","data":{"id":"evt-1"}}"#;

    #[test]
    fn the_first_signature_is_the_original_relays() {
        let value = hooks_signature(&[Secret::new("s3cret-example")], 1_778_335_200, "evt_x", BODY);
        let v1 = "v1=a5a9f490d6c7591d862f9911e7be4b5e95e03e0a4cff95544e3279d0bfe31d3e";
        assert!(value.starts_with(&format!("t=1778335200,{v1},v2=")), "{value}");
    }

    #[test]
    fn two_secrets_make_two_of_each() {
        let secrets = [Secret::new("new"), Secret::new("old")];
        let value = hooks_signature(&secrets, 1, "evt_x", BODY);
        assert_eq!((value.matches("v1=").count(), value.matches("v2=").count()), (2, 2));
        assert_eq!(standard_signature(&secrets, 1, "evt_x", BODY).matches("v1,").count(), 2);
    }

    #[test]
    fn the_specifications_own_example_verifies() {
        // Standard Webhooks, specification, "Signature scheme".
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let value = standard_signature(
            &[secret],
            1_614_265_330,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(value, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
