//! What is known of the configured sources without their secrets: how they verify, and what in their requests is a
//! credential, to be masked wherever people look.

use hooks_shared::Config;
use hooks_shared::Secret;
use hooks_shared::config::Source;
use hooks_shared::event::Header;
use hooks_shared::verify::{
    Verifier, credential_headers, credential_parameters, is_telling_header, is_telling_parameter,
};
use std::collections::BTreeMap;

/// Reads as hex, as base64 and as text, so that every scheme compiles with it; nothing is ever verified with it.
const NO_SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub const MASK: &str = "••••••••";

/// One source.
#[derive(Debug, Clone, Default)]
pub struct Scheme {
    /// The preset's name, or `custom`.
    pub verifier: String,
    /// One line for each way of checking.
    pub what: Vec<String>,
    pub body_protected: bool,
    pub time_protected: bool,
    pub handshakes: Vec<&'static str>,
    headers: Vec<String>,
    parameters: Vec<String>,
}

/// All configured sources.
#[derive(Debug, Clone, Default)]
pub struct Schemes(BTreeMap<String, Scheme>);

impl Schemes {
    pub fn of(config: &Config) -> Self {
        Self(config.sources.values().map(|source| (source.name.clone(), scheme(source, config))).collect())
    }

    pub fn get(&self, source: &str) -> Option<&Scheme> {
        self.0.get(source)
    }

    /// Whether a header's value is not to be shown.
    pub fn hides_header(&self, source: &str, name: &str) -> bool {
        let own = self.get(source).is_some_and(|s| s.headers.iter().any(|h| h.eq_ignore_ascii_case(name)));
        own || is_telling_header(name)
    }

    /// Whether a query parameter's value is not to be shown.
    pub fn hides_parameter(&self, source: &str, name: &str) -> bool {
        let own = self.get(source).is_some_and(|s| s.parameters.iter().any(|p| p.eq_ignore_ascii_case(name)));
        own || is_telling_parameter(name)
    }

    /// A header as people may see it.
    pub fn shown(&self, source: &str, (name, value): &Header) -> (String, String) {
        let name = String::from_utf8_lossy(name).into_owned();
        let value = match self.hides_header(source, &name) {
            true => MASK.to_owned(),
            false => String::from_utf8_lossy(value).into_owned(),
        };
        (name, value)
    }

    /// Path and query as people may see them.
    pub fn shown_target(&self, source: &str, target: &[u8]) -> String {
        let text = String::from_utf8_lossy(target).into_owned();
        let Some((path, query)) = text.split_once('?') else { return text };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if self.hides_parameter(source, &decoded(name)) => format!("{name}={MASK}"),
            _ => pair.to_owned(),
        });
        format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
    }
}

/// A parameter's name as the receiver reads it: `access%5Ftoken` is one of the telling ones too.
fn decoded(name: &str) -> String {
    let spaced = name.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

fn scheme(source: &Source, config: &Config) -> Scheme {
    let verifier = source.verifier.as_str().unwrap_or("custom").to_owned();
    let mut settings = source.verification(config);
    settings.secrets = vec![Secret::new(NO_SECRET)];
    settings.verify_token = Some(Secret::new(NO_SECRET));
    let credentials = Scheme {
        headers: credential_headers(&source.verifier),
        parameters: credential_parameters(&source.verifier),
        ..Scheme::default()
    };
    let Ok(compiled) = Verifier::compile(&settings) else { return Scheme { verifier, ..credentials } };
    let compiled = compiled.verifier;
    let summary = compiled.summary();
    Scheme {
        verifier: compiled.preset().map_or(verifier, str::to_owned),
        what: summary.iter().map(|one| one.what.clone()).collect(),
        body_protected: summary.iter().all(|one| one.body_protected),
        time_protected: summary.iter().all(|one| one.time_protected),
        handshakes: summary.iter().flat_map(|one| one.handshakes.iter().copied()).collect(),
        ..credentials
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_masked_wherever_they_stand() {
        let schemes = Schemes::default();
        let shown = |name: &str| schemes.shown("s", &(name.as_bytes().to_vec(), b"value".to_vec())).1;
        for name in ["Authorization", "COOKIE", "X-Gitlab-Token", "x-api-key", "Client-Secret"] {
            assert_eq!(shown(name), MASK, "{name}");
        }
        assert_eq!(shown("X-Event"), "value");
        let target = schemes.shown_target("s", b"/ingest/s?token=abc&a=1&KEY=x");
        assert_eq!(target, format!("/ingest/s?token={MASK}&a=1&KEY={MASK}"));
        let target = schemes.shown_target("s", b"/ingest/s?access%5Ftoken=abc&%6Bey=x&a%20b=%41&%zz=1");
        assert_eq!(target, format!("/ingest/s?access%5Ftoken={MASK}&%6Bey={MASK}&a%20b=%41&%zz=1"));
    }
}
