//! Terms: hashes of names, and of names with values.

use super::query::{Condition, Place};
use super::{DEEPEST, MOST_TERMS};
use hooks_shared::event::Header;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Longer values are hashed whole all the same; this bounds nothing but the work of a hostile body.
const LONGEST_PATH: usize = 300;

fn term(kind: &str, name: &str, value: Option<&str>) -> i64 {
    let mut digest = Sha256::new();
    digest.update(kind.as_bytes());
    digest.update([0]);
    digest.update(name.as_bytes());
    digest.update([u8::from(value.is_some())]);
    digest.update(value.unwrap_or_default().as_bytes());
    let bytes = digest.finalize();
    i64::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
}

/// The term that every event has for which the condition holds.
pub fn of_condition(condition: &Condition) -> i64 {
    let value = condition.value.as_deref();
    match &condition.place {
        Place::Header(name) => term("h", name, value),
        Place::Body(path) => term("b", path, value),
        Place::Known => term("k", "", value),
    }
}

/// A scalar as it is compared: a string without its quotes, everything else as JSON writes it.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null => Some("null".to_owned()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Calls `visit` with every path of a JSON value and what stands there; stops where it says false.
pub(super) fn walk(value: &Value, visit: &mut impl FnMut(&str, &Value) -> bool) {
    step(value, &mut String::new(), 0, visit);
}

fn step(
    value: &Value,
    path: &mut String,
    depth: usize,
    visit: &mut impl FnMut(&str, &Value) -> bool,
) -> bool {
    if !path.is_empty() && !visit(path, value) {
        return false;
    }
    if depth >= DEEPEST || path.len() > LONGEST_PATH {
        return true;
    }
    let length = path.len();
    let mut go = |name: &str, inner: &Value, path: &mut String| {
        path.push_str(name);
        let on = step(inner, path, depth + 1, visit);
        path.truncate(length);
        on
    };
    match value {
        Value::Object(map) => {
            let dot = if length == 0 { "" } else { "." };
            map.iter().all(|(name, inner)| go(&format!("{dot}{name}"), inner, path))
        }
        Value::Array(items) => items.iter().all(|inner| go("[]", inner, path)),
        _ => true,
    }
}

/// All terms of an event, at most [`MOST_TERMS`].
pub fn of_event(known: &[&str], headers: &[Header], body: &[u8]) -> Vec<i64> {
    let mut terms = BTreeSet::new();
    for value in known {
        terms.insert(term("k", "", Some(value)));
    }
    for (name, value) in headers {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        terms.insert(term("h", &name, None));
        if let Ok(value) = std::str::from_utf8(value) {
            terms.insert(term("h", &name, Some(value)));
        }
    }
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        walk(&json, &mut |path, value| {
            terms.insert(term("b", path, None));
            if let Some(text) = scalar(value) {
                terms.insert(term("b", path, Some(&text)));
            }
            terms.len() < MOST_TERMS
        });
    }
    terms.into_iter().take(MOST_TERMS).collect()
}
