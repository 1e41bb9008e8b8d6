//! Every key of every preset matters: with any one of them changed, a recorded request gets another
//! verdict, or something that is written down about the preset no longer holds.

use super::{presets, vectors};
use crate::verify;
use serde_json::{Value, json};

/// A changed copy and where it was changed.
struct Mutant {
    at: String,
    value: Value,
}

/// Every copy of a value with one thing in it changed or taken away.
fn mutants(value: &Value) -> Vec<Mutant> {
    let mut found = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let mut without = map.clone();
                without.remove(key);
                found.push(Mutant { at: format!("-{key}"), value: Value::Object(without) });
                for mutant in changed(key, inner) {
                    let mut with = map.clone();
                    with.insert(key.clone(), mutant.value);
                    found.push(Mutant { at: format!("{key}{}", mutant.at), value: Value::Object(with) });
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                let mut without = list.clone();
                without.remove(index);
                found.push(Mutant { at: format!("[-{index}]"), value: Value::Array(without) });
                for mutant in changed("", inner) {
                    let mut with = list.clone();
                    with[index] = mutant.value;
                    found.push(Mutant { at: format!("[{index}]{}", mutant.at), value: Value::Array(with) });
                }
            }
        }
        _ => {}
    }
    found
}

fn changed(key: &str, value: &Value) -> Vec<Mutant> {
    let plain = |values: Vec<Value>| {
        let mutant = |value: Value| Mutant { at: format!("={value}"), value };
        values.into_iter().map(mutant).collect::<Vec<Mutant>>()
    };
    match value {
        Value::Object(_) | Value::Array(_) => mutants(value)
            .into_iter()
            .map(|mutant| Mutant { at: format!(".{}", mutant.at), value: mutant.value })
            .collect(),
        Value::Bool(flag) => plain(vec![json!(!flag)]),
        Value::Null => plain(vec![json!(7)]),
        Value::Number(number) => plain(vec![json!(number.as_i64().unwrap() + 1), Value::Null]),
        Value::String(text) => plain(other_texts(key, text)),
    }
}

/// Values that could stand there instead.
fn other_texts(key: &str, text: &str) -> Vec<Value> {
    let among = |choices: &[&str]| choices.iter().filter(|c| **c != text).map(|c| json!(c)).collect();
    match key {
        "encoding" => among(&["hex", "base64", "base64url", "utf8"]),
        "algorithm" if text.starts_with("sha") => among(&["sha1", "sha256", "sha512"]),
        "algorithm" => among(&["HS256", "ES256"]),
        "unit" => among(&["s", "ms", "rfc3339", "http_date"]),
        "split" => among(&[" ", ",", ";"]),
        "method" => among(&["GET", "POST", "OPTIONS"]),
        "body_size_limit" => among(&["1MiB"]),
        _ => vec![json!(format!("{text}x")), json!(format!("x{text}")), json!("")],
    }
}

/// Changes after which a scheme means the same, and why.
fn is_harmless(preset: &str, at: &str) -> Option<&'static str> {
    let ends = |end: &str| at.ends_with(end);
    Some(match preset {
        _ if ends("-unit") => "seconds are the default",
        _ if ends("-encoding") => "hexadecimal digits are the default of a signature",
        _ if ends("encoding=\"base64url\"") => "takes the standard alphabet too",
        _ if ends("timestamp.-max_age") => "300 seconds are the default",
        _ if ends("timestamp.-max_future") => "equals max_age, its default",
        _ if ends("-status") || ends("respond.-body") || ends("respond.body=\"\"") => {
            "200 and an empty body are the default"
        }
        _ => return None,
    })
}

fn is_noticed(preset: &str, vectors: &[vectors::Vector], mutant: &Value) -> bool {
    vectors.iter().any(|vector| vector.complaint_under(mutant).is_some())
        || !presets::complaints(preset, mutant).is_empty()
}

#[test]
fn changing_any_key_of_any_preset_is_noticed() {
    let vectors = vectors::all();
    let mut survivors = Vec::new();
    let mut tried = 0;
    for preset in verify::presets().filter(|preset| preset.alias_of.is_none()) {
        let names: Vec<&str> = verify::presets()
            .filter(|other| other.name == preset.name || other.alias_of == Some(preset.name))
            .map(|other| other.name)
            .collect();
        let own = |vector: &&vectors::Vector| {
            vector.recorded.provider.as_deref().is_some_and(|provider| names.contains(&provider))
        };
        let own: Vec<vectors::Vector> = vectors.iter().filter(own).cloned().collect();
        for mutant in mutants(preset.verifier) {
            tried += 1;
            if !is_noticed(preset.name, &own, &mutant.value) && is_harmless(preset.name, &mutant.at).is_none()
            {
                survivors.push(format!("{}: {}", preset.name, mutant.at));
            }
        }
    }
    assert!(tried > 1000, "only {tried} changes were tried");
    assert!(
        survivors.is_empty(),
        "{} of {tried} changes are not noticed:\n{}",
        survivors.len(),
        survivors.join("\n")
    );
}
