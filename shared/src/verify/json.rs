//! Reading a body as JSON the way senders' own languages write it.

use serde_json::Value;

/// The whole text as a value. Half of a surrogate pair, which a sender leaves when it cuts a text in
/// the middle of a character, reads as U+FFFD; JavaScript and Python read such texts too.
pub(super) fn read(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok().or_else(|| serde_json::from_slice(&mended(text)?).ok())
}

/// The text with every escape of half a pair replaced; nothing where there is none.
fn mended(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut changed = false;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let taken = match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => 0,
            (Some(_), _) => 6,
            (None, _) => rest.len().min(2),
        };
        if taken == 0 {
            changed = true;
            out.extend_from_slice(br"\ufffd");
            rest = &rest[6..];
        } else {
            out.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
        }
    }
    out.extend_from_slice(rest);
    changed.then_some(out)
}

/// The UTF-16 unit of the `\uXXXX` that a text begins with.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    // The parser of numbers would take a sign.
    let hex = digits.iter().all(u8::is_ascii_hexdigit);
    hex.then(|| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde_json::json;

    #[test]
    fn half_a_surrogate_pair_does_not_spoil_the_rest() {
        for (text, wanted) in [
            (r#"{"a":"\ud83d","b":1}"#, json!({"a": "\u{fffd}", "b": 1})),
            (r#"{"a":"x\udE00y"}"#, json!({"a": "x\u{fffd}y"})),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, json!({"a": "\u{fffd}\u{1f600}"})),
            (r#"{"a":"\\ud83d \" \ud83d\n"}"#, json!({"a": "\\ud83d \" \u{fffd}\n"})),
        ] {
            assert_eq!(read(text.as_bytes()), Some(wanted), "{text}");
        }
        for text in [r#"{"a":"\ud83"}"#, r#"{"a":"\u+123\ud83d"}"#, "\\", r"\u", r#"{"a":"\ud83d"#] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
