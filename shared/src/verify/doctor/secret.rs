//! Mistakes in the secret: how it was copied, and whose it is.

use super::{Case, Trial};
use crate::Secret;
use crate::verify::settings::Settings;

/// The source's own secrets, cleaned of what copying adds.
pub(super) fn trials(case: &Case<'_>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (number, secret) in case.settings.secrets.iter().enumerate() {
        let name = match case.settings.secrets.len() {
            1 => "The configured secret".to_owned(),
            _ => format!("Secret {} of the source", number + 1),
        };
        let mut add = |text: &str, what: &str| {
            if text != secret.expose() && !text.is_empty() {
                let settings = with_secret(case.settings, Secret::from(text));
                trials.push(Trial::settings(settings, format!("{name} {what}.")));
            }
        };
        let text = secret.expose();
        let trimmed = text.trim();
        add(trimmed, white_space(text));
        let bare = unquoted(trimmed);
        add(
            if bare == trimmed { text } else { bare },
            "stands in quotes, which are not part of it: it matches without them",
        );
        add(
            &format!("{text}\n"),
            "lacks a line break at the end that the sender's has: the sender signs with it",
        );
        add(&unescaped(text), "has escapes such as \\n in it that should be the characters themselves");
        for word in ["Bearer ", "whsec_", "v1,whsec_", "secret_", "sha256="] {
            if let Some(rest) = text.strip_prefix(word) {
                add(
                    rest,
                    &format!("begins with `{word}`, which is not part of the key here: it matches without"),
                );
            }
        }
        add(&format!("whsec_{text}"), "lacks the `whsec_` it begins with at the provider");
    }
    trials
}

/// The secrets of other sources under this source's scheme.
pub(super) fn of_others(case: &Case<'_>) -> Vec<Trial> {
    case.others
        .iter()
        .filter(|(_, secret)| !case.settings.secrets.contains(secret))
        .map(|(source, secret)| {
            let settings = with_secret(case.settings, secret.clone());
            Trial::settings(settings, format!("It is signed with the secret of source `{source}`, not with this source's (another endpoint's, or test against live)."))
        })
        .collect()
}

fn with_secret(settings: &Settings, secret: Secret) -> Settings {
    Settings { secrets: vec![secret], ..settings.clone() }
}

fn white_space(text: &str) -> &'static str {
    if text.ends_with(['\n', '\r']) {
        "ends in a line break that is not part of it: it matches without"
    } else {
        "has white space around it that is not part of it: it matches without"
    }
}

fn unquoted(text: &str) -> &str {
    ["\"", "'", "`"].iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t")
}
