//! Taking credentials out of a request before it is shown to people.

mod body;

use super::credentials::{
    is_telling, is_telling_header, is_telling_parameter, sources as credential_sources,
};
use super::presets::presets;
use super::recorded::Parts;
use super::settings::Settings;
use super::source::Source;
use crate::Secret;
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::sync::LazyLock;

/// What stands in the place of a credential.
const MASK: &[u8] = b"***";

/// What is a credential in any scheme that is known: a request may have come to the wrong source.
static KNOWN: LazyLock<Vec<Source>> =
    LazyLock::new(|| presets().flat_map(|preset| credential_sources(preset.verifier)).collect());

/// Masks what the scheme or any other that is known reads as a credential, in headers, query and body, what
/// always is one or by its name seems to be, and wherever they stand the source's own secrets and those of `others`. Of a body longer than
/// `keep` bytes no more is left, so that the cost has a bound.
pub fn credentials(request: &mut Parts, settings: &Settings, others: &[Secret], keep: usize) {
    let mut sources = credential_sources(&settings.verifier);
    sources.extend(KNOWN.iter().cloned());
    for (name, value) in &mut request.headers {
        if told_by(is_telling_header, name) || sources.iter().any(|source| is_header(source, name)) {
            *value = MASK.to_vec();
        }
    }
    let named =
        |pick: fn(&Source) -> Option<&str>| -> Vec<&str> { sources.iter().filter_map(pick).collect() };
    let query = named(|source| if let Source::Query(name) = source { Some(name) } else { None });
    if let Some((path, text)) = request.target.split_once('?') {
        let text = body::pairs(text.as_bytes(), |name| {
            same_name(&query, name) || told_by(is_telling_parameter, name)
        });
        request.target = format!("{path}?{}", String::from_utf8_lossy(&text));
    }
    let form = named(|source| if let Source::Form(name) = source { Some(name) } else { None });
    // In JSON the same may stand in the middle of a text, and what follows would be taken for its value.
    let is_json = matches!(request.body.trim_ascii_start().first(), Some(b'{' | b'['));
    request.body =
        body::pairs(&request.body, |name| same_name(&form, name) || !is_json && told_by(is_telling, name));
    // One that is found by its place alone has no name to be found by.
    let json = named(|source| {
        if let Source::Json(pointer) = source { Some(pointer.last_name().unwrap_or_default()) } else { None }
    });
    if json.contains(&"") {
        request.body = MASK.to_vec();
    } else {
        request.body = body::json(&request.body, |name| same_name(&json, name) || told_by(is_telling, name));
    }
    // A shorter text stands in many places by chance, and masking them would show where.
    let own = settings.all_secrets();
    let secrets = own.iter().chain(others).filter(|secret| secret.expose().len() >= SHORTEST);
    let texts: Vec<Vec<u8>> = secrets.flat_map(|secret| spellings(secret.expose())).collect();
    let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
    let cut = request.body.len() > keep + longest;
    request.body.truncate(keep + longest);
    texts.iter().for_each(|text| mask_everywhere(request, text));
    // The cut may have gone through one.
    let whole = request.body.len() - if cut { longest.min(request.body.len()) } else { 0 };
    request.body.truncate(whole.min(keep));
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

/// The answer for a name as it was sent, which need not be text.
fn told_by(rule: fn(&str) -> bool, name: &[u8]) -> bool {
    rule(&String::from_utf8_lossy(name))
}

fn same_name(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

/// Bytes of the shortest secret that is looked for.
const SHORTEST: usize = 8;

fn mask_everywhere(request: &mut Parts, secret: &[u8]) {
    let finder = memmem::Finder::new(secret);
    without(&mut request.body, &finder);
    request.headers.iter_mut().for_each(|(_, value)| without(value, &finder));
    if finder.find(request.target.as_bytes()).is_some() {
        let mut target = std::mem::take(&mut request.target).into_bytes();
        without(&mut target, &finder);
        request.target = String::from_utf8_lossy(&target).into_owned();
    }
}

/// What percent encoding leaves alone at most (RFC 3986 section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// As it is, and as it stands in addresses, forms and JSON where that differs.
fn spellings(secret: &str) -> Vec<Vec<u8>> {
    let percent = percent_encode(secret.as_bytes(), RESERVED).to_string();
    let every = percent_encode(secret.as_bytes(), NON_ALPHANUMERIC).to_string();
    let json = serde_json::Value::from(secret).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let mut all = vec![secret.to_owned(), percent.replace("%20", "+"), percent, every, json];
    all.sort();
    all.dedup();
    all.into_iter().map(String::into_bytes).collect()
}

fn without(text: &mut Vec<u8>, secret: &memmem::Finder<'_>) {
    if secret.find(text).is_none() {
        return;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some(at) = secret.find(rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(MASK);
        rest = &rest[at + secret.needle().len()..];
    }
    out.extend_from_slice(rest);
    *text = out;
}

#[cfg(test)]
mod tests {
    use super::*;
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
        super::credentials(&mut request, &settings, &[], 1 << 16);
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
        super::credentials(&mut request, &settings, &[], 1 << 16);
        assert_eq!(request.target, "/in?access_token=***&x=1");
        assert_eq!(
            request.headers,
            [pair("x-gitlab-token", "***"), pair("X-Api-Key", "***"), pair("X-Hub-Signature-256", "s")]
        );
        assert_eq!(request.body, br#"{"value":[{"clientState":"***"}], "a": 1}"#);
    }

    #[test]
    fn what_is_named_like_a_credential_is_masked() {
        let settings = Settings { verifier: json!("github"), ..Settings::default() };
        let masked = |target: &str, body: &str| {
            let mut request = Parts {
                method: "POST".into(),
                target: target.into(),
                headers: vec![(b"X-Own-Token".to_vec(), b"t".to_vec())],
                body: body.as_bytes().to_vec(),
                remote_addr: None,
            };
            super::credentials(&mut request, &settings, &[], 1 << 16);
            assert_eq!(request.headers[0].1, b"***");
            (request.target, String::from_utf8(request.body).unwrap())
        };
        let (target, body) = masked(
            "/in?token=a&x=1&client%5Fsecret=b&Key=c",
            r#"{"password":"c","to":{"refreshToken":"d"},"n":"x&token=1","m":2}"#,
        );
        assert_eq!(target, "/in?token=***&x=1&client%5Fsecret=***&Key=***");
        assert_eq!(body, r#"{"password":"***","to":{"refreshToken":"***"},"n":"x&token=1","m":2}"#);
        assert_eq!(masked("/in", "a=1&password=c&apikey=d").1, "a=1&password=***&apikey=***");
    }

    #[test]
    fn the_secret_of_another_source_is_masked_however_it_is_spelt() {
        let settings = Settings { verifier: json!("github"), ..Settings::default() };
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let mut request = Parts {
            method: "POST".into(),
            target: "/in?own=a%2Bb%2F-secret".into(),
            headers: vec![pair("X-Own", "a+b/-secret"), pair("X-Short", "abc")],
            body: b"{\"own\":\"a+b/-secret\"}&f=a%2Bb%2F%2Dsecret&tail".to_vec(),
            remote_addr: None,
        };
        let others = [Secret::from("a+b/-secret"), Secret::from("abc")];
        let keep = request.body.len() - 40;
        let mut cut = request.clone();
        super::credentials(&mut request, &settings, &others, 1 << 16);
        assert_eq!(request.target, "/in?own=***");
        assert_eq!(request.headers, [pair("X-Own", "***"), pair("X-Short", "abc")]);
        assert_eq!(request.body, b"{\"own\":\"***\"}&f=***&tail");
        // One that begins before the end of what is kept is not kept in part.
        super::credentials(&mut cut, &settings, &others, keep);
        assert!(cut.body.len() <= keep && memmem::find(&cut.body, b"a+b").is_none(), "{:?}", cut.body);
    }
}
