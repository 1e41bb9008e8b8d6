//! What can be seen without a signature that matches: each is a fact about the request, and what it
//! may mean is said as a possibility.

use super::{Case, Trial, scheme};
use crate::verify::plan::{self, Table};
use crate::verify::presets;
use crate::verify::request::View;
use crate::verify::source::Source;
use crate::verify::timestamp::Unit;
use crate::verify::verdict::{Reason, Refusal, Verdict};
use serde_json::Value;
use time::Duration;

/// More suggestions than this help nobody.
const MAX_ALIKE: usize = 3;

/// The signature is right and the time is not.
pub(super) fn clock(case: &Case<'_>, refusal: &Refusal) -> Vec<String> {
    let fact = format!("The signature is right; the request was {}.", refusal.detail);
    let as_it_is = Trial { settings: None, request: None, meaning: String::new() };
    let far = is_no_clock(case, &as_it_is, refusal.reason);
    let meaning = if let Some(meaning) = in_another_unit(case, far) {
        meaning
    } else if far {
        "No clock is wrong by so much: the timestamp is in another unit than this scheme's, perhaps microseconds, or it is no time.".into()
    } else if refusal.reason == Reason::Future {
        "One of the two clocks is wrong by about that much, this machine's or the sender's.".into()
    } else {
        "Either it was held up or sent again, or one of the two clocks is wrong by about that much.".into()
    };
    vec![fact, meaning]
}

