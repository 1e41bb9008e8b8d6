//! Amazon SNS: RSA over a list of the message's fields, with the key in a certificate at Amazon.

use super::super::certificate::{Certificate, Issuer, RsaHash};
use super::super::encoding::Encoding;
use super::super::request::View;
use super::super::scheme::{Check, Context, Cover};
use super::super::store::Wanted;
use super::super::timestamp::{SignedTime, Unit};
use super::super::verdict::{ChallengeAnswer, Refusal, Verdict};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use time::OffsetDateTime;

const NOTIFICATION: [&str; 6] = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
const CONFIRMATION: [&str; 7] =
    ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];

#[derive(Debug)]
struct Sns {
    /// Anyone with an account at Amazon can send signed messages; only these topics count.
    topics: Vec<String>,
    certificates: super::Certificates,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let mut topics: Vec<String> = fields.texts("topic_arns").into_iter().map(str::to_owned).collect();
    topics.extend(context.secrets.iter().map(|secret| secret.expose().to_owned()));
    if topics.is_empty() || topics.iter().any(String::is_empty) {
        fields
            .fault("topic_arns", "must list the topics, none empty: anyone with an Amazon account can sign");
    }
    Some(Box::new(Sns { topics, certificates: super::Certificates::read(context) }))
}

/// A message whose signature can be looked at.
struct Message<'v> {
    body: &'v Value,
    kind: &'v str,
}

impl<'v> Message<'v> {
    fn of(view: &'v View<'_>) -> Option<Self> {
        let body = view.json()?;
        Some(Self { body, kind: body.get("Type")?.as_str()? })
    }

    fn text(&self, name: &str) -> Option<&'v str> {
        self.body.get(name).and_then(Value::as_str)
    }

    fn confirms(&self) -> bool {
        matches!(self.kind, "SubscriptionConfirmation" | "UnsubscribeConfirmation")
    }

    fn signed_text(&self) -> String {
        let names: &[&str] = if self.confirms() { &CONFIRMATION } else { &NOTIFICATION };
        names.iter().filter_map(|name| Some(format!("{name}\n{}\n", self.text(name)?))).collect()
    }

    fn certificate_url(&self) -> Option<String> {
        let url = self.text("SigningCertURL").or_else(|| self.text("SigningCertUrl"))?;
        Issuer::Sns.certificate_url(url)
    }
}

impl Sns {
    fn message<'v>(&self, view: &'v View<'_>) -> Result<Message<'v>, Refusal> {
        let message = Message::of(view).ok_or_else(|| Refusal::missing("Type of the message"))?;
        for name in ["Signature", "SignatureVersion", "Timestamp"] {
            if message.text(name).is_none_or(str::is_empty) {
                return Err(Refusal::missing(format!("{name} of the message")));
            }
        }
        if !matches!(message.kind, "Notification") && !message.confirms() {
            return Err(Refusal::malformed("the message is of an unknown Type"));
        }
        Ok(message)
    }
}

impl Check for Sns {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(Message::of(view).is_some_and(|message| message.text("Signature").is_some()))
    }

    fn wanted(&self) -> String {
        "Signature of the message".into()
    }

    fn wants(&self, view: &View<'_>) -> Option<Wanted> {
        let message = self.message(view).ok()?;
        let url = message.certificate_url()?;
        self.certificates.wants(url)
    }

    fn prove(&self, view: &View<'_>, now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let message = self.message(view)?;
        let time = message.text("Timestamp").and_then(|text| Unit::Rfc3339.read(text.as_bytes()));
        let time = time.ok_or_else(|| Refusal::malformed("Timestamp of the message is not a time"))?;
        let hash = match message.text("SignatureVersion") {
            Some("1") => RsaHash::Sha1,
            Some("2") => RsaHash::Sha256,
            _ => return Err(Refusal::bad_signature("the signature is of an unknown version")),
        };
        let url = message
            .certificate_url()
            .ok_or_else(|| Refusal::bad_signature("SigningCertURL is not an address of Amazon SNS"))?;
        let certificate: Arc<Certificate> = self.certificates.get(&url)?;
        let signature = message.text("Signature").and_then(|text| Encoding::Base64.decode(text.as_bytes()));
        let genuine = signature.is_some_and(|signature| {
            certificate.holds_at(now)
                && certificate.verifies(hash, message.signed_text().as_bytes(), &signature)
        });
        if !genuine {
            return Err(Refusal::bad_signature("the message's signature does not match"));
        }
        let topic = message.text("TopicArn").unwrap_or_default();
        if !self.topics.iter().any(|allowed| allowed == topic) {
            return Err(Refusal::bad_signature("the message is of a topic that is not in topic_arns"));
        }
        Ok(Some(time))
    }

    fn handshake(&self) -> Option<&'static str> {
        Some("subscription")
    }

    fn answer(&self, view: &View<'_>) -> Option<Verdict<'static>> {
        let message = Message::of(view).filter(|message| message.kind == "SubscriptionConfirmation")?;
        let confirm = message.text("SubscribeURL").and_then(|url| Issuer::Sns.own_url(url));
        let Some(confirm) = confirm else {
            let refusal = Refusal::malformed("SubscribeURL is not an address of Amazon SNS");
            return Some(Verdict::Refused(refusal.of_handshake("subscription")));
        };
        Some(Verdict::Challenge(ChallengeAnswer {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
            kind: "subscription",
            proved: true,
            store_secret: None,
            confirm: Some(confirm.to_string()),
        }))
    }

    fn content(&self, view: &View<'_>) -> Option<[u8; 32]> {
        Some(Sha256::digest(Message::of(view)?.signed_text()).into())
    }

    fn cover(&self) -> Cover {
        Cover { what: "RSA in the message".into(), body: true, time: true }
    }
}
