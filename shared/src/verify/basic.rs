//! Type `basic`: user and password of RFC 7617. The secret is `user:password`.

use super::algorithm::equal;
use super::encoding::Encoding;
use super::key::KeySpec;
use super::request::View;
use super::scheme::{Check, Context, Cover};
use super::timestamp::SignedTime;
use super::verdict::Refusal;
use time::OffsetDateTime;
use zeroize::Zeroizing;

const HEADER: &str = "Authorization";

#[derive(Debug)]
struct Basic {
    pairs: Vec<Zeroizing<Vec<u8>>>,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    context.require_secret();
    let pairs = context.keys(&KeySpec::TEXT);
    for (number, secret) in context.secrets.iter().enumerate() {
        if !secret.expose().contains(':') {
            context.fields.report().fault(format!("secrets[{number}]"), "must be user:password");
        }
    }
    context.fields.report().warn_of_bare_body("basic authentication does not protect the body");
    Some(Box::new(Basic { pairs }))
}

impl Check for Basic {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(view.header(HEADER)?.is_some())
    }

    fn wanted(&self) -> String {
        format!("header {HEADER}")
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let Some(value) = view.header(HEADER)? else { return Err(Refusal::missing(self.wanted())) };
        let Some(offered) = credentials(&value) else {
            return Err(Refusal::bad_signature(format!("{} is not basic authentication", self.wanted())));
        };
        let known: Vec<Vec<u8>> = self.pairs.iter().map(|pair| pair.to_vec()).collect();
        if bool::from(equal(&known, &offered)) {
            return Ok(None);
        }
        Err(Refusal::bad_signature("user or password differ"))
    }

    fn content(&self, _view: &View<'_>) -> Option<[u8; 32]> {
        None
    }

    fn cover(&self) -> Cover {
        Cover { what: "user and password".into(), body: false, time: false }
    }
}

/// The decoded pair. The scheme word may be in any case (RFC 9110 section 11.1).
fn credentials(value: &[u8]) -> Option<Vec<u8>> {
    let (word, rest) = value.split_at_checked(6)?;
    if !word.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    Encoding::Base64.decode(rest.trim_ascii())
}
