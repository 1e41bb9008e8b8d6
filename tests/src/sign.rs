//! Signers of the providers' schemes, written apart from the product's so that a common fault cannot hide.
//! Each returns the headers that the provider would send. `at` is in seconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Header names and values.
pub type Headers = Vec<(String, String)>;

/// A secret in the form of Standard Webhooks for tests that do not care which: `whsec_` and base64.
pub const STANDARD_WEBHOOKS_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Now, in seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(since.as_secs()).expect("a clock before the year 292277026596")
}

/// HMAC-SHA256 of `message` under the bytes of `key`.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Standard Webhooks with the header names `webhook-*`; `secret` is `whsec_…` or bare base64.
pub fn standard_webhooks(secret: &str, id: &str, at: i64, body: &[u8]) -> Headers {
    with_prefix("webhook", secret, id, at, body)
}

/// Standard Webhooks with the header names `svix-*`.
pub fn svix(secret: &str, id: &str, at: i64, body: &[u8]) -> Headers {
    with_prefix("svix", secret, id, at, body)
}

fn with_prefix(prefix: &str, secret: &str, id: &str, at: i64, body: &[u8]) -> Headers {
    let key = secret.strip_prefix("whsec_").unwrap_or(secret);
    let key = STANDARD.decode(key).expect("the secret after whsec_ is base64");
    let signed = [format!("{id}.{at}.").as_bytes(), body].concat();
    let signature = STANDARD.encode(hmac_sha256(&key, &signed));
    vec![
        (format!("{prefix}-id"), id.into()),
        (format!("{prefix}-timestamp"), at.to_string()),
        (format!("{prefix}-signature"), format!("v1,{signature}")),
    ]
}

/// GitHub: a signature over the body, a delivery id and an event name beside it.
pub fn github(secret: &str, delivery: &str, event: &str, body: &[u8]) -> Headers {
    let signature = hex::encode(hmac_sha256(secret.as_bytes(), body));
    vec![
        ("X-GitHub-Event".into(), event.into()),
        ("X-GitHub-Delivery".into(), delivery.into()),
        ("X-Hub-Signature-256".into(), format!("sha256={signature}")),
    ]
}

/// Stripe: time and signature in one header.
pub fn stripe(secret: &str, at: i64, body: &[u8]) -> Headers {
    let signed = [format!("{at}.").as_bytes(), body].concat();
    let signature = hex::encode(hmac_sha256(secret.as_bytes(), &signed));
    vec![("Stripe-Signature".into(), format!("t={at},v1={signature}"))]
}

/// Slack: version, time and body signed together.
pub fn slack(secret: &str, at: i64, body: &[u8]) -> Headers {
    let signed = [format!("v0:{at}:").as_bytes(), body].concat();
    let signature = hex::encode(hmac_sha256(secret.as_bytes(), &signed));
    vec![
        ("X-Slack-Request-Timestamp".into(), at.to_string()),
        ("X-Slack-Signature".into(), format!("v0={signature}")),
    ]
}

/// Headers as [`crate::http::request`] takes them.
pub fn borrowed(headers: &Headers) -> Vec<(&str, &str)> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(headers: &Headers, name: &str) -> String {
        let found = headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).expect("the header is there")
    }

    /// The example of the Standard Webhooks specification and its libraries.
    #[test]
    fn standard_webhooks_signs_its_own_example() {
        let body = br#"{"test": 2432232314}"#;
        let headers =
            standard_webhooks(STANDARD_WEBHOOKS_SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body);
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(value(&headers, "webhook-signature"), expected);
    }

    /// The example of GitHub's page on validating deliveries.
    #[test]
    fn github_signs_its_own_example() {
        let headers = github("It's a Secret to Everybody", "1", "push", b"Hello, World!");
        let expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(value(&headers, "X-Hub-Signature-256"), expected);
    }

    /// The example of Slack's page on verifying requests.
    #[test]
    fn slack_signs_its_own_example() {
        let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
            channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
            response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
            trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let headers = slack("8f742231b10e8888abcd99yyyzzz85a5", 1531420618, body);
        let expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        assert_eq!(value(&headers, "X-Slack-Signature"), expected);
    }

    #[test]
    fn stripe_signs_time_and_body() {
        let expected = hex::encode(hmac_sha256(b"whsec_x", b"12.{}"));
        assert_eq!(value(&stripe("whsec_x", 12, b"{}"), "Stripe-Signature"), format!("t=12,v1={expected}"));
    }
}
