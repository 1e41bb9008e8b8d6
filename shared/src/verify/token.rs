//! Type `token`: a value known to both sides, sent as it is.

use super::algorithm::equal;
use super::key::KeySpec;
use super::request::View;
use super::scheme::{Check, Context, Cover};
use super::source::{self, Source};
use super::timestamp::SignedTime;
use super::verdict::{Reason, Refusal};
use std::borrow::Cow;
use time::OffsetDateTime;
use zeroize::Zeroizing;

#[derive(Debug)]
struct Token {
    from: Vec<Source>,
    /// The scheme word before the token in a header (`Bearer `).
    prefix: Option<String>,
    secrets: Vec<Zeroizing<Vec<u8>>>,
}

pub(super) fn compile(context: &Context<'_>) -> Option<Box<dyn Check>> {
    let fields = context.fields;
    let from = fields.parsed("from", Source::parse);
    if from.is_empty() {
        fields.fault("from", "must name at least one source of the token");
    }
    let prefix = fields.text("prefix").map(str::to_owned);
    context.require_secret();
    let secrets = context.keys(&KeySpec::read(fields));
    fields
        .report()
        .warn_of_bare_body("a token does not protect the body: whoever sees one request can send others");
    Some(Box::new(Token { from, prefix, secrets }))
}

impl Token {
    /// The offered tokens of the first source that is there; `None` for a list item without one.
    fn offered<'v>(&self, view: &'v View<'_>) -> Result<Vec<Option<Cow<'v, [u8]>>>, Refusal> {
        for from in &self.from {
            let found = match from {
                Source::Json(pointer) if pointer.is_list() => listed(pointer, view),
                other => other.get(view)?.map(Some).into_iter().collect(),
            };
            if found.iter().any(Option::is_some) {
                let strip = matches!(from, Source::Header(_));
                return Ok(found.into_iter().map(|value| self.bare(value?, strip)).collect());
            }
        }
        Ok(Vec::new())
    }

    fn bare<'v>(&self, value: Cow<'v, [u8]>, in_header: bool) -> Option<Cow<'v, [u8]>> {
        match &self.prefix {
            Some(prefix) if in_header => {
                let (word, rest) = value.split_at_checked(prefix.len())?;
                word.eq_ignore_ascii_case(prefix.as_bytes()).then(|| Cow::Owned(rest.trim_ascii().to_vec()))
            }
            _ => Some(value),
        }
    }

    fn matches(&self, token: &[u8]) -> bool {
        let known: Vec<Vec<u8>> = self.secrets.iter().map(|secret| secret.to_vec()).collect();
        equal(&known, token).into()
    }
}

fn listed<'v>(pointer: &source::Pointer, view: &'v View<'_>) -> Vec<Option<Cow<'v, [u8]>>> {
    let Some(root) = view.json() else { return Vec::new() };
    pointer.every_in(root).into_iter().map(|value| source::scalar(value?).filter(|v| !v.is_empty())).collect()
}

impl Check for Token {
    fn present(&self, view: &View<'_>) -> Result<bool, Refusal> {
        Ok(!self.offered(view)?.is_empty())
    }

    fn wanted(&self) -> String {
        source::naming(&self.from)
    }

    fn prove(&self, view: &View<'_>, _now: OffsetDateTime) -> Result<Option<SignedTime>, Refusal> {
        let offered = self.offered(view)?;
        if offered.is_empty() {
            return Err(Refusal::missing(self.wanted()));
        }
        if self.secrets.is_empty() {
            return Err(Refusal::new(Reason::ConfigError, "no token is known yet"));
        }
        let matched =
            offered.iter().filter(|token| token.as_deref().is_some_and(|t| self.matches(t))).count();
        if matched == offered.len() {
            return Ok(None);
        }
        Err(Refusal::bad_signature(format!("the token in {} is not the one configured", self.wanted())))
    }

    fn content(&self, _view: &View<'_>) -> Option<[u8; 32]> {
        None
    }

    fn cover(&self) -> Cover {
        Cover { what: format!("token in {}", self.wanted()), body: false, time: false }
    }
}
