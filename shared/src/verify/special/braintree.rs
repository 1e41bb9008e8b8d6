//! Braintree: a form of a payload and of `public key|digest` pairs, one for each key pair of the
//! account.

use super::super::algorithm::equal;
use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::form::Pair;
use super::super::key::KeySpec;
use super::super::mac::{Hash, MacKey};
use super::super::request::View;
use super::super::scheme::{Check, Context, Cover};
use super::super::signer::{Message, Placed, Sign, Signed, write_form};
use super::super::timestamp::SignedTime;
use super::super::verdict::{ChallengeAnswer, Refusal, Verdict};
use crate::Secret;
use time::OffsetDateTime;

const SIGNATURE: &str = "bt_signature";
const PAYLOAD: &str = "bt_payload";
const CHALLENGE: &str = "bt_challenge";

#[derive(Debug)]
struct Braintree {
    public_key: String,
    keys: Vec<MacKey>,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    context.require_secret();
    let public_key = public_key(context.fields)?;
    let keys = context.keys(&KeySpec::TEXT).iter().map(|key| mac_key(key)).collect();
    Some(Box::new(Braintree { public_key, keys }))
}

fn public_key(fields: &Fields<'_>) -> Option<String> {
    let key = fields.text("public_key");
    if key.is_none() {
        fields.fault("public_key", "must be the public key that belongs to the private one");
    }
    key.map(str::to_owned)
}

fn mac_key(private_key: &[u8]) -> MacKey {
    MacKey::new(Hash::Sha1, &Hash::Sha1.digest(private_key))
}

/// What Braintree asks to have signed when a webhook is set up. Anything else is not signed for the
/// asker: the digest is the one that notifications carry.
fn is_challenge(text: &[u8]) -> bool {
    (20..=32).contains(&text.len()) && text.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl Braintree {
    /// The digests offered under this account's public key.
    fn offered(&self, pairs: &[u8]) -> Vec<Vec<u8>> {
        pairs
            .split(|b| *b == b'&')
            .filter_map(|pair| {
                let at = pair.iter().position(|b| *b == b'|')?;
                (&pair[..at] == self.public_key.as_bytes()).then(|| Encoding::Hex.decode(&pair[at + 1..]))?
            })
            .collect()
    }
}

impl Check for Braintree {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(view.form_value(SIGNATURE)?.is_some_and(|value| !value.is_empty()))
    }

    fn wanted(&self) -> String {
        format!("form field {SIGNATURE}")
    }

    fn handshake(&self) -> Option<&'static str> {
        Some("hmac")
    }

    fn challenge(&self, view: &View<'_>) -> Option<Verdict<'static>> {
        if view.request.method != "GET" {
            return None;
        }
        let (asked, key) = match (view.query_value(CHALLENGE), self.keys.first()) {
            (Ok(asked), Some(key)) => (asked?, key),
            (Err(refusal), _) => return Some(Verdict::Refused(refusal.of_handshake("hmac"))),
            (_, None) => return None,
        };
        if !is_challenge(&asked) {
            let refusal =
                Refusal::malformed(format!("query parameter {CHALLENGE} is not 20 to 32 hex digits"));
            return Some(Verdict::Refused(refusal.of_handshake("hmac")));
        }
        let digest = Encoding::Hex.encode(&key.of(&asked));
        Some(Verdict::Challenge(ChallengeAnswer {
            status: 200,
            headers: vec![
                ("content-type".into(), "text/plain".into()),
                ("x-content-type-options".into(), "nosniff".into()),
            ],
            body: format!("{}|{digest}", self.public_key).into_bytes(),
            kind: "hmac",
            proved: false,
            store_secret: None,
            confirm: None,
        }))
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let there =
            |value: &Option<std::borrow::Cow<'_, [u8]>>| value.as_ref().is_some_and(|v| !v.is_empty());
        let pairs = view.form_value(SIGNATURE)?.filter(|v| !v.is_empty());
        let payload = view.form_value(PAYLOAD)?;
        let Some(pairs) = pairs else { return Err(Refusal::missing(self.wanted())) };
        if !there(&payload) {
            return Err(Refusal::missing(format!("form field {PAYLOAD}")));
        }
        let payload = payload.unwrap_or_default();
        let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'\n');
        if !payload.iter().all(is_base64) || is_challenge(&payload) {
            return Err(Refusal::bad_signature(format!(
                "form field {PAYLOAD} is not base64 of a notification"
            )));
        }
        let offered = self.offered(&pairs);
        if offered.is_empty() {
            return Err(Refusal::bad_signature("no signature is for this public key"));
        }
        let mut found = subtle::Choice::from(0);
        for key in &self.keys {
            found |= equal(&offered, &key.of(&payload));
            found |= equal(&offered, &key.of(&[&payload, b"\n".as_slice()].concat()));
        }
        if found.into() {
            Ok(None)
        } else {
            Err(Refusal::bad_signature("no signature in the request matches"))
        }
    }

    fn content(&self, _view: &View<'_>) -> Option<[u8; 32]> {
        None
    }

    fn cover(&self) -> Cover {
        Cover { what: format!("HMAC-SHA1 of the payload in {}", self.wanted()), body: true, time: false }
    }
}

#[derive(Debug)]
struct BraintreeSigner {
    public_key: String,
    key: MacKey,
}

/// Where no public key is configured the secret is the pair, `public|private`.
pub(super) fn signer(fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    let pair = secret.expose().split_once('|').filter(|_| !fields.has("public_key"));
    let (public_key, private_key) = match pair {
        Some((public, private)) => (public.to_owned(), private),
        None if fields.has("public_key") => (public_key(fields)?, secret.expose()),
        None => {
            fields.fault("public_key", "must be there, or the secret be `public key|private key`");
            return None;
        }
    };
    Some(Box::new(BraintreeSigner { public_key, key: mac_key(private_key.as_bytes()) }))
}

impl Sign for BraintreeSigner {
    /// The body becomes the payload.
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut placed = Placed::new(message);
        let payload = Encoding::Base64.encode(message.body) + "\n";
        let digest = Encoding::Hex.encode(&self.key.of(payload.as_bytes()));
        let pairs: [Pair; 2] = [
            (SIGNATURE.into(), format!("{}|{digest}", self.public_key).into_bytes()),
            (PAYLOAD.into(), payload.into_bytes()),
        ];
        placed.set_body(write_form(&pairs));
        placed.set_header("content-type", "application/x-www-form-urlencoded");
        Ok(placed.signed)
    }
}
