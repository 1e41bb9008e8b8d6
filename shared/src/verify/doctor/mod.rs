//! Why does a request not verify? The doctor tries what people get wrong: it changes one thing at a
//! time, in the settings or in the request, and looks whether the signature then matches. A match
//! is proof, and is told as a fact; signs that prove nothing are told as what they are; and where
//! there is neither, it says that it does not know.
//!
//! It needs the secrets, so it runs where they are. What it says never contains a secret, a
//! signature or any other value of the request.

mod address;
mod body;
mod scheme;
mod secret;
mod signs;

use super::recorded::Parts;
use super::settings::Settings;
use super::verdict::{ChallengeAnswer, Reason, Refusal, Verdict};
use super::{Fault, Verifier};
use crate::Secret;
use serde_json::{Map, Value};
use time::OffsetDateTime;

/// Bodies longer than this are not re-written in all the ways that are tried.
const MAX_BODY: usize = 1024 * 1024;

/// A source to look at, and what else is known.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    pub settings: &'a Settings,
    pub request: &'a Parts,
    pub now: OffsetDateTime,
    /// The secrets of other sources, by the source's name.
    pub others: &'a [(String, Secret)],
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// `ok`, `challenge` or the word of the refusal.
    pub verdict: &'static str,
    /// Each a sentence; the first is the most telling.
    pub reasons: Vec<String>,
    /// Was a cause proved, rather than suspected? True for a request that verifies.
    pub certain: bool,
    /// For a challenge: what is answered.
    pub answer: Option<ChallengeAnswer>,
}

/// The settings and the request with one thing changed, and what it means if that verifies.
struct Trial {
    settings: Option<Settings>,
    request: Option<Parts>,
    meaning: String,
}

impl Trial {
    fn settings(settings: Settings, meaning: impl Into<String>) -> Self {
        Self { settings: Some(settings), request: None, meaning: meaning.into() }
    }

    fn request(request: Parts, meaning: impl Into<String>) -> Self {
        Self { settings: None, request: Some(request), meaning: meaning.into() }
    }

