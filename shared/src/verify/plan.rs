//! From what a source writes as its `verifier` to the tables that are compiled: presets are looked
//! up, the keys beside them laid over, alternatives and combinations kept apart.

use super::presets;
use super::settings::Fault;
use serde_json::{Map, Value};

/// How deep combinations may be nested.
const MAX_DEPTH: usize = 4;

#[derive(Debug)]
pub(super) enum Plan {
    /// The first one that a request is meant for decides.
    FirstOf(Vec<Table>),
    All(Vec<Plan>),
    Any(Vec<Plan>),
}

/// One table and where it came from.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) path: String,
    pub(super) map: Map<String, Value>,
    pub(super) preset: Option<&'static str>,
}

impl Plan {
    pub(super) fn tables(&self) -> Vec<&Table> {
        match self {
            Self::FirstOf(tables) => tables.iter().collect(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::tables).collect(),
        }
    }
}

/// Resolves a `verifier` value. `path` is its key path.
pub(super) fn resolve(value: &Value, path: &str) -> Result<Plan, Fault> {
    resolve_at(value, path, 0)
}

fn resolve_at(value: &Value, path: &str, depth: usize) -> Result<Plan, Fault> {
    if depth > MAX_DEPTH {
        return Err(fault(path, "is nested too deeply"));
    }
    match value {
        Value::String(name) => named(name, path).map(Plan::FirstOf),
        Value::Object(map) if map.contains_key("combine") => combined(map, path, depth),
        Value::Object(map) => table(map, path).map(Plan::FirstOf),
        Value::Array(list) if !list.is_empty() => {
            let mut tables = Vec::new();
            for (number, item) in list.iter().enumerate() {
                match resolve_at(item, &format!("{path}[{number}]"), depth + 1)? {
                    Plan::FirstOf(more) => tables.extend(more),
                    Plan::All(_) | Plan::Any(_) => {
                        return Err(fault(path, "a list of alternatives cannot hold a combination"));
                    }
                }
            }
            Ok(Plan::FirstOf(tables))
        }
        _ => Err(fault(path, "must be a preset's name, a table or a list of tables")),
    }
}

fn fault(path: &str, message: impl Into<String>) -> Fault {
    Fault { key: path.to_owned(), message: message.into() }
}

fn named(name: &str, path: &str) -> Result<Vec<Table>, Fault> {
    let preset = presets::preset(name).ok_or_else(|| fault(path, format!("there is no preset `{name}`")))?;
    let bare = |value: &Value| match value {
        Value::Object(map) => {
            Some(Table { path: path.to_owned(), map: map.clone(), preset: Some(preset.name) })
        }
        _ => None,
    };
    Ok(match preset.verifier {
        Value::Array(list) => list.iter().filter_map(bare).collect(),
        one => bare(one).into_iter().collect(),
    })
}

fn table(map: &Map<String, Value>, path: &str) -> Result<Vec<Table>, Fault> {
    let mut tables = match map.get("preset") {
        None => return Ok(vec![Table { path: path.to_owned(), map: map.clone(), preset: None }]),
        Some(Value::String(name)) => named(name, &format!("{path}.preset"))?,
        Some(_) => return Err(fault(&format!("{path}.preset"), "must be a text")),
    };
    for table in &mut tables {
        path.clone_into(&mut table.path);
        lay_over(&mut table.map, map);
    }
    Ok(tables)
}

/// Keys beside `preset` replace the preset's; inside a table (`timestamp`, `key`, `ack`) key by key.
/// `null` takes a key away.
fn lay_over(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over.iter().filter(|(key, _)| *key != "preset") {
        match (base.get_mut(key), value) {
            (_, Value::Null) => {
                base.remove(key);
            }
            (Some(Value::Object(inner)), Value::Object(more)) if key != "only_if" => {
                inner.extend(more.clone());
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

fn combined(map: &Map<String, Value>, path: &str, depth: usize) -> Result<Plan, Fault> {
    if let Some(other) = map.keys().find(|key| !matches!(key.as_str(), "combine" | "of")) {
        return Err(fault(&format!("{path}.{other}"), "is not a key of a combination (`combine`, `of`)"));
    }
    let Some(Value::Array(of)) = map.get("of").filter(|of| of.as_array().is_some_and(|of| of.len() > 1))
    else {
        return Err(fault(&format!("{path}.of"), "must be a list of at least two verifiers"));
    };
    let parts = of
        .iter()
        .enumerate()
        .map(|(number, part)| resolve_at(part, &format!("{path}.of[{number}]"), depth + 1))
        .collect::<Result<Vec<Plan>, Fault>>()?;
    match map.get("combine").and_then(Value::as_str) {
        Some("all") => Ok(Plan::All(parts)),
        Some("any") => Ok(Plan::Any(parts)),
        _ => Err(fault(&format!("{path}.combine"), "must be all or any")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_beside_a_preset_replace_its_own_one_by_one() {
        let plan =
            resolve(&json!({"preset": "stripe", "timestamp": {"max_future": 300}, "id": null}), "verifier");
        let plan = plan.unwrap();
        let table = plan.tables()[0];
        assert_eq!(
            table.map["timestamp"],
            json!({"from": "signature", "unit": "s", "max_age": 300, "max_future": 300})
        );
        assert!(!table.map.contains_key("id"));
        assert_eq!(table.preset, Some("stripe"));
    }

    #[test]
    fn what_cannot_be_resolved_names_its_key() {
        for (value, key) in [
            (json!("nobody"), "verifier"),
            (json!({"preset": "nobody"}), "verifier.preset"),
            (json!([{"preset": "stripe"}, 7]), "verifier[1]"),
            (json!({"combine": "some", "of": ["stripe", "github"]}), "verifier.combine"),
            (json!({"combine": "all", "of": ["stripe"]}), "verifier.of"),
            (json!(null), "verifier"),
        ] {
            assert_eq!(resolve(&value, "verifier").unwrap_err().key, key);
        }
    }
}
