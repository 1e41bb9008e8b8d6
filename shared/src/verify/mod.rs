//! Is a request really from the provider it claims to be from?
//!
//! A source's `verifier` is written in one declarative form (or names a preset written in it). It is
//! compiled once, when the configuration is read, into a [`Verifier`], which is then asked for every
//! request. Nothing here does input or output, reads a clock or knows about HTTP servers.
//!
//! The order of checks is part of the promise: which alternative, handshakes that come unsigned,
//! presence, shape, signature, time. Time comes after the signature, so that a request that is not
//! genuine learns nothing about this clock.

mod address;
mod algorithm;
mod answers;
mod basic;
mod certificate;
mod challenge;
mod credentials;
pub mod doctor;
mod encoding;

mod fields;
mod filter;
mod form;
mod json;
mod jws;
mod key;
mod keys;
mod mac;
pub mod mask;
mod plan;
mod presets;
mod recorded;
mod request;
mod respond;
mod scan;
mod scheme;
mod settings;
mod signature;
mod signed;
mod signer;

mod source;
mod special;
mod store;
mod template;
mod timestamp;
mod token;
mod verdict;
mod verifier;

pub use answers::Ack;
pub use certificate::Certificate;
pub use credentials::{
    credential_headers, credential_parameters, credentials, is_telling_header, is_telling_parameter,
};
pub use presets::{Preset, preset, presets};
pub use recorded::{Parts, Recorded};
pub use request::Request;
pub use settings::{Compiled, Fault, Settings};
pub use signer::{Message, Signed, Signer};

pub use store::{Fetch, FetchRequest, Fetched, KeyStore, PlaidAccount, Wanted};
pub use verdict::{ChallengeAnswer, Dedupe, Reason, Refusal, Verdict, Verified};
pub use verifier::{Summary, Verifier, max_age, public_address};

#[cfg(test)]
mod tests;
