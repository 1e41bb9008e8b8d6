//! The schemes of named providers, written in the form itself. The data is `presets.json`, one
//! entry a provider; this file only reads it.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    title: String,
    alias: Option<String>,
    verify: Option<Value>,
}

static ENTRIES: LazyLock<BTreeMap<String, Entry>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("presets.json"))
        .unwrap_or_else(|error| unreachable!("presets.json is part of the build and tested: {error}"))
});

/// One provider's scheme.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// As written in `verifier:`.
    pub name: &'static str,
    /// As the provider writes its own name.
    pub title: &'static str,
    /// The preset this one is another name of.
    pub alias_of: Option<&'static str>,
    /// A table of the form, or a list of alternatives.
    pub verifier: &'static Value,
}

/// Every preset, by name.
pub fn presets() -> impl Iterator<Item = Preset> {
    ENTRIES.keys().filter_map(|name| preset(name))
}

/// A preset by its name or an alias; `-` may stand for `_`.
pub fn preset(name: &str) -> Option<Preset> {
    let (key, entry) = ENTRIES.get_key_value(name.replace('-', "_").as_str())?;
    let target = match &entry.alias {
        Some(target) => ENTRIES.get(target)?,
        None => entry,
    };
    Some(Preset {
        name: key,
        title: &entry.title,
        alias_of: entry.alias.as_deref(),
        verifier: target.verify.as_ref()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_a_scheme_or_an_alias_of_one() {
        for (name, entry) in ENTRIES.iter() {
            assert!(entry.alias.is_some() != entry.verify.is_some(), "{name}");
            assert!(preset(name).is_some(), "{name} leads nowhere");
        }
        assert_eq!(presets().count(), ENTRIES.len());
        assert_eq!(preset("aws-sns").and_then(|p| p.alias_of), Some("sns"));
    }
}
