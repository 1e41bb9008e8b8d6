//! What the configuration says about each source, as the hub needs it.

use crate::hub::SourceRules;
use hooks_shared::Config;
use hooks_shared::config::{DEFAULT_SKEW, SYSTEM_SOURCE, effective_skew};
use hooks_shared::verify::max_age;
use std::collections::HashMap;

/// Every known source: the configured ones and the relay's own. The error names the source and the key.
pub fn of(config: &Config) -> Result<HashMap<String, SourceRules>, String> {
    let own = SourceRules { skew: DEFAULT_SKEW, paused: false };
    let mut rules = HashMap::from([(SYSTEM_SOURCE.to_owned(), own)]);
    for source in config.sources.values() {
        let own_max_age =
            max_age(&source.verifier).map_err(|fault| format!("sources.{}.{fault}", source.name))?;
        let skew = effective_skew(source, own_max_age);
        rules.insert(source.name.clone(), SourceRules { skew, paused: source.paused });
    }
    Ok(rules)
}
