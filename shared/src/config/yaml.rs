//! The only file that knows the YAML library: text in, a JSON tree out.
//! (The library is no longer developed; replacing it means replacing this file.)

use serde_json::{Map, Value};

/// Why a text is not YAML, in a form a person can act on. Lines and columns count from 1.
#[derive(Debug)]
pub struct YamlFault {
    pub line: Option<usize>,
    pub message: String,
}

/// Brackets that may be open at one place. The library refuses fewer, but only after a time that grows with the
/// square of their number; brackets in texts and comments are counted too, which this leaves ample room for.
const OPEN_BRACKETS: usize = 1000;

/// Reads one YAML document. Keys must be texts; anchors are resolved; tags are refused.
pub fn parse(text: &str) -> Result<Value, YamlFault> {
    if let Some(line) = too_deep(text) {
        let message = format!("more than {OPEN_BRACKETS} brackets are open here: nest less, or close them");
        return Err(YamlFault { line: Some(line), message });
    }
    let tree: serde_yaml::Value = serde_yaml::from_str(text).map_err(|error| YamlFault {
        line: error.location().map(|at| at.line()),
        message: format!("not valid YAML: {error}"),
    })?;
    convert(tree).map_err(|message| YamlFault { line: None, message })
}

/// The line (from 1) on which too many brackets are open.
fn too_deep(text: &str) -> Option<usize> {
    let (mut open, mut line) = (0usize, 1);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            b'\n' => line += 1,
            _ => {}
        }
        if open > OPEN_BRACKETS {
            return Some(line);
        }
    }
    None
}

fn convert(tree: serde_yaml::Value) -> Result<Value, String> {
    Ok(match tree {
        serde_yaml::Value::Null => Value::Null,
        serde_yaml::Value::Bool(flag) => Value::Bool(flag),
        serde_yaml::Value::Number(number) => number_of(&number)?,
        serde_yaml::Value::String(text) => Value::String(text),
        serde_yaml::Value::Sequence(items) => {
            Value::Array(items.into_iter().map(convert).collect::<Result<_, _>>()?)
        }
        serde_yaml::Value::Mapping(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                map.insert(key_text(key)?, convert(value)?);
            }
            Value::Object(map)
        }
        serde_yaml::Value::Tagged(tagged) => return Err(format!("the tag {} is not known here", tagged.tag)),
    })
}

fn number_of(number: &serde_yaml::Number) -> Result<Value, String> {
    if let Some(whole) = number.as_i64() {
        Ok(whole.into())
    } else if let Some(whole) = number.as_u64() {
        Ok(whole.into())
    } else {
        number
            .as_f64()
            .and_then(serde_json::Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| format!("the number {number} cannot be used"))
    }
}

fn key_text(key: serde_yaml::Value) -> Result<String, String> {
    match key {
        serde_yaml::Value::String(text) => Ok(text),
        serde_yaml::Value::Number(number) => Ok(number.to_string()),
        serde_yaml::Value::Bool(flag) => Ok(flag.to_string()),
        other => Err(format!("a key must be a text, not {other:?}")),
    }
}

/// The line (from 1) on which a dotted key path stands, for block style YAML. It is a help for people,
/// so it gives up (None) rather than guess: flow style and quoted keys are not followed.
pub fn line_of(text: &str, path: &str) -> Option<usize> {
    let mut wanted = path.split('.').map(|part| part.split('[').next().unwrap_or(part)).peekable();
    let mut floor: Option<usize> = None;
    let mut found = None;
    for (index, line) in text.lines().enumerate() {
        let Some(name) = wanted.peek() else { break };
        let indent = line.len() - line.trim_start().len();
        let body = line.trim_start().trim_start_matches("- ");
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        if floor.is_some_and(|floor| indent <= floor) {
            break;
        }
        if body.strip_prefix(*name).is_some_and(|rest| rest.starts_with(':')) {
            found = Some(index + 1);
            floor = Some(indent);
            wanted.next();
        } else if floor.is_none() && indent > 0 {
            continue;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "database_url: x\nsources:\n  a:\n    verifier: github\n  b:\n    # secret: no\n    secret: s\n";

    #[test]
    fn a_text_nested_without_measure_is_refused_before_it_is_read() {
        for open in ["[", "{a: ", "[\n"] {
            let fault = parse(&open.repeat(OPEN_BRACKETS + 1)).unwrap_err();
            assert!(fault.message.contains("brackets are open"), "{}", fault.message);
            assert_eq!(fault.line, Some(if open.ends_with('\n') { OPEN_BRACKETS + 1 } else { 1 }));
        }
        assert!(parse(&"- [{a: 1}]\n".repeat(OPEN_BRACKETS + 1)).is_ok());
        let long = format!("a: {}", "x".repeat(crate::config::PIECE));
        assert!(crate::config::parse_yaml(&long).unwrap_err().contains("shorten it"));
    }

    #[test]
    fn a_key_path_leads_to_its_line() {
        assert_eq!(line_of(TEXT, "database_url"), Some(1));
        assert_eq!(line_of(TEXT, "sources.b.secret"), Some(7));
        assert_eq!(line_of(TEXT, "sources.a.verifier"), Some(4));
        assert_eq!(line_of(TEXT, "nothing"), None);
    }

    #[test]
    fn a_missing_key_leads_to_the_nearest_parent() {
        assert_eq!(line_of(TEXT, "sources.a.secret"), Some(3));
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let fault = parse("a: 1\nb: [1, 2\nc: 3\n").expect_err("an open bracket");
        assert!(fault.line.is_some_and(|line| line >= 2), "{fault:?}");
    }
}
