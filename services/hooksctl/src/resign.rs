//! `--sign-with`: a fresh signature under a secret of the receiver's choice, so that a strict verifier on
//! this machine takes an event that was signed long ago or under another secret.

use crate::commands::Usage;
use crate::target::Target;
use hooks_shared::Secret;
use hooks_shared::http1::Request;
use hooks_shared::verify::{self, Signer, preset};
use serde_json::Value;
use time::OffsetDateTime;

/// A scheme and a secret.
#[derive(Debug)]
pub struct Resign {
    signer: Signer,
}

/// What the signature needs to know about the event.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub id: &'a str,
    pub event_type: Option<&'a str>,
}

impl Resign {
    /// Reads `scheme:@FILE`, `scheme:env:NAME` or `scheme:SECRET`. The secret is never part of an error.
    pub fn parse(text: &str) -> Result<Self, Usage> {
        let Some((scheme, reference)) = text.split_once(':') else {
            return Err(Usage(format!(
                "--sign-with needs a scheme and a secret: {EXAMPLES} (what was given has no `:`)"
            )));
        };
        let known = preset(scheme).ok_or_else(|| unknown_scheme(scheme))?;
        let secret = secret(reference)?;
        let signer = Signer::new(&Value::from(known.name), &secret).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Usage(format!("--sign-with {scheme}: {}", faults.join("; ")))
        })?;
        Ok(Self { signer })
    }

    /// Replaces the provider's signature on a request to `target`.
    pub fn apply(
        &self,
        request: &mut Request,
        target: &Target,
        subject: Subject<'_>,
        now: OffsetDateTime,
    ) -> Result<(), String> {
        let message = verify::Message {
            method: &request.method,
            url: target.url().as_str(),
            body: &request.body,
            id: subject.id,
            event_type: subject.event_type,
            now,
        };
        let signed = self.signer.sign(&message).map_err(|why| format!("it cannot be signed: {why}"))?;
        request.take(signed, target.url());
        Ok(())
    }
}

const EXAMPLES: &str = "standard_webhooks:@FILE, standard_webhooks:env:NAME or standard_webhooks:whsec_…";

