//! Signing as a provider would: for test events, and for giving an old event a fresh signature that
//! a strict receiver accepts.

mod credential;
mod form;
mod jws;
mod placed;

use super::address::Address;
use super::fields::{Fields, Report};
use super::plan::{self, Table};
use super::settings::{Fault, Settings};
use super::{scheme, special};
use crate::Secret;
use serde_json::Value;
use std::fmt;
use time::OffsetDateTime;

pub(super) use placed::{Placed, write_form};

/// A request to be signed.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub method: &'a str,
    /// Absolute; what the receiver believes its address is, for schemes that sign it.
    pub url: &'a str,
    pub body: &'a [u8],
    /// The name of this delivery, where the scheme sends one.
    pub id: &'a str,
    pub event_type: Option<&'a str>,
    pub now: OffsetDateTime,
}

/// What a signature changes in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signed {
    /// To be set, replacing any of the same name.
    pub headers: Vec<(String, String)>,
    /// To be added where the request has none of that name: an id, an event type, a content type.
    pub defaults: Vec<(String, String)>,
    /// Query parameters to be set.
    pub query: Vec<(String, String)>,
    /// The body to send instead, for schemes whose signature is inside it.
    pub body: Option<Vec<u8>>,
    /// Header names that must not be kept from an earlier signature, those of `headers` included.
    pub replaces: Vec<String>,
}

/// Signs requests in one scheme with one secret.
#[derive(Debug)]
pub struct Signer {
    sign: Box<dyn Sign>,
    address: Address,
}

/// One way of signing.
pub(super) trait Sign: fmt::Debug + Send + Sync {
    /// # Errors
    /// When the body is not of the form that the scheme signs.
    fn sign(&self, message: &Message<'_>) -> Result<Signed, String>;
}

impl Signer {
    /// `verifier` is written as in the configuration: a preset's name or a table.
    ///
    /// # Errors
    /// When it cannot be resolved, when the secret is not one of this scheme, or when the scheme
    /// signs with a key that only the provider has.
    pub fn new(verifier: &Value, secret: &Secret) -> Result<Self, Vec<Fault>> {
        Self::build(verifier, |fields| Some((compile(fields, secret)?, Address::Unknown)))
    }

    /// Signs what the verifier of the same settings accepts: with the first secret that it tries, for
    /// the address that it takes for the source's.
    ///
    /// # Errors
    /// As [`Self::new`], and when there is no secret.
    pub fn of(settings: &Settings) -> Result<Self, Vec<Fault>> {
        Self::build(&settings.verifier, |fields| {
            let address = scheme::address(fields, settings);
            let secrets = scheme::secrets(fields, settings);
            let Some(secret) = secrets.first() else {
                fields.report().fault("secrets", "are needed to sign, and there is none");
                return None;
            };
            Some((compile(fields, secret)?, address))
        })
    }

    fn build(
        verifier: &Value,
        compile: impl FnOnce(&Fields<'_>) -> Option<(Box<dyn Sign>, Address)>,
    ) -> Result<Self, Vec<Fault>> {
        let plan = plan::resolve(verifier, "verifier").map_err(|fault| vec![fault])?;
        let tables = plan.tables();
        let Some(table) = chosen(&tables) else {
            return Err(vec![Fault { key: "verifier".into(), message: "is empty".into() }]);
        };
        let report = Report::default();
        let compiled = compile(&Fields::new(table.path.as_str(), &table.map, &report));
        let (faults, _) = report.into_parts();
        match compiled {
            Some((sign, address)) if faults.is_empty() => Ok(Self { sign, address }),
            _ => Err(faults),
        }
    }

    /// The address of a request with this path and query, as the verifier will have it; nothing where
    /// the settings do not say, or where there were none.
    pub fn address(&self, target: &str) -> Option<String> {
        self.address.known(target)
    }

    /// What to change in the request so that it verifies.
    ///
    /// # Errors
    /// When the body is not of the form that the scheme signs.
    pub fn sign(&self, message: &Message<'_>) -> Result<Signed, String> {
        self.sign.sign(message)
    }
}

/// Of several alternatives the one that depends on nothing else in the request.
fn chosen<'t>(tables: &[&'t Table]) -> Option<&'t Table> {
    tables.iter().find(|table| !table.map.contains_key("only_if")).or(tables.first()).copied()
}

fn compile(fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    let kind = fields.text("type")?;
    match kind {
        "hmac" | "hash" => form::compile(fields, kind == "hash", secret),
        "token" => credential::token(fields, secret),
        "basic" => Some(credential::basic(secret)),
        "jws" => jws::compile(fields, secret),
        other => special::signer(other, fields, secret),
    }
}

/// The fault of a scheme whose private key is the provider's.
pub(super) fn not_signable(fields: &Fields<'_>) {
    fields.fault("type", "can only be signed by the provider, who has the private key");
}
