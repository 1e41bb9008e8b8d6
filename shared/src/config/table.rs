//! Reads typed values out of one mapping of the configuration, remembering every fault instead of
//! stopping at the first, and which keys were asked for, so that the others can be refused by name.

use super::values::{self, Env};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::time::Duration;

/// One thing wrong with the configuration. `key` is the dotted path of the key it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub key: String,
    pub message: String,
}

/// Where faults are collected while a configuration is read.
#[derive(Debug, Default)]
pub struct Faults(RefCell<Vec<Fault>>);

impl Faults {
    pub fn add(&self, key: impl Into<String>, message: impl Into<String>) {
        self.0.borrow_mut().push(Fault { key: key.into(), message: message.into() });
    }

    pub fn into_vec(self) -> Vec<Fault> {
        self.0.into_inner()
    }
}

/// A mapping under `path`, whose values are read by key.
pub struct Table<'a> {
    path: String,
    map: &'a Map<String, Value>,
    env: Env<'a>,
    faults: &'a Faults,
    known: RefCell<Vec<&'static str>>,
}

static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'a> Table<'a> {
    /// `value` absent or null is an empty table; anything but a mapping is a fault.
    pub fn new(path: impl Into<String>, value: Option<&'a Value>, env: Env<'a>, faults: &'a Faults) -> Self {
        let path = path.into();
        let map = match value {
            Some(Value::Object(map)) => map,
            None | Some(Value::Null) => &EMPTY,
            Some(other) => {
                faults.add(path.as_str(), format!("must be a mapping of keys, not {}", kind(other)));
                &EMPTY
            }
        };
        Self { path, map, env, faults, known: RefCell::default() }
    }

    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub fn fault(&self, key: &str, message: impl Into<String>) {
        self.faults.add(self.key(key), message);
    }

    pub fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// Marks a key as known without reading it: it belongs to another service.
    pub fn skip(&self, keys: &[&'static str]) {
        self.known.borrow_mut().extend_from_slice(keys);
    }

    /// The value as it stands, variables in it replaced. None where it is absent or null.
    pub fn value(&self, key: &'static str) -> Option<Value> {
        self.known.borrow_mut().push(key);
        let value = self.map.get(key).filter(|value| !value.is_null())?;
        resolve(value, self.env).map_err(|fault| self.fault(&format!("{key}{}", fault.0), fault.1)).ok()
    }

    /// The value untouched, for tables that are read by a table of their own.
    pub fn raw(&self, key: &'static str) -> Option<&'a Value> {
        self.known.borrow_mut().push(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub fn text(&self, key: &'static str) -> Option<String> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            other => {
                self.fault(key, format!("must be a text, not {}", kind(&other)));
                None
            }
        }
    }

    pub fn parsed<T>(&self, key: &'static str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text(key)?;
        parse(&text).map_err(|message| self.fault(key, message)).ok()
    }

    pub fn duration(&self, key: &'static str) -> Option<Duration> {
        self.parsed(key, values::duration)
    }

    pub fn size(&self, key: &'static str) -> Option<u64> {
        self.parsed(key, values::size)
    }

    pub fn count(&self, key: &'static str, least: u64, most: u64) -> Option<u64> {
        self.parsed(key, |text| match text.parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!("must be a whole number from {least} to {most}, not `{text}`")),
        })
    }

    pub fn flag(&self, key: &'static str) -> Option<bool> {
        self.parsed(key, |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(format!("must be true or false, not `{text}`")),
        })
    }

    /// A list of texts; one text alone counts as a list of one.
    pub fn texts(&self, key: &'static str) -> Option<Vec<String>> {
        let items = match self.value(key)? {
            Value::Array(items) => items,
            one @ (Value::String(_) | Value::Number(_)) => vec![one],
            other => {
                self.fault(key, format!("must be a list, not {}", kind(&other)));
                return None;
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text),
                Value::Number(number) => texts.push(number.to_string()),
                other => {
                    self.fault(&format!("{key}[{index}]"), format!("must be a text, not {}", kind(&other)));
                }
            }
        }
        Some(texts)
    }

    pub fn table(&self, key: &'static str) -> Table<'a> {
        Table::new(self.key(key), self.raw(key), self.env, self.faults)
    }

    pub fn env(&self) -> Env<'a> {
        self.env
    }

    /// Refuses every key that nobody asked for.
    pub fn finish(self) {
        let known = self.known.borrow();
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            self.faults.add(
                self.key(key),
                format!("is not a key that is known here; known are: {}", sorted(&known)),
            );
        }
    }
}

fn sorted(known: &[&'static str]) -> String {
    let mut names = known.to_vec();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// Replaces variables in every text of a value. The error names the place below the value.
fn resolve(value: &Value, env: Env<'_>) -> Result<Value, (String, String)> {
    Ok(match value {
        Value::String(text) => {
            Value::String(values::interpolate(text, env).map_err(|message| (String::new(), message))?)
        }
        Value::Array(items) => {
            let mut out = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                out.push(resolve(item, env).map_err(|(at, m)| (format!("[{index}]{at}"), m))?);
            }
            Value::Array(out)
        }
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, item) in map {
                out.insert(key.clone(), resolve(item, env).map_err(|(at, m)| (format!(".{key}{at}"), m))?);
            }
            Value::Object(out)
        }
        other => other.clone(),
    })
}

pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
