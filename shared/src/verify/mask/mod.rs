//! Taking credentials out of a request before it is shown to people.

mod body;

use super::credentials::sources as credential_sources;
use super::presets::presets;
use super::recorded::Parts;
use super::settings::Settings;
use super::source::Source;
use std::sync::LazyLock;

/// What stands in the place of a credential.
const MASK: &[u8] = b"***";

/// Headers whose value is a credential in any scheme.
const ALWAYS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// What is a credential in any scheme that is known: a request may have come to the wrong source.
static KNOWN: LazyLock<Vec<Source>> =
    LazyLock::new(|| presets().flat_map(|preset| credential_sources(preset.verifier)).collect());

/// Masks what the scheme or any other that is known reads as a credential, in headers, query and body, what
/// always is one, and the source's own secrets wherever they stand.
pub fn credentials(request: &mut Parts, settings: &Settings) {
    let mut sources = credential_sources(&settings.verifier);
    sources.extend(KNOWN.iter().cloned());
    for (name, value) in &mut request.headers {
        if is_always(name) || sources.iter().any(|source| is_header(source, name)) {
            *value = MASK.to_vec();
        }
    }
    let named =
        |pick: fn(&Source) -> Option<&str>| -> Vec<&str> { sources.iter().filter_map(pick).collect() };
    let query = named(|source| if let Source::Query(name) = source { Some(name) } else { None });
    if let Some((path, text)) = request.target.split_once('?').filter(|_| !query.is_empty()) {
        let text = body::pairs(text.as_bytes(), &query);
        request.target = format!("{path}?{}", String::from_utf8_lossy(&text));
    }
    let form = named(|source| if let Source::Form(name) = source { Some(name) } else { None });
    if !form.is_empty() {
        request.body = body::pairs(&request.body, &form);
    }
    // One that is found by its place alone has no name to be found by.
    let json = named(|source| {
        if let Source::Json(pointer) = source { Some(pointer.last_name().unwrap_or_default()) } else { None }
    });
    if json.contains(&"") {
        request.body = MASK.to_vec();
    } else if !json.is_empty() {
        request.body = body::json(&request.body, &json);
    }
    own_secrets(request, settings);
}

fn is_always(header: &[u8]) -> bool {
    ALWAYS.iter().any(|name| header.eq_ignore_ascii_case(name.as_bytes()))
}

fn is_header(source: &Source, header: &[u8]) -> bool {
    match source {
        Source::Header(name) => header.eq_ignore_ascii_case(name.as_bytes()),
        Source::HeaderFamily(stem) => {
            header.get(..stem.len()).is_some_and(|start| start.eq_ignore_ascii_case(stem.as_bytes()))
        }
        Source::Query(_) | Source::Form(_) | Source::Json(_) | Source::Claim(_) => false,
    }
}

fn same_name(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

fn own_secrets(request: &mut Parts, settings: &Settings) {
    let secrets = settings.secrets.iter().chain(&settings.verify_token);
    // A shorter text stands in many places by chance, and masking them would show where.
    for secret in secrets.filter(|secret| secret.expose().len() >= 8) {
        let secret = secret.expose().as_bytes();
        request.body = without(&request.body, secret);
        for (_, value) in &mut request.headers {
            *value = without(value, secret);
        }
        request.target = String::from_utf8_lossy(&without(request.target.as_bytes(), secret)).into_owned();
    }
}

fn without(text: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        match rest.strip_prefix(secret) {
            Some(tail) => {
                out.extend_from_slice(MASK);
                rest = tail;
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use serde_json::json;

    #[test]
    fn credentials_are_masked_wherever_they_stand() {
        let settings = Settings {
            verifier: json!("cloudevents"),
            secrets: vec![Secret::from("the-secret-token")],
            ..Settings::default()
        };
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let mut request = Parts {
            method: "POST".into(),
            target: "/in?access_token=some-other-token&x=the-secret-token".into(),
            headers: vec![pair("AUTHORIZATION", "Bearer x"), pair("X-Other", "a the-secret-token b")],
            body: b"{\"token\":\"the-secret-token\"}".to_vec(),
            remote_addr: None,
        };
        super::credentials(&mut request, &settings);
        assert_eq!(request.target, "/in?access_token=***&x=***");
        assert_eq!(request.headers, [pair("AUTHORIZATION", "***"), pair("X-Other", "a *** b")]);
        assert_eq!(request.body, b"{\"token\":\"***\"}");
    }

    #[test]
    fn credentials_that_came_to_the_wrong_source_are_masked_too() {
        let settings = Settings { verifier: json!("github"), ..Settings::default() };
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let body = br#"{"value":[{"clientState":"of-graph"}], "a": 1}"#;
        let mut request = Parts {
            method: "POST".into(),
            target: "/in?access_token=t&x=1".into(),
            headers: vec![
                pair("x-gitlab-token", "t"),
                pair("X-Api-Key", "k"),
                pair("X-Hub-Signature-256", "s"),
            ],
            body: body.to_vec(),
            remote_addr: None,
        };
        super::credentials(&mut request, &settings);
        assert_eq!(request.target, "/in?access_token=***&x=1");
        assert_eq!(
            request.headers,
            [pair("x-gitlab-token", "***"), pair("X-Api-Key", "***"), pair("X-Hub-Signature-256", "s")]
        );
        assert_eq!(request.body, br#"{"value":[{"clientState":"***"}], "a": 1}"#);
    }
}
