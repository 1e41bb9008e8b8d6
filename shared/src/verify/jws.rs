//! Type `jws`: a compact JSON Web Signature (RFC 7515) in a header that carries a digest of the body.

use super::encoding::Encoding;
use super::key::{KeyEncoding, KeySpec};
use super::keys::Jwk;
use super::mac::{Hash, MacKey};
use super::request::View;
use super::scheme::{Check, Context, Cover, TimeFrom};
use super::source::{self, Source};
use super::store::{KeyStore, PlaidAccount, Wanted};
use super::timestamp::{SignedTime, Unit};
use super::verdict::{Reason, Refusal};
use crate::Secret;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::sync::Arc;
use subtle::{Choice, ConstantTimeEq as _};
use time::OffsetDateTime;

#[derive(Debug)]
struct Jws {
    signature: Vec<Source>,
    keys: JwsKeys,
    claims: Vec<(String, Value)>,
    body_hash: Option<BodyHash>,
    /// The claim that holds the time.
    time: Option<String>,
    unit: Unit,
}

#[derive(Debug)]
enum JwsKeys {
    Hs256(Vec<MacKey>),
    /// Those that are written down, and the account to ask for others.
    Es256 {
        known: Vec<Jwk>,
        account: Option<PlaidAccount>,
        store: Option<Arc<KeyStore>>,
    },
}

#[derive(Debug)]
struct BodyHash {
    claim: String,
    hash: Hash,
    encoding: Encoding,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let signature = fields.parsed("signature", Source::parse);
    if signature.is_empty() {
        fields.fault("signature", "must name at least one source of the token");
    }
    let spec = KeySpec::read(fields);
    let account = plaid_account(context);
    if account.is_none() {
        context.require_secret();
    }
    let keys = match fields.text("algorithm") {
        Some("HS256") => {
            JwsKeys::Hs256(context.keys(&spec).iter().map(|key| MacKey::new(Hash::Sha256, key)).collect())
        }
        Some("ES256") if spec.encoding() == KeyEncoding::Jwk => {
            JwsKeys::Es256 { known: jwks(context, &spec), account, store: context.settings.keys.clone() }
        }
        Some("ES256") => {
            fields.fault("key.encoding", "ES256 needs `jwk`");
            return None;
        }
        _ => {
            fields.fault("algorithm", "must be HS256 or ES256; it is never taken from the request");
            return None;
        }
    };
    let body_hash = body_hash(context);
    if body_hash.is_none() {
        fields.report().warn_of_bare_body("the token does not cover the body: it can be changed on the way");
    }
    Some(Box::new(Jws {
        signature,
        keys,
        claims: claims(context),
        body_hash,
        time: time_claim(context),
        unit: context.time.unit,
    }))
}

/// `key_api`: who asks Plaid for the keys that requests name.
fn plaid_account(context: &Context<'_>) -> Option<PlaidAccount> {
    let table = context.fields.table("key_api")?;
    let host = match table.text("environment").unwrap_or("production") {
        "production" => "production.plaid.com",
        "sandbox" => "sandbox.plaid.com",
        _ => {
            table.fault("environment", "must be production or sandbox");
            return None;
        }
    };
    let (client_id, client_secret) = (table.text("client_id"), table.text("client_secret"));
    for (key, value) in [("client_id", client_id), ("client_secret", client_secret)] {
        if value.is_none_or(str::is_empty) {
            table.fault(key, "must be given to ask for keys");
        }
    }
    table.finish();
    Some(PlaidAccount { host, client_id: client_id?.to_owned(), client_secret: Secret::from(client_secret?) })
}

fn jwks(context: &Context<'_>, spec: &KeySpec) -> Vec<Jwk> {
    let mut parsed = Vec::new();
    for (number, bytes) in context.keys(spec).iter().enumerate() {
        match Jwk::parse(bytes) {
            Some(key) => parsed.push(key),
            None => context.fields.report().fault(format!("secrets[{number}]"), "is not a P-256 key as JWK"),
        }
    }
    parsed
}

fn body_hash(context: &Context<'_>) -> Option<BodyHash> {
    let table = context.fields.table("body_hash")?;
    let claim = table.text("claim").map(str::to_owned);
    if claim.is_none() && !table.has("claim") {
        table.fault("claim", "must name the claim with the digest of the body");
    }
    let hash = table.named("algorithm", Hash::parse, "sha1, sha256, sha384, sha512").unwrap_or(Hash::Sha256);
    let encoding =
        table.named("encoding", Encoding::parse, "hex, base64, base64url").unwrap_or(Encoding::Hex);
    table.finish();
    Some(BodyHash { claim: claim?, hash, encoding })
}

fn claims(context: &Context<'_>) -> Vec<(String, Value)> {
    match context.fields.raw("claims") {
        None => Vec::new(),
        Some(Value::Object(map)) => map.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        Some(_) => {
            context.fields.fault("claims", "must map claims to values");
            Vec::new()
        }
    }
}

fn time_claim(context: &Context<'_>) -> Option<String> {
    match &context.time.from {
        TimeFrom::Nowhere if context.fields.has("timestamp") => {
            context.fields.fault("timestamp.from", "must say which claim holds the time");
            None
        }
        TimeFrom::Nowhere => None,
        TimeFrom::Sources(sources) => match sources.as_slice() {
            [Source::Claim(name)] => Some(name.clone()),
            _ => {
                context.fields.fault("timestamp.from", "must be one claim: only claims are signed");
                None
            }
        },
        TimeFrom::Signature => {
            context.fields.fault("timestamp.from", "must be a claim for type jws");
            None
        }
    }
}

/// The three parts of a compact token.
struct Token {
    header: Map<String, Value>,
    claims: Map<String, Value>,
    signature: Vec<u8>,
    signing_input: Vec<u8>,
}

