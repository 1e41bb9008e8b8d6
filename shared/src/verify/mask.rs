//! Taking credentials out of a request before it is shown to people.

use super::Verifier;
use super::recorded::Parts;
use super::settings::Settings;

/// What stands in the place of a credential.
const MASK: &[u8] = b"***";

/// Headers whose value is a credential in any scheme.
const ALWAYS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// Masks the values of headers and query parameters that the scheme reads as credentials, of those
/// that always are, and the source's own secrets wherever they stand.
pub fn credentials(request: &mut Parts, settings: &Settings, verifier: &Verifier) {
    let named = verifier.credential_headers();
    for (name, value) in &mut request.headers {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if ALWAYS.iter().any(|other| is(other)) || named.iter().any(|other| is(other)) {
            *value = MASK.to_vec();
        }
    }
    request.target = parameters(&request.target, &verifier.credential_parameters());
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

/// The target with the values of these parameters masked.
fn parameters(target: &str, names: &[String]) -> String {
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let masked: Vec<String> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if names.iter().any(|other| other == name) => format!("{name}=***"),
            _ => pair.to_owned(),
        })
        .collect();
    format!("{path}?{}", masked.join("&"))
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
        let verifier = Verifier::compile(&settings).unwrap().verifier;
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        let mut request = Parts {
            method: "POST".into(),
            target: "/in?access_token=some-other-token&x=the-secret-token".into(),
            headers: vec![pair("AUTHORIZATION", "Bearer x"), pair("X-Other", "a the-secret-token b")],
            body: b"{\"token\":\"the-secret-token\"}".to_vec(),
            remote_addr: None,
        };
        credentials(&mut request, &settings, &verifier);
        assert_eq!(request.target, "/in?access_token=***&x=***");
        assert_eq!(request.headers, [pair("AUTHORIZATION", "***"), pair("X-Other", "a *** b")]);
        assert_eq!(request.body, b"{\"token\":\"***\"}");
    }
}
