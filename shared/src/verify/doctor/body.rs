//! Mistakes about the body: what something between the provider and this relay did to it.

use super::{Case, Trial};
use crate::verify::recorded::Parts;
use serde_json::Value;
use std::io::Read as _;

/// Largest body a compressed one is unpacked to.
const MAX_UNPACKED: u64 = 4 * 1024 * 1024;

/// The body in the other forms in which it may have been signed.
pub(super) fn trials(case: &Case<'_>) -> Vec<Trial> {
    let body = &case.request.body;
    let mut trials: Vec<Trial> = Vec::new();
    let mut add = |changed: Option<Vec<u8>>, what: &str| {
        // Several ways may lead to the same bytes; the first, the simplest, is told.
        let known = |changed: &Vec<u8>| {
            changed == body || trials.iter().filter_map(|t| t.request.as_ref()).any(|r| r.body == *changed)
        };
        if let Some(changed) = changed.filter(|changed| !known(changed)) {
            let request = Parts { body: changed, ..case.request.clone() };
            trials.push(Trial::request(request, format!("The body was changed on the way: {what}.")));
        }
    };
    add(Some([body, b"\n".as_slice()].concat()), "it was signed with a line break at its end, which is gone");
    add(
        Some([body, b"\r\n".as_slice()].concat()),
        "it was signed with a line break (CR LF) at its end, which is gone",
    );
    add(Some(body.trim_ascii_end().to_vec()), "it was signed without the line break or space at its end");
    add(Some(replace(body, b"\r\n", b"\n")), "its line breaks became CR LF; it was signed with LF");
    add(Some(lines_as_crlf(body)), "its line breaks became LF; it was signed with CR LF");
    add(body.strip_prefix(BOM).map(<[u8]>::to_vec), "a byte order mark was put in front");
    add(Some([BOM, body].concat()), "the byte order mark it was signed with is gone");
    for (text, what) in serialised(body) {
        add(Some(text), what);
    }
    add(latin_to_utf8(body), "it was signed as UTF-8 and became Latin-1");
    let narrow = utf8_to_latin(body);
    let twice = narrow.as_ref().is_some_and(|text| std::str::from_utf8(text).is_ok());
    let how = if twice {
        "it was signed as UTF-8, taken for Latin-1, and encoded a second time"
    } else {
        "it was signed as Latin-1 and became UTF-8"
    };
    add(narrow, how);
    add(unzipped(body), "it is compressed, and it was signed before compression");
    trials
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// JSON written by other libraries, if the body is JSON.
fn serialised(body: &[u8]) -> Vec<(Vec<u8>, &'static str)> {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return Vec::new() };
    let compact = value.to_string();
    let mut forms = vec![
        (compact.clone(), "its JSON was written again; it was signed in compact form"),
        (spaced(&value), "its JSON was written again; it was signed with a space after each comma and colon"),
        (
            escaped(&compact),
            "its JSON was written again; it was signed in compact form with non-ASCII characters escaped",
        ),
        (
            escaped(&spaced(&value)),
            "its JSON was written again; it was signed with spaces and non-ASCII characters escaped",
        ),
        (
            compact.replace('/', "\\/"),
            "its JSON was written again; it was signed in compact form with slashes escaped",
        ),
    ];
    if let Ok(pretty) = serde_json::to_string_pretty(&value) {
        forms.push((pretty.clone(), "its JSON was written again; it was signed indented by two spaces"));
        forms.push((
            pretty.replace("  ", "    "),
            "its JSON was written again; it was signed indented by four spaces",
        ));
    }
    let sorted = sorted(&value).to_string();
    forms.push((sorted, "its JSON was written again; it was signed with its keys in order"));
    forms.into_iter().map(|(text, what)| (text.into_bytes(), what)).collect()
}

/// As Python's `json.dumps` writes it, but for the escapes.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn escaped(text: &str) -> String {
    String::from_utf8_lossy(&crate::verify::filter::escape_unicode(text.as_bytes())).into_owned()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn replace(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while !rest.is_empty() {
        match rest.strip_prefix(from) {
            Some(after) => {
                out.extend_from_slice(to);
                rest = after;
            }
            None => {
                out.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    out
}

fn lines_as_crlf(body: &[u8]) -> Vec<u8> {
    replace(&replace(body, b"\r\n", b"\n"), b"\n", b"\r\n")
}

fn latin_to_utf8(body: &[u8]) -> Option<Vec<u8>> {
    let is_latin = std::str::from_utf8(body).is_err();
    is_latin.then(|| body.iter().map(|b| char::from(*b)).collect::<String>().into_bytes())
}

fn utf8_to_latin(body: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(body).ok()?.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

fn unzipped(body: &[u8]) -> Option<Vec<u8>> {
    if !body.starts_with(b"\x1f\x8b") {
        return None;
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(body).take(MAX_UNPACKED).read_to_end(&mut out).ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_written_as_python_does() {
        assert_eq!(
            spaced(&json!({"a": [1, 2], "b": {"c": "x, y: z"}})),
            r#"{"a": [1, 2], "b": {"c": "x, y: z"}}"#
        );
    }

    #[test]
    fn a_form_that_several_ways_lead_to_is_told_once() {
        let forms = bodies_of(br#"{"a": 1}"#);
        let mut once = forms.clone();
        once.sort();
        once.dedup();
        assert_eq!(forms.len(), once.len());
        assert!(once.contains(&br#"{"a":1}"#.to_vec()));
    }

    fn bodies_of(body: &[u8]) -> Vec<Vec<u8>> {
        let settings = crate::verify::Settings::default();
        let request = Parts {
            method: "POST".into(),
            target: "/".into(),
            headers: Vec::new(),
            body: body.to_vec(),
            remote_addr: None,
        };
        let now = time::OffsetDateTime::UNIX_EPOCH;
        let case = Case { settings: &settings, request: &request, now, others: &[] };
        trials(&case).into_iter().filter_map(|trial| trial.request).map(|request| request.body).collect()
    }

    #[test]
    fn lines_are_rewritten_once() {
        assert_eq!(lines_as_crlf(b"a\nb\r\nc"), b"a\r\nb\r\nc");
        assert_eq!(replace(b"a\r\nb\r", b"\r\n", b"\n"), b"a\nb\r");
    }
}
