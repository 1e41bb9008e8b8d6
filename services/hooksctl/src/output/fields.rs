//! Objects of the API as people see them.

use super::{Colour, Paint, line, note, printable};
use serde_json::Value;

/// The text of a member, fit for a terminal.
pub fn text(object: &Value, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(printable)
}

/// A number of a member; 0 where there is none.
pub fn number(object: &Value, name: &str) -> i64 {
    object.get(name).and_then(Value::as_i64).unwrap_or(0)
}

/// The texts of a member that is a list, with commas.
pub fn texts(object: &Value, name: &str) -> String {
    let list = object.get(name).and_then(Value::as_array);
    let texts: Vec<&str> = list.into_iter().flatten().filter_map(Value::as_str).collect();
    printable(&texts.join(","))
}

/// A word on sources that the inspector's configuration does not name, where something was made for them.
pub fn warn_of_unknown_sources(made: &Value) {
    let names = texts(made, "unknown_sources");
    if !names.is_empty() {
        note(&format!(
            "note: the inspector's configuration has no source named {names}; it opens nothing until there is one"
        ));
    }
}

/// A time without its fraction: `2026-05-09T14:00:01Z`.
pub fn moment(object: &Value, name: &str) -> Option<String> {
    let at = text(object, name)?;
    Some(at.split_once('.').map_or_else(|| at.clone(), |(seconds, _)| format!("{seconds}Z")))
}

/// One `name value` line of data.
pub fn field(name: &str, value: &str) -> anyhow::Result<()> {
    line(&format!("{} {value}", Paint::stdout().paint(Colour::Faint, &format!("{name:<14}"))))
}

/// Prints each object as a line: as it is, or as `row` has it.
pub fn list(objects: &[Value], json: bool, row: impl Fn(&Value) -> String) -> anyhow::Result<()> {
    for object in objects {
        if json { line(&object.to_string())? } else { line(row(object).trim_end())? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_and_made_fit() {
        let object = serde_json::json!({"at": "2026-05-09T14:00:01.123Z", "s": ["a", "b"], "t": "x\u{1b}y"});
        assert_eq!(moment(&object, "at").as_deref(), Some("2026-05-09T14:00:01Z"));
        assert_eq!(texts(&object, "s"), "a,b");
        assert_eq!(text(&object, "t").as_deref(), Some("x\\u{1b}y"));
        assert_eq!((number(&object, "none"), text(&object, "none")), (0, None));
    }
}
