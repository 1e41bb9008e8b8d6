//! Every key of every preset matters: with any one of them changed, a recorded request gets another
//! verdict, or something that is written down about the preset no longer holds.

use super::{presets, vectors};
use crate::verify;
use serde_json::{Value, json};

/// A changed copy, where it was changed, and what stood there.
struct Mutant {
    at: String,
    value: Value,
    was: Value,
}

/// Every copy of a value with one thing in it changed or taken away.
fn mutants(value: &Value) -> Vec<Mutant> {
    let mut found = Vec::new();
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let mut without = map.clone();
                without.remove(key);
                found.push(Mutant {
                    at: format!("-{key}"),
                    value: Value::Object(without),
                    was: inner.clone(),
                });
                for mutant in changed(key, inner) {
                    let mut with = map.clone();
                    with.insert(key.clone(), mutant.value);
                    let at = format!("{key}{}", mutant.at);
                    found.push(Mutant { at, value: Value::Object(with), was: mutant.was });
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                let mut without = list.clone();
                without.remove(index);
                found.push(Mutant {
                    at: format!("[-{index}]"),
                    value: Value::Array(without),
                    was: inner.clone(),
                });
                for mutant in changed("", inner) {
                    let mut with = list.clone();
                    with[index] = mutant.value;
                    let at = format!("[{index}]{}", mutant.at);
                    found.push(Mutant { at, value: Value::Array(with), was: mutant.was });
                }
            }
        }
        _ => {}
    }
    found
}

fn changed(key: &str, value: &Value) -> Vec<Mutant> {
    let plain = |values: Vec<Value>| {
        let mutant = |to: Value| Mutant { at: format!("={to}"), value: to, was: value.clone() };
        values.into_iter().filter(|to| to != value).map(mutant).collect::<Vec<Mutant>>()
    };
    match value {
        Value::Object(_) | Value::Array(_) => mutants(value)
            .into_iter()
            .map(|mutant| Mutant { at: format!(".{}", mutant.at), ..mutant })
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

/// Why a scheme means the same after a change, where it does.
fn is_harmless(preset: &Value, mutant: &Mutant) -> Option<&'static str> {
    let (at, was) = (mutant.at.as_str(), &mutant.was);
    let ends = |end: &str| at.ends_with(end);
    // How a key is made of a secret has other defaults.
    let of_signature = !at.contains("key.");
    Some(match () {
        () if ends("timestamp.-unit") && was == "s" => "seconds are the default",
        () if ends("-encoding") && of_signature && was == "hex" => "hexadecimal digits are the default",
        () if ends("encoding=\"base64url\"") && of_signature && was == "base64" => {
            "takes the standard alphabet too"
        }
        () if ends("timestamp.-max_age") && *was == 300 => "300 seconds are the default",
        () if ends("timestamp.-max_future") && *was == preset["timestamp"]["max_age"] => {
            "max_age is the default"
        }
        () if ends("respond.-status") && *was == 200 => "200 is the default of an answer",
        () if ends("ack.-status") && *was == 200 => "200 is the default of a named provider",
        () if ends("respond.-body") && was == "" => "an empty body is the default of an answer",
        () => return None,
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
    let (mut tried, mut harmless) = (0, 0);
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
            if !is_noticed(preset.name, &own, &mutant.value) {
                match is_harmless(preset.verifier, &mutant) {
                    Some(_) => harmless += 1,
                    None => survivors.push(format!("{}: {}", preset.name, mutant.at)),
                }
            }
        }
    }
    assert!(tried > 1000, "only {tried} changes were tried");
    assert!(harmless < tried / 20, "{harmless} of {tried} changes make no difference");
    assert!(
        survivors.is_empty(),
        "{} of {tried} changes are not noticed:\n{}",
        survivors.len(),
        survivors.join("\n")
    );
}
