//! Twilio: HMAC over the address and, for form bodies, every parameter in byte order; JSON bodies are
//! bound by a digest in the address.

use super::super::address::Address;
use super::super::algorithm::equal;
use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::key::KeySpec;
use super::super::mac::{Hash, MacKey};
use super::super::request::{Request, View};
use super::super::scheme::{Check, Context, Cover};
use super::super::signer::{Message, Placed, Sign, Signed};
use super::super::timestamp::SignedTime;
use super::super::verdict::Refusal;
use crate::Secret;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use subtle::ConstantTimeEq as _;
use time::OffsetDateTime;
use zeroize::Zeroizing;

const SIGNATURE: &str = "X-Twilio-Signature";
const SETTINGS: &str = "X-Twilio-Webhooks-Signature-Settings";
/// The query parameter that holds the digest of a body that is not a form.
const BODY_DIGEST: &str = "bodySHA256";

#[derive(Debug)]
struct Twilio {
    tokens: Vec<Zeroizing<Vec<u8>>>,
    /// Keys by the id that the settings header names. Where there are none, `tokens` are tried.
    shared_keys: BTreeMap<String, Secret>,
    address: Address,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let shared_keys = shared_keys(context.fields);
    if shared_keys.is_empty() {
        context.require_secret();
    }
    if !context.address.is_known() {
        let message = "Twilio signs the address: say which it was given";
        context.fields.report().fault("public_url", message);
    }
    Some(Box::new(Twilio {
        tokens: context.keys(&KeySpec::TEXT),
        shared_keys,
        address: context.address.clone(),
    }))
}

fn shared_keys(fields: &Fields<'_>) -> BTreeMap<String, Secret> {
    let mut keys = BTreeMap::new();
    match fields.raw("shared_keys") {
        None => {}
        Some(Value::Object(map)) => {
            for (id, value) in map {
                match value.as_str().filter(|text| !text.is_empty()) {
                    Some(text) => drop(keys.insert(id.clone(), Secret::from(text))),
                    None => fields.fault("shared_keys", format!("the key `{id}` is empty")),
                }
            }
        }
        Some(_) => fields.fault("shared_keys", "must map key ids to keys"),
    }
    keys
}

impl Twilio {
    /// Which digest, under which keys, as the settings header says; SHA-1 under the account's tokens
    /// without one.
    fn keys(&self, view: &View<'_>) -> Result<Vec<MacKey>, Refusal> {
        let Some(settings) = view.header(SETTINGS)? else {
            return Ok(self.tokens.iter().map(|token| MacKey::new(Hash::Sha1, token)).collect());
        };
        let text = String::from_utf8_lossy(&settings);
        let named: BTreeMap<&str, &str> =
            text.split(',').filter_map(|pair| pair.trim().split_once('=')).collect();
        if named.get("algorithm") != Some(&"HMAC_SHA256") {
            return Err(Refusal::bad_signature(format!("header {SETTINGS} names an unknown algorithm")));
        }
        if self.shared_keys.is_empty() {
            return Ok(self.tokens.iter().map(|token| MacKey::new(Hash::Sha256, token)).collect());
        }
        let key = named.get("key").and_then(|id| self.shared_keys.get(*id));
        let key =
            key.ok_or_else(|| Refusal::bad_signature(format!("header {SETTINGS} names an unknown key")))?;
        Ok(vec![MacKey::new(Hash::Sha256, key.expose().as_bytes())])
    }
}

/// The parameters as they are signed: names in byte order, distinct values in byte order, the name
/// before each. Nothing for a body that is not a form.
fn parameters(view: &View<'_>) -> Option<Vec<u8>> {
    if view.request.body.is_empty() {
        return Some(Vec::new());
    }
    let distinct: BTreeSet<(&[u8], &[u8])> =
        view.form().iter().map(|(name, value)| (name.as_slice(), value.as_slice())).collect();
    let joined: Vec<u8> = distinct.into_iter().flat_map(|(name, value)| [name, value].concat()).collect();
    (!joined.is_empty()).then_some(joined)
}