    /// What comes of it at a time; nothing if the settings cannot be used.
    fn verdict(&self, case: &Case<'_>, now: OffsetDateTime) -> Option<Verdict<'static>> {
        let settings = self.settings.as_ref().unwrap_or(case.settings);
        let request = self.request.as_ref().unwrap_or(case.request);
        let compiled = Verifier::compile(settings).ok()?;
        Some(compiled.verifier.verify(&request.request(), now).into_owned())
    }

    fn proves(&self, case: &Case<'_>) -> bool {
        self.verdict(case, case.now).is_some_and(|verdict| is_signed(&verdict))
    }
}

/// Was the signature right, whatever the time?
fn is_signed(verdict: &Verdict<'_>) -> bool {
    match verdict {
        Verdict::Ok(_) => true,
        // One that is answered to anybody proves nothing.
        Verdict::Challenge(answer) => answer.proved,
        Verdict::Refused(refusal) => matches!(refusal.reason, Reason::Stale | Reason::Future),
    }
}

/// Looks at one request.
pub fn examine(case: &Case<'_>) -> Diagnosis {
    match Verifier::compile(case.settings) {
        Err(faults) => unusable(case, &faults),
        Ok(compiled) => match compiled.verifier.verify(&case.request.request(), case.now) {
            Verdict::Ok(_) => diagnosis("ok", vec![genuine(&compiled.verifier)], true),
            Verdict::Challenge(answer) => Diagnosis {
                answer: Some(answer),
                ..diagnosis(
                    "challenge",
                    vec!["It is a handshake of this scheme; it is answered and not stored.".into()],
                    true,
                )
            },
            Verdict::Refused(refusal) => explain(case, &refusal),
        },
    }
}

/// What was found right. Not every scheme has a signature or a time.
fn genuine(verifier: &Verifier) -> String {
    let ways = verifier.summary();
    let mut what: Vec<&str> = ways.iter().map(|way| way.what.as_str()).collect();
    what.dedup();
    let limited = ways.iter().all(|way| way.time_protected && way.max_age.is_some());
    let time = if limited { ", and the time is within limits" } else { "" };
    format!("What is checked matches ({}){time}.", what.join("; "))
}

fn diagnosis(verdict: &'static str, reasons: Vec<String>, certain: bool) -> Diagnosis {
    Diagnosis { verdict, reasons, certain, answer: None }
}

/// The settings do not compile. A secret that would do with its quotes or line break removed is
/// worth saying.
fn unusable(case: &Case<'_>, faults: &[Fault]) -> Diagnosis {
    let mut reasons: Vec<String> = secret::trials(case)
        .into_iter()
        .filter(|trial| trial.proves(case))
        .map(|trial| trial.meaning)
        .collect();
    reasons.dedup();
    reasons.extend(faults.iter().map(|fault| format!("The settings cannot be used: {fault}.")));
    diagnosis(Reason::ConfigError.word(), reasons, true)
}

fn explain(case: &Case<'_>, refusal: &Refusal) -> Diagnosis {
    let first = sentence(&refusal.detail);
    let word = refusal.reason.word();
    match refusal.reason {
        Reason::Stale | Reason::Future => diagnosis(word, signs::clock(case, refusal), true),
        Reason::ConfigError | Reason::IpDenied => diagnosis(word, vec![first], true),
        Reason::MissingHeader => {
            let mut reasons = signs::missing(case);
            reasons.insert(0, first);
            diagnosis(word, reasons, true)
        }
        // It is what was entered at the provider that is compared, and no signature.
        Reason::BadSignature if refusal.handshake.is_some() => diagnosis(word, vec![first], true),
        Reason::Malformed | Reason::BadSignature => search(case, refusal, first),
    }
}

fn search(case: &Case<'_>, refusal: &Refusal, first: String) -> Diagnosis {
    let word = refusal.reason.word();
    // Of several changes that each make it match, all say the same thing in other words: the likeliest is told.
    if let Some(proved) = trials(case).find(|trial| trial.proves(case)) {
        return diagnosis(word, vec![proved.meaning, first], true);
    }
    let mut reasons = signs::unproved(case);
    if refusal.reason == Reason::Malformed {
        // What could not be read is a fact of its own.
        reasons.insert(0, first);
        return diagnosis(word, reasons, true);
    }
    reasons.insert(0, first);
    reasons.push(if reasons.len() > 1 { CANNOT_PROVE } else { DO_NOT_KNOW }.into());
    diagnosis(word, reasons, false)
}

/// Said when nothing that was tried matches.
const DO_NOT_KNOW: &str = "I do not know why: none of the usual mistakes explains it. The secret may \
be another one altogether, or the request may have been changed on the way, or it is forged.";

/// The same, where something was remarkable.
const CANNOT_PROVE: &str = "I do not know whether that is the cause: it cannot be proved from here. The secret may \
also be another one altogether, or the request may have been changed on the way, or it is forged.";

/// Everything that is tried, the likeliest first.
fn trials<'c>(case: &'c Case<'c>) -> impl Iterator<Item = Trial> + 'c {
    secret::trials(case)
        .into_iter()
        .chain(secret::of_others(case))
        .chain(scheme::trials(case))
        .chain(scheme::units(case))
        .chain(if case.request.body.len() <= MAX_BODY { body::trials(case) } else { Vec::new() })
        .chain(address::trials(case))
        .chain(scheme::of_others(case))
}

fn sentence(detail: &str) -> String {
    let mut chars = detail.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
        None => String::new(),
    }
}

/// The settings with keys of the scheme replaced. Nothing for combinations, whose parts cannot be
/// told from outside.
fn with_keys(settings: &Settings, keys: &[(&str, Value)]) -> Option<Settings> {
    let mut changed = settings.clone();
    changed.verifier = match &settings.verifier {
        Value::String(name) => {
            let mut map = Map::new();
            map.insert("preset".into(), Value::from(name.as_str()));
            Value::Object(laid_over(map, keys))
        }
        Value::Object(map) if !map.contains_key("combine") => Value::Object(laid_over(map.clone(), keys)),
        _ => return None,
    };
    Some(changed)
}

fn laid_over(mut map: Map<String, Value>, keys: &[(&str, Value)]) -> Map<String, Value> {
    // A preset's key is taken away with null, one of one's own by leaving it out.
    let has_preset = map.contains_key("preset");
    for (key, value) in keys {
        match (map.get_mut(*key), value) {
            (_, Value::Null) if !has_preset => drop(map.shift_remove(*key)),
            (Some(Value::Object(inner)), Value::Object(more)) => inner.extend(more.clone()),
            _ => drop(map.insert((*key).to_owned(), value.clone())),
        }
    }
    map
}
