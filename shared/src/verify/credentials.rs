//! Where requests of a source carry a value that is itself a credential: what must be masked where people look, and
//! not be passed on. Told from the configuration alone, since most who ask have none of the source's secrets.

use super::plan::{self, Table};
use super::source::Source;
use serde_json::Value;

/// Headers that carry credentials whatever the scheme.
const ALWAYS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// Words in the names of what is a credential, whatever the scheme.
const TELLING: [&str; 6] = ["token", "secret", "password", "api-key", "apikey", "api_key"];

/// Is the value of a header a credential by the header's name alone?
pub fn is_telling_header(name: &str) -> bool {
    ALWAYS.iter().any(|known| name.eq_ignore_ascii_case(known)) || is_telling(name)
}

/// The same of a query parameter.
pub fn is_telling_parameter(name: &str) -> bool {
    name.eq_ignore_ascii_case("key") || is_telling(name)
}

/// The same of a field of a body.
pub(super) fn is_telling(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    TELLING.iter().any(|part| lower.contains(part))
}

/// In every way of checking that a verifier has, in events and in handshakes. Nothing for one that cannot be resolved,
/// which no service takes.
pub(super) fn sources(verifier: &Value) -> Vec<Source> {
    let Ok(plan) = plan::resolve(verifier, "verifier") else { return Vec::new() };
    let mut found: Vec<Source> = Vec::new();
    for source in plan.tables().into_iter().flat_map(of_table) {
        if !found.contains(&source) {
            found.push(source);
        }
    }
    found
}

/// Names of headers whose value is itself a credential.
pub fn credential_headers(verifier: &Value) -> Vec<String> {
    let header = |source| if let Source::Header(name) = source { Some(name.to_string()) } else { None };
    sources(verifier).into_iter().filter_map(header).collect()
}

/// Names of query parameters whose value is itself a credential.
pub fn credential_parameters(verifier: &Value) -> Vec<String> {
    let query = |source| if let Source::Query(name) = source { Some(name) } else { None };
    sources(verifier).into_iter().filter_map(query).collect()
}

/// All of them, spelt as in the configuration: headers, query parameters, JSON and form fields.
pub fn credentials(verifier: &Value) -> Vec<String> {
    sources(verifier).iter().map(Source::spelling).collect()
}

fn of_table(table: &Table) -> Vec<Source> {
    let map = &table.map;
    let mut texts: Vec<String> = match map.get("type").and_then(Value::as_str) {
        Some("token") => texts(map.get("from")),
        Some("basic") => vec!["header:Authorization".into()],
        // Bound to no body it can be sent again with any other.
        Some("jws") if map.get("body_hash").is_none_or(Value::is_null) => texts(map.get("signature")),
        _ => Vec::new(),
    };
    for rule in map.get("challenge").and_then(Value::as_array).into_iter().flatten() {
        let stored = rule["store_secret"].as_str();
        texts.extend(stored.map(|text| text.trim_matches(['{', '}']).to_owned()));
        texts.extend(rule["check"]["query"].as_str().map(|name| format!("query:{name}")));
    }
    texts.iter().filter_map(|text| Source::parse(text).ok()).collect()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credentials_are_known_without_any_secret() {
        for (verifier, wanted) in [
            (json!("github"), &[][..]),
            (json!("netlify"), &[]),
            (json!("gitlab"), &["header:X-Gitlab-Token"]),
            (json!("cloudevents"), &["header:Authorization", "query:access_token"]),
            (json!("postmark"), &["header:Authorization"]),
            (json!("microsoft_graph"), &["json:/value/*/clientState"]),
            (json!("asana"), &["header:X-Hook-Secret"]),
            (json!("notion"), &["json:/verification_token"]),
            (json!("meta"), &["query:hub.verify_token"]),
            (json!({"preset": "netlify", "body_hash": null}), &["header:X-Webhook-Signature"]),
            (json!([{"type": "token", "from": "form:a"}, "github"]), &["form:a"]),
            (json!({"combine": "all", "of": ["standard_webhooks", "basic-of-nobody"]}), &[]),
            // Secrets of the one are none of the other's.
            (
                json!({"combine": "all", "of": ["standard_webhooks", "generic_basic", {"type": "token", "from": "header:X-Key"}]}),
                &["header:Authorization", "header:X-Key"],
            ),
        ] {
            assert_eq!(credentials(&verifier), wanted, "{verifier}");
        }
        assert_eq!(credential_headers(&json!("cloudevents")), ["Authorization"]);
        assert_eq!(credential_parameters(&json!("cloudevents")), ["access_token"]);
    }
}
