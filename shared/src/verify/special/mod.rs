//! Schemes that the form cannot say.

mod ip;

use super::fields::Fields;
use super::scheme::{Check, Context};
use super::signer::{Sign, not_signable};
use crate::Secret;

pub(super) fn compile(kind: &str, context: &Context<'_>) -> Option<Box<dyn Check>> {
    match kind {
        "ip" => ip::compile(context),
        _ => {
            context.fields.fault("type", format!("`{kind}` is not a type of verifier"));
            None
        }
    }
}

/// The signer of a special scheme.
pub(super) fn signer(_kind: &str, fields: &Fields<'_>, _secret: &Secret) -> Option<Box<dyn Sign>> {
    not_signable(fields);
    None
}