fn unknown_scheme(scheme: &str) -> Usage {
    let near: Vec<&str> = verify::presets()
        .map(|known| known.name)
        .filter(|known| known.starts_with(&scheme.to_lowercase().chars().take(3).collect::<String>()))
        .collect();
    let hint = match near.as_slice() {
        [] => "some are standard_webhooks, github, stripe and slack".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Usage(format!("--sign-with names the scheme `{scheme}`, which is not known; {hint}"))
}

fn secret(reference: &str) -> Result<Secret, Usage> {
    let text = if let Some(path) = reference.strip_prefix('@') {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Usage(format!("--sign-with names the file `{path}`, which cannot be read: {error}"))
        })?;
        text.strip_suffix('\n')
            .map(|text| text.strip_suffix('\r').unwrap_or(text))
            .unwrap_or(&text)
            .to_owned()
    } else if let Some(name) = reference.strip_prefix("env:") {
        std::env::var(name)
            .map_err(|_| Usage(format!("--sign-with names the variable {name}, which is not set")))?
    } else {
        reference.to_owned()
    };
    if text.is_empty() {
        return Err(Usage(format!("--sign-with gives an empty secret; write {EXAMPLES}")));
    }
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    #[test]
    fn the_old_signature_goes_and_the_new_one_is_of_now() {
        let resign = Resign::parse(&format!("standard-webhooks:{SECRET}")).expect("a scheme and a secret");
        let mut request = Request {
            method: "POST".to_owned(),
            target: "/".to_owned(),
            headers: vec![
                (b"Webhook-Signature".to_vec(), b"v1,old".to_vec()),
                (b"X-Other".to_vec(), b"1".to_vec()),
            ],
            body: Bytes::from_static(br#"{"test": 2432232314}"#),
        };
        let target = Target::parse("http://localhost:3000/").expect("a URL");
        let subject = Subject { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", event_type: None };
        let now = OffsetDateTime::from_unix_timestamp(1614265330).expect("a time");
        resign.apply(&mut request, &target, subject, now).expect("signed");
        let value = |name: &str| {
            let all: Vec<_> = request
                .headers
                .iter()
                .filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
                .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
                .collect();
            all.join("|")
        };
        // The example of the Standard Webhooks specification.
        assert_eq!(value("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!((value("webhook-timestamp").as_str(), value("x-other").as_str()), ("1614265330", "1"));
    }

    /// Those that sign with a private key, or do not sign at all.
    fn only_its_provider_signs(verifier: &Value) -> bool {
        match verifier["type"].as_str() {
            Some("ed25519" | "ecdsa_p256_sha256" | "sns" | "paypal" | "ip") => true,
            Some("jws") => verifier["algorithm"] == "ES256",
            _ => false,
        }
    }

    /// A secret of the scheme, as `--sign-with` and as a source are given it.
    fn secrets(preset: &str) -> (String, String) {
        let both = |text: &str| (text.to_owned(), text.to_owned());
        match preset {
            "adyen" | "adyen_platform" => both(&"0123456789abcdef".repeat(4)),
            "contentful" => both(&"0123456789abcdef".repeat(4)),
            "postmark" | "generic_basic" => both("hook:a-long-enough-password"),
            "braintree" => ("public|private-key".to_owned(), "private-key".to_owned()),
            _ => both(SECRET),
        }
    }

    #[test]
    fn every_preset_with_a_shared_secret_can_be_signed_with_and_verifies() {
        let now = OffsetDateTime::from_unix_timestamp(1614265330).expect("a time");
        let target = Target::parse("http://localhost:3000/hook?x=1").expect("a URL");
        let item = serde_json::json!({"NotificationRequestItem": {"pspReference": "p"}});
        let body = serde_json::json!({"id": "e", "value": [{"n": 1}, {"n": 2}], "notificationItems": [item]});
        for preset in verify::presets() {
            let (given, own) = secrets(preset.name);
            let resign = Resign::parse(&format!("{}:{given}", preset.name));
            if only_its_provider_signs(preset.verifier) {
                assert!(resign.is_err(), "{}", preset.name);
                continue;
            }
            let mut request = Request {
                method: "POST".to_owned(),
                target: target.path(),
                headers: Vec::new(),
                body: body.to_string().into(),
            };
            let subject = Subject { id: "msg_1", event_type: Some("x.y") };
            let resign = resign.unwrap_or_else(|error| panic!("{}: {error}", preset.name));
            resign.apply(&mut request, &target, subject, now).expect(preset.name);
            let verifier = match preset.name {
                "braintree" => serde_json::json!({"preset": "braintree", "public_key": "public"}),
                name => Value::from(name),
            };
            let settings = verify::Settings {
                verifier,
                secrets: vec![Secret::new(own)],
                base_url: Some("http://localhost:3000".to_owned()),
                ..verify::Settings::default()
            };
            let verifier = verify::Verifier::compile(&settings).expect(preset.name).verifier;
            let parts = verify::Parts {
                method: request.method,
                target: request.target,
                headers: request.headers,
                body: request.body.to_vec(),
                remote_addr: None,
            };
            assert_eq!(verifier.verify(&parts.request(), now).word(), "ok", "{}: {parts:?}", preset.name);
        }
    }

    #[test]
    fn errors_name_what_is_wrong_and_never_the_secret() {
        for (text, expected) in [
            ("hunter2", "has no `:`"),
            ("standar:hunter2", "standard_webhooks"),
            ("standard_webhooks:", "empty"),
            ("standard_webhooks:env:HOOKS_NOT_SET_ANYWHERE", "HOOKS_NOT_SET_ANYWHERE"),
            ("standard_webhooks:@/nowhere/secret", "/nowhere/secret"),
            ("standard_webhooks:hunter2!", "standard_webhooks"),
            ("discord:hunter2", "provider"),
        ] {
            let error = Resign::parse(text).expect_err(text).to_string();
            assert!(error.contains(expected) && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
