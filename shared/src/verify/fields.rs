//! Reading a table of the configuration key by key: every fault is collected with its path, and
//! keys that nobody asked for are faults too.

use super::settings::Fault;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// All faults and warnings of one source, as they are found.
#[derive(Debug, Default)]
pub(super) struct Report {
    faults: RefCell<Vec<Fault>>,
    warnings: RefCell<Vec<String>>,
    /// Those that say of a part of the verifier that it leaves the body open.
    bare_bodies: RefCell<Vec<String>>,
}

impl Report {
    pub(super) fn fault(&self, key: impl Into<String>, message: impl Into<String>) {
        let fault = Fault { key: key.into(), message: message.into() };
        if !self.faults.borrow().contains(&fault) {
            self.faults.borrow_mut().push(fault);
        }
    }

    pub(super) fn warn(&self, message: impl Into<String>) {
        once(&self.warnings, message.into());
    }

    /// A warning that falls away where another part of the verifier covers the body.
    pub(super) fn warn_of_bare_body(&self, message: impl Into<String>) {
        once(&self.bare_bodies, message.into());
    }

    /// How many of [`Self::warn_of_bare_body`] there are.
    pub(super) fn bare_bodies(&self) -> usize {
        self.bare_bodies.borrow().len()
    }

    /// Takes back those that came after the first `kept`.
    pub(super) fn body_is_covered(&self, kept: usize) {
        self.bare_bodies.borrow_mut().truncate(kept);
    }

    pub(super) fn into_parts(self) -> (Vec<Fault>, Vec<String>) {
        let mut warnings = self.warnings.into_inner();
        warnings.extend(self.bare_bodies.into_inner());
        (self.faults.into_inner(), warnings)
    }
}

fn once(warnings: &RefCell<Vec<String>>, message: String) {
    if !warnings.borrow().contains(&message) {
        warnings.borrow_mut().push(message);
    }
}

pub(super) struct Fields<'a> {
    path: String,
    map: &'a Map<String, Value>,
    asked: RefCell<BTreeSet<String>>,
    report: &'a Report,
}

impl<'a> Fields<'a> {
    pub(super) fn new(path: impl Into<String>, map: &'a Map<String, Value>, report: &'a Report) -> Self {
        Self { path: path.into(), map, asked: RefCell::default(), report }
    }

    pub(super) fn report(&self) -> &'a Report {
        self.report
    }

    /// The value of a key, `null` included.
    pub(super) fn raw(&self, key: &str) -> Option<&'a Value> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.map.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(super) fn fault(&self, key: &str, message: impl Into<String>) {
        self.report.fault(self.path_of(key), message);
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        match self.raw(key)? {
            Value::String(text) => Some(text),
            _ => {
                self.fault(key, "must be a text");
                None
            }
        }
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.raw(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => {
                self.fault(key, "must be true or false");
                None
            }
        }
    }

    /// A text, or a list of texts.
    pub(super) fn texts(&self, key: &str) -> Vec<&'a str> {
        match self.raw(key) {
            None => Vec::new(),
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                list.iter().filter_map(Value::as_str).collect()
            }
            Some(_) => {
                self.fault(key, "must be a text or a list of texts");
                Vec::new()
            }
        }
    }

    /// A table inside this one. Its own keys are checked when it is finished.
    pub(super) fn table(&self, key: &str) -> Option<Fields<'a>> {
        match self.raw(key)? {
            Value::Object(map) => Some(Fields::new(self.path_of(key), map, self.report)),
            _ => {
                self.fault(key, "must be a table");
                None
            }
        }
    }

    /// A text that stands for a value, or the default when the key is absent.
    pub(super) fn named<T>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        choices: &str,
    ) -> Option<T> {
        let text = self.text(key)?;
        let value = parse(text);
        if value.is_none() {
            self.fault(key, format!("`{text}` is not one of {choices}"));
        }
        value
    }

    /// Every text of a key through a parser.
    pub(super) fn parsed<T>(&self, key: &str, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        self.texts(key)
            .into_iter()
            .filter_map(|text| parse(text).map_err(|message| self.fault(key, message)).ok())
            .collect()
    }

    /// To be called last: reports the keys that were not asked for.
    pub(super) fn finish(self) {
        for key in self.map.keys().filter(|key| !self.asked.borrow().contains(*key)) {
            self.fault(key, "is not a key of this scheme");
        }
    }
}
