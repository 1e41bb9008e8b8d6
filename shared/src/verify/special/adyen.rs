//! Adyen payments: each item of the body carries a digest of eight of its fields.

use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::key::KeySpec;
use super::super::mac::{Hash, MacKey};
use super::super::request::View;
use super::super::scheme::{Check, Context, Cover};
use super::super::signer::{Message, Placed, Sign, Signed};
use super::super::timestamp::SignedTime;
use super::super::verdict::Refusal;
use crate::Secret;
use serde_json::{Map, Value};
use subtle::{Choice, ConstantTimeEq as _};
use time::OffsetDateTime;

/// In the order in which they are signed, joined by colons; an absent one is empty.
const SIGNED: [&str; 8] = [
    "/pspReference",
    "/originalReference",
    "/merchantAccountCode",
    "/merchantReference",
    "/amount/value",
    "/amount/currency",
    "/eventCode",
    "/success",
];
const SIGNATURE: &str = "/additionalData/hmacSignature";

#[derive(Debug)]
struct Adyen {
    keys: Vec<MacKey>,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    context.require_secret();
    context.fields.report().warn("only eight fields of each item are protected by Adyen's signature");
    let keys = context.keys(&KeySpec::hex()).iter().map(|key| MacKey::new(Hash::Sha256, key)).collect();
    Some(Box::new(Adyen { keys }))
}

fn items(body: &Value) -> Vec<&Value> {
    let list = body.get("notificationItems").and_then(Value::as_array);
    list.into_iter().flatten().map(|item| item.get("NotificationRequestItem").unwrap_or(item)).collect()
}

fn text(item: &Value, pointer: &str) -> String {
    match item.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn signed_text(item: &Value) -> String {
    SIGNED.map(|pointer| text(item, pointer)).join(":")
}

fn signature(item: &Value) -> Option<&str> {
    item.pointer(SIGNATURE).and_then(Value::as_str).filter(|text| !text.is_empty())
}

impl Adyen {
    fn item_matches(&self, item: &Value) -> Choice {
        let offered = signature(item).and_then(|text| Encoding::Base64.decode(text.as_bytes()));
        let Some(offered) = offered else { return Choice::from(0) };
        let signed = signed_text(item);
        self.keys.iter().fold(Choice::from(0), |found, key| found | key.of(signed.as_bytes()).ct_eq(&offered))
    }
}

impl Check for Adyen {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(view.json().is_some_and(|body| items(body).into_iter().any(|item| signature(item).is_some())))
    }

    fn wanted(&self) -> String {
        "additionalData.hmacSignature of the items".into()
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        if !self.present(view)? {
            return Err(Refusal::missing(self.wanted()));
        }
        let items = view.json().map(items).unwrap_or_default();
        let all = items.into_iter().fold(Choice::from(1), |all, item| all & self.item_matches(item));
        if all.into() { Ok(None) } else { Err(Refusal::bad_signature("an item's signature does not match")) }
    }

    fn content(&self, _view: &View<'_>) -> Option<[u8; 32]> {
        None
    }

    fn cover(&self) -> Cover {
        Cover { what: format!("HMAC-SHA256 of eight fields in {}", self.wanted()), body: false, time: false }
    }
}

#[derive(Debug)]
struct AdyenSigner {
    key: MacKey,
}

pub(super) fn signer(fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    let key =
        KeySpec::hex().decode(secret).map_err(|message| fields.report().fault("secret", message)).ok()?;
    Some(Box::new(AdyenSigner { key: MacKey::new(Hash::Sha256, &key) }))
}

impl Sign for AdyenSigner {
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut placed = Placed::new(message);
        let mut body: Value =
            serde_json::from_slice(message.body).map_err(|_| "the body is not JSON".to_owned())?;
        let list = body.get_mut("notificationItems").and_then(Value::as_array_mut);
        for item in list.filter(|list| !list.is_empty()).ok_or("the body has no notificationItems")? {
            let item = match item.get_mut("NotificationRequestItem") {
                Some(inner) => inner,
                None => return Err("an item has no NotificationRequestItem".into()),
            };
            let digest = Encoding::Base64.encode(&self.key.of(signed_text(item).as_bytes()));
            let item = item.as_object_mut().ok_or("an item is not an object")?;
            let data = item.entry("additionalData").or_insert_with(|| Value::Object(Map::new()));
            let data = data.as_object_mut().ok_or("additionalData is not an object")?;
            data.insert("hmacSignature".into(), Value::from(digest));
        }
        placed.set_body(body.to_string().into_bytes());
        Ok(placed.signed)
    }
}
