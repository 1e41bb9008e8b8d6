//! Signing as a JSON Web Signature, for the one algorithm with a shared secret.

use super::super::encoding::Encoding;
use super::super::fields::Fields;
use super::super::key::KeySpec;
use super::super::mac::{Hash, MacKey};
use super::super::source::Source;
use super::{Message, Placed, Sign, Signed, not_signable};
use crate::Secret;
use serde_json::{Map, Value, json};

#[derive(Debug)]
struct Jws {
    key: MacKey,
    signature: Vec<Source>,
    claims: Map<String, Value>,
    body_claim: Option<(String, Hash, Encoding)>,
    time_claim: Option<String>,
}

pub(super) fn compile(fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    if fields.text("algorithm") != Some("HS256") {
        not_signable(fields);
        return None;
    }
    let bytes = KeySpec::read(fields)
        .decode(secret)
        .map_err(|message| fields.report().fault("secret", message))
        .ok()?;
    let body_claim = fields.table("body_hash").and_then(|table| {
        let hash = table.named("algorithm", Hash::parse, "a digest").unwrap_or(Hash::Sha256);
        let encoding = table.named("encoding", Encoding::parse, "an encoding").unwrap_or(Encoding::Hex);
        Some((table.text("claim")?.to_owned(), hash, encoding))
    });
    let time_claim = fields
        .table("timestamp")
        .and_then(|table| table.text("from").and_then(|from| from.strip_prefix("claim:")).map(str::to_owned));
    Some(Box::new(Jws {
        key: MacKey::new(Hash::Sha256, &bytes),
        signature: fields.parsed("signature", Source::parse),
        claims: fields.raw("claims").and_then(Value::as_object).cloned().unwrap_or_default(),
        body_claim,
        time_claim,
    }))
}

impl Sign for Jws {
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        let mut claims = self.claims.clone();
        if let Some((claim, hash, encoding)) = &self.body_claim {
            claims.insert(claim.clone(), json!(encoding.encode(&hash.digest(message.body))));
        }
        if let Some(claim) = &self.time_claim {
            claims.insert(claim.clone(), json!(message.now.unix_timestamp()));
        }
        let part = |value: &Value| Encoding::Base64Url.encode(value.to_string().as_bytes());
        let header = part(&json!({"alg": "HS256", "typ": "JWT"}));
        let input = format!("{header}.{}", part(&Value::Object(claims)));
        let token = format!("{input}.{}", Encoding::Base64Url.encode(&self.key.of(input.as_bytes())));
        let mut placed = Placed::new(message);
        placed.put_all(&self.signature, &token)?;
        Ok(placed.signed)
    }
}