fn parse(value: &[u8]) -> Option<Token> {
    let mut parts = value.split(|b| *b == b'.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let object = |part: &[u8]| match serde_json::from_slice(&Encoding::Base64Url.decode(part)?) {
        Ok(Value::Object(map)) => Some(map),
        _ => None,
    };
    Some(Token {
        header: object(header)?,
        claims: object(claims)?,
        signature: Encoding::Base64Url.decode(signature)?,
        signing_input: value[..header.len() + 1 + claims.len()].to_vec(),
    })
}

impl Token {
    fn kid(&self) -> Option<&str> {
        self.header.get("kid").and_then(Value::as_str)
    }
}

impl Jws {
    fn token(&self, view: &View<'_>) -> Result<Token, Refusal> {
        let value = source::first(&self.signature, view)?.ok_or_else(|| Refusal::missing(self.wanted()))?;
        parse(&value)
            .ok_or_else(|| Refusal::bad_signature(format!("{} is not a signed token", self.wanted())))
    }

    fn signed(&self, token: &Token, now: OffsetDateTime) -> Result<bool, Refusal> {
        let algorithm = token.header.get("alg").and_then(Value::as_str);
        // Extensions that must be understood and are not (RFC 7515 section 4.1.11).
        if token.header.contains_key("crit") {
            return Ok(false);
        }
        match &self.keys {
            JwsKeys::Hs256(keys) => Ok(algorithm == Some("HS256") && hmac_matches(keys, token)),
            JwsKeys::Es256 { known, .. } => {
                let signature = p256::ecdsa::Signature::from_slice(&token.signature);
                let (Some("ES256"), Ok(signature)) = (algorithm, signature) else { return Ok(false) };
                let fetched = self.fetched(token)?;
                let mut keys = known.iter().chain(fetched.as_deref());
                let kid = token.kid();
                Ok(keys.any(|key| key.fits(kid, now) && key.verifies(&token.signing_input, &signature)))
            }
        }
    }

    /// What must be fetched for a token: the key it names, unless that is written down.
    fn wanted_key(&self, token: &Token) -> Option<Wanted> {
        let JwsKeys::Es256 { known, account: Some(account), .. } = &self.keys else { return None };
        let kid = token.kid().filter(|kid| !known.iter().any(|key| key.is(kid)))?;
        // Ids are UUIDs; anything that could mean more than an id is not asked for.
        let plain = kid.len() <= 100 && kid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        plain.then(|| Wanted::PlaidKey { kid: kid.to_owned(), account: account.clone() })
    }

    fn fetched(&self, token: &Token) -> Result<Option<Arc<Jwk>>, Refusal> {
        let Some(wanted) = self.wanted_key(token) else { return Ok(None) };
        let JwsKeys::Es256 { store, .. } = &self.keys else { return Ok(None) };
        let found = store.as_ref().and_then(|store| store.jwk(&wanted));
        let missing = || Refusal::new(Reason::ConfigError, "the provider's key could not be fetched");
        found.map(Some).ok_or_else(missing)
    }

    fn body_matches(&self, token: &Token, view: &View<'_>) -> bool {
        let Some(rule) = &self.body_hash else { return true };
        let claimed = token.claims.get(&rule.claim).and_then(Value::as_str);
        let claimed = claimed.and_then(|text| rule.encoding.decode(text.as_bytes()));
        claimed.is_some_and(|claimed| claimed.ct_eq(&rule.hash.digest(view.request.body)).into())
    }

    fn time_in(&self, token: &Token) -> Result<Option<SignedTime>, Refusal> {
        let Some(claim) = &self.time else { return Ok(None) };
        let text = token.claims.get(claim).and_then(source::scalar);
        let time = text.and_then(|text: Cow<'_, [u8]>| self.unit.read(&text));
        time.map(Some).ok_or_else(|| Refusal::malformed(format!("claim {claim} is not a time")))
    }
}

fn hmac_matches(keys: &[MacKey], token: &Token) -> bool {
    let found = keys
        .iter()
        .fold(Choice::from(0), |found, key| found | key.of(&token.signing_input).ct_eq(&token.signature));
    found.into()
}

impl Check for Jws {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(source::first(&self.signature, view)?.is_some())
    }

    fn wanted(&self) -> String {
        source::naming(&self.signature)
    }

    fn wants(&self, view: &View<'_>) -> Option<Wanted> {
        self.wanted_key(&self.token(view).ok()?)
    }

    fn prove(&self, view: &View<'_>, now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let token = self.token(view)?;
        let time = self.time_in(&token)?;
        if matches!(&self.keys, JwsKeys::Hs256(keys) if keys.is_empty()) {
            return Err(Refusal::new(Reason::ConfigError, "no secret is known yet"));
        }
        if !self.signed(&token, now)? {
            return Err(Refusal::bad_signature("the token's signature does not match"));
        }
        for (name, wanted) in &self.claims {
            if token.claims.get(name) != Some(wanted) {
                return Err(Refusal::bad_signature(format!("claim {name} is not what it must be")));
            }
        }
        if !self.body_matches(&token, view) {
            return Err(Refusal::bad_signature("the token is for another body"));
        }
        Ok(time)
    }

    fn content(&self, view: &View<'_>) -> Option<[u8; 32]> {
        Some(Sha256::digest(self.token(view).ok()?.signing_input).into())
    }

    fn cover(&self) -> Cover {
        Cover {
            what: format!(
                "{} token in {}",
                if matches!(self.keys, JwsKeys::Hs256(_)) { "HS256" } else { "ES256" },
                self.wanted()
            ),
            body: self.body_hash.is_some(),
            time: self.time.is_some(),
        }
    }
}