/// The text after the address, once the body is known to be bound to it.
fn signed_body(view: &View<'_>) -> Result<Vec<u8>, Refusal> {
    match view.query_value(BODY_DIGEST)? {
        Some(claimed) => {
            let digest = Hash::Sha256.digest(view.request.body);
            let same = Encoding::Hex.decode(&claimed).is_some_and(|claimed| claimed.ct_eq(&digest).into());
            if same { Ok(Vec::new()) } else { Err(Refusal::bad_signature("the address is for another body")) }
        }
        None => parameters(view).ok_or_else(|| {
            Refusal::bad_signature("the body is neither a form nor named by its digest in the address")
        }),
    }
}

/// The address with its port and without: Twilio signs one or the other.
fn spellings(address: &str) -> [String; 2] {
    let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    let default = if scheme == "http" { ":80" } else { ":443" };
    let with = if host.len() < authority.len() { "" } else { default };
    [format!("{scheme}://{authority}{with}{path}"), format!("{scheme}://{host}{path}")]
}

impl Check for Twilio {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(view.header(SIGNATURE)?.is_some())
    }

    fn wanted(&self) -> String {
        format!("header {SIGNATURE}")
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let Some(value) = view.header(SIGNATURE)? else { return Err(Refusal::missing(self.wanted())) };
        let keys = self.keys(view)?;
        let body = signed_body(view)?;
        let offered: Vec<Vec<u8>> = Encoding::Base64.decode(&value).into_iter().collect();
        let mut found = subtle::Choice::from(0);
        for address in spellings(&self.address.of(view.request.target)) {
            for key in &keys {
                let mac = key.of_all(|sink| {
                    sink(address.as_bytes());
                    sink(&body);
                    Ok::<(), Refusal>(())
                })?;
                found |= equal(&offered, &mac);
            }
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
        Cover {
            what: format!("HMAC of the address and the parameters in {}", self.wanted()),
            body: true,
            time: false,
        }
    }
}

#[derive(Debug)]
struct TwilioSigner {
    key: MacKey,
}

pub(super) fn signer(secret: &Secret) -> Box<dyn Sign> {
    Box::new(TwilioSigner { key: MacKey::new(Hash::Sha1, secret.expose().as_bytes()) })
}

impl Sign for TwilioSigner {
    /// A body is signed as what it is: a form by its parameters, anything else by its digest.
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut placed = Placed::new(message);
        let mut text = message.url.to_owned();
        if looks_like_form(message.body) {
            let headers = [(b"content-type".to_vec(), b"application/x-www-form-urlencoded".to_vec())];
            let request = Request {
                method: message.method,
                target: "/",
                headers: &headers,
                body: message.body,
                remote_addr: None,
            };
            let body = parameters(&View::new(request)).unwrap_or_default();
            text.push_str(std::str::from_utf8(&body).map_err(|_| "a parameter is not UTF-8".to_owned())?);
            placed.signed.defaults.push(("content-type".into(), "application/x-www-form-urlencoded".into()));
        } else {
            let digest = Encoding::Hex.encode(&Hash::Sha256.digest(message.body));
            text.push(if text.contains('?') { '&' } else { '?' });
            text.push_str(&format!("{BODY_DIGEST}={digest}"));
            placed.signed.query.push((BODY_DIGEST.into(), digest));
        }
        placed.set_header(SIGNATURE, Encoding::Base64.encode(&self.key.of(text.as_bytes())));
        placed.replace(SETTINGS);
        Ok(placed.signed)
    }
}

fn looks_like_form(body: &[u8]) -> bool {
    !body.trim_ascii().is_empty()
        && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err()
        && body.contains(&b'=')
}

#[cfg(test)]
mod tests {
    use super::spellings;

    #[test]
    fn an_address_is_tried_with_and_without_its_port() {
        assert_eq!(
            spellings("https://e.x/p?q"),
            ["https://e.x:443/p?q", "https://e.x/p?q"].map(str::to_owned)
        );
        assert_eq!(spellings("http://e.x:1234"), ["http://e.x:1234", "http://e.x"].map(str::to_owned));
    }
}
