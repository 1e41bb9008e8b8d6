//! Schemes that the form cannot say.

mod adyen;
mod braintree;
mod contentful;
mod ip;
mod paypal;
mod sns;
mod twilio;

pub(super) use ip::network;

use super::certificate::Certificate;
use super::fields::Fields;
use super::scheme::{Check, Context};
use super::signer::{Sign, not_signable};
use super::store::{KeyStore, Wanted};
use super::verdict::{Reason, Refusal};
use crate::Secret;
use std::sync::Arc;

pub(super) fn compile(kind: &str, context: &Context<'_>) -> Option<Box<dyn Check>> {
    match kind {
        "adyen" => adyen::compile(context),
        "braintree" => braintree::compile(context),
        "contentful" => contentful::compile(context),
        "ip" => ip::compile(context),
        "paypal" => paypal::compile(context),
        "sns" => sns::compile(context),
        "twilio" => twilio::compile(context),
        _ => {
            context.fields.fault("type", format!("`{kind}` is not a type of verifier"));
            None
        }
    }
}

/// The signer of a special scheme.
pub(super) fn signer(kind: &str, fields: &Fields<'_>, secret: &Secret) -> Option<Box<dyn Sign>> {
    match kind {
        "adyen" => adyen::signer(fields, secret),
        "braintree" => braintree::signer(fields, secret),
        "contentful" => contentful::signer(fields, secret),
        "twilio" => Some(twilio::signer(secret)),
        _ => {
            not_signable(fields);
            None
        }
    }
}

/// Where a scheme has its certificates from: one that is written down, or those that were fetched.
#[derive(Debug)]
struct Certificates {
    pinned: Option<Arc<Certificate>>,
    store: Option<Arc<KeyStore>>,
}

impl Certificates {
    fn read(context: &Context<'_>) -> Self {
        let pinned = context.fields.text("certificate").and_then(|pem| {
            let read = Certificate::from_pem(pem.as_bytes());
            read.map_err(|message| context.fields.fault("certificate", message)).ok()
        });
        Self { pinned: pinned.map(Arc::new), store: context.settings.keys.clone() }
    }

    fn wants(&self, url: String) -> Option<Wanted> {
        self.pinned.is_none().then_some(Wanted::Certificate { url })
    }

    fn get(&self, url: &str) -> Result<Arc<Certificate>, Refusal> {
        let fetched = || self.store.as_ref()?.certificate(url);
        let found = self.pinned.clone().or_else(fetched);
        found.ok_or_else(|| {
            Refusal::new(Reason::ConfigError, "the provider's certificate could not be fetched")
        })
    }
}