/// A unit in which the time is right or, where it is far off as it is, off by what a clock or a delay explains.
fn in_another_unit(case: &Case<'_>, far: bool) -> Option<String> {
    let mut units: Vec<(Trial, Verdict<'_>)> = scheme::units(case)
        .into_iter()
        .filter_map(|trial| trial.verdict(case, case.now).map(|verdict| (trial, verdict)))
        .collect();
    if let Some(right) = units.iter().position(|(_, verdict)| matches!(verdict, Verdict::Ok(_))) {
        return Some(units.swap_remove(right).0.meaning);
    }
    units.into_iter().find_map(|(trial, verdict)| match verdict {
        Verdict::Refused(Refusal { reason: reason @ (Reason::Stale | Reason::Future), detail, .. })
            if far && !is_no_clock(case, &trial, reason) =>
        {
            Some(format!("{} Read so, it was {detail}.", trial.meaning))
        }
        _ => None,
    })
}

/// Longer than any clock is wrong by.
const NO_CLOCK: Duration = Duration::days(20 * 365);

/// Is the time so far off that it cannot be a clock or a delay?
fn is_no_clock(case: &Case<'_>, trial: &Trial, reason: Reason) -> bool {
    let nearer = match reason {
        Reason::Future => case.now.checked_add(NO_CLOCK),
        _ => case.now.checked_sub(NO_CLOCK),
    };
    let there = nearer.and_then(|now| trial.verdict(case, now));
    there.is_some_and(|verdict| verdict.word() == reason.word())
}

/// Something is not there: what is there instead?
pub(super) fn missing(case: &Case<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    let view = View::new(case.request.request());
    // What tells SNS from others in a header is not signed with.
    let tables = own_tables(case);
    let own = tables.iter().filter(|table| table.map.get("type").and_then(Value::as_str) != Some("sns"));
    let own: Vec<Source> = own.flat_map(signature_headers).collect();
    if own.iter().any(|source| !source.all(&view).is_empty()) {
        reasons.push(
            "The signature itself is there: something on the way may have taken the other away.".into(),
        );
        return reasons;
    }
    let alike = alike(case);
    if !alike.is_empty() {
        reasons.push(format!("The request has the signature headers of: {}. Is this the right source, and the right `verifier`?", alike.join(", ")));
    }
    if has_older_digest(case) {
        reasons.push("It has only the older SHA-1 header X-Hub-Signature, which is not accepted.".into());
    }
    // Others are signed inside the body.
    let in_headers = !own.is_empty();
    if in_headers && case.request.headers.is_empty() {
        reasons.push("It has no headers at all.".into());
    } else if in_headers && alike.is_empty() {
        reasons.push("None of its headers is one that a known scheme signs with. Perhaps the sender does not sign (no secret is set there), or in a way of its own, or a proxy took the header away.".into());
    }
    reasons
}

/// A source that wants GitHub's SHA-256 and is sent its SHA-1. Others use the older name for other digests.
fn has_older_digest(case: &Case<'_>) -> bool {
    let view = View::new(case.request.request());
    let wants = |source: &Source| matches!(source, Source::Header(name) if name.eq_ignore_ascii_case("X-Hub-Signature-256"));
    own_tables(case).iter().flat_map(signature_headers).any(|source| wants(&source))
        && view.header_lines("X-Hub-Signature").any(|value| value.starts_with(b"sha1="))
}

/// Presets whose signature is there, while this source's is not.
fn alike(case: &Case<'_>) -> Vec<String> {
    let view = View::new(case.request.request());
    let own = own_tables(case);
    let own: Vec<Source> = own.iter().flat_map(signature_headers).collect();
    let mut found: Vec<String> = presets::presets()
        .filter(|preset| preset.alias_of.is_none())
        .filter(|preset| {
            let tables = plan::resolve(&Value::from(preset.name), "").map(tables_of).unwrap_or_default();
            let mut headers = tables.iter().flat_map(signature_headers);
            headers.any(|source| !own.contains(&source) && !source.all(&view).is_empty())
        })
        .map(|preset| preset.name.to_owned())
        .collect();
    found.truncate(MAX_ALIKE);
    found
}

pub(super) fn own_tables(case: &Case<'_>) -> Vec<Table> {
    plan::resolve(&case.settings.verifier, "").map(tables_of).unwrap_or_default()
}

fn tables_of(plan: plan::Plan) -> Vec<Table> {
    match plan {
        plan::Plan::FirstOf(tables) => tables,
        plan::Plan::All(parts) | plan::Plan::Any(parts) => parts.into_iter().flat_map(tables_of).collect(),
    }
}

/// The headers that a scheme reads its signature from, leaving out those that mean many things.
fn signature_headers(table: &Table) -> Vec<Source> {
    let listed = |key: &str| match table.map.get(key) {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let of_its_own = match table.map.get("type").and_then(Value::as_str) {
        Some("twilio") => "header:X-Twilio-Signature",
        Some("contentful") => "header:X-Contentful-Signature",
        Some("paypal") => "header:PAYPAL-TRANSMISSION-SIG",
        Some("sns") => "header:x-amz-sns-message-type",
        _ => "",
    };
    let texts = listed("signature").into_iter().chain(listed("from")).chain([of_its_own]);
    texts
        .filter_map(|text| Source::parse(text).ok())
        .filter(|source| match source {
            Source::Header(name) => !name.eq_ignore_ascii_case("authorization"),
            Source::HeaderFamily(_) => true,
            Source::Query(_) | Source::Form(_) | Source::Json(_) | Source::Claim(_) => false,
        })
        .collect()
}

/// Nothing proved anything: what is remarkable about the request?
pub(super) fn unproved(case: &Case<'_>) -> Vec<String> {
    let view = View::new(case.request.request());
    let mut reasons = Vec::new();
    if let Some(encoding) = view.header_lines("content-encoding").next()
        && !encoding.eq_ignore_ascii_case(b"identity")
        && is_text(&case.request.body)
    {
        reasons.push("Its headers say that the body is compressed, and it is text: it seems that something on the way unpacked it. A signature over the packed bytes cannot be checked any more.".into());
    }
    if let Some(live) = view.json().and_then(|body| body.get("livemode")).and_then(Value::as_bool) {
        let (mode, other) = if live { ("live", "test") } else { ("test", "live") };
        reasons.push(format!("It is a {mode} mode event: is the configured secret perhaps that of {other} mode? Each has its own."));
    }
    if case.request.body.is_empty() && view.header_lines("content-length").any(|length| length != b"0") {
        reasons.push(
            "Its headers speak of a body and there is none: perhaps something on the way read it.".into(),
        );
    }
    reasons.extend(doubled(case));
    reasons.extend(in_milliseconds(case, &view));
    reasons
}

/// What no compression makes.
fn is_text(body: &[u8]) -> bool {
    let plain = |c: char| !c.is_control() || c.is_whitespace();
    !body.is_empty() && std::str::from_utf8(body).is_ok_and(|text| text.chars().all(plain))
}

/// Headers of the scheme that are there more than once.
fn doubled(case: &Case<'_>) -> Option<String> {
    let view = View::new(case.request.request());
    own_tables(case).iter().flat_map(signature_headers).find_map(|source| match &source {
        Source::Header(name) if view.header_lines(name).count() > 1 => {
            Some(format!("{name} is there more than once: something on the way may add a second one."))
        }
        _ => None,
    })
}

/// A time of thirteen digits where seconds are expected.
fn in_milliseconds(case: &Case<'_>, view: &View<'_>) -> Option<String> {
    let tables = own_tables(case);
    let timestamp = tables.first()?.map.get("timestamp")?;
    let seconds = timestamp.get("unit").and_then(Value::as_str).is_none_or(|unit| unit == "s");
    let from = match timestamp.get("from")? {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => vec![text.as_str()],
        _ => Vec::new(),
    };
    let value = from
        .iter()
        .filter_map(|text| Source::parse(text).ok())
        .find_map(|source| source.get(view).ok().flatten().map(|value| value.into_owned()))?;
    let looks = value.len() == 13 && Unit::Millis.read(&value).is_some_and(|time| time.storable().is_some());
    (seconds && looks)
        .then(|| "The timestamp has thirteen digits, as milliseconds have; this scheme sends seconds.".into())
}
