//! Form and JSON bodies, read by the relay and by another reader.

use crate::dice::Dice;
use crate::vectors::checked;
use hooks_shared::Secret;
use hooks_shared::verify::{Parts, Settings, Verdict, Verifier};
use serde_json::{Map, Value, json};
use time::OffsetDateTime;

/// A body: JSON, a form, or anything; sometimes broken.
pub fn any(dice: &mut Dice) -> Vec<u8> {
    let mut body = match dice.below(3) {
        0 => json_value(dice, 4).to_string().into_bytes(),
        1 => form(dice),
        _ => dice.bytes(200),
    };
    if dice.one_in(3) {
        dice.mutate(&mut body);
    }
    body
}

fn json_value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 4 } else { 7 }) {
        0 => json!(dice.text(12)),
        1 => json!(dice.below(1_000_000)),
        2 => Value::Null,
        3 => json!(dice.one_in(2)),
        4 => (0..dice.below(4)).map(|_| json_value(dice, depth - 1)).collect(),
        _ => {
            let fields = (0..dice.below(5)).map(|_| (name(dice), json_value(dice, depth - 1)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
    }
}

fn name(dice: &mut Dice) -> String {
    if dice.one_in(8) { dice.text(6) } else { (*dice.pick(&["a", "b", "list", "payload"])).to_owned() }
}

fn form(dice: &mut Dice) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..dice.below(6) {
        text.extend_from_slice(dice.pick(&["f", "%66", "g", "payload", "f+f", ""]).as_bytes());
        text.extend_from_slice(dice.pick(&["=", "==", ""]).as_bytes());
        text.extend_from_slice(dice.pick(&["tok", "t%6fk", "tok+", "%", ""]).as_bytes());
        text.extend_from_slice(dice.pick(&["&", "&&", ";"]).as_bytes());
    }
    text
}

const TOKEN: &str = "tok";

/// A token in the body: accepted exactly where another reader finds it.
pub fn run(dice: &mut Dice) {
    let now = OffsetDateTime::UNIX_EPOCH;
    let verifier = |from: &str, id: &str| {
        let verifier = json!({"type": "token", "from": from, "id": id});
        let settings = Settings { verifier, secrets: vec![Secret::from(TOKEN)], ..Settings::default() };
        Verifier::compile(&settings).expect("a good table").verifier
    };
    let mut parts = Parts {
        method: "POST".into(),
        target: "/".into(),
        headers: Vec::new(),
        body: form(dice),
        remote_addr: None,
    };
    let values: Vec<String> = url::form_urlencoded::parse(&parts.body)
        .filter(|(name, _)| name == "f")
        .map(|(_, value)| value.into_owned())
        .collect();
    let there =
        values.first().is_some_and(|first| first == TOKEN) && values.iter().all(|value| value == TOKEN);
    let verdict = checked(&verifier("form:f", "form:g"), &parts, now);
    assert_eq!(matches!(verdict, Verdict::Ok(_)), there, "form {}: {verdict:?}", parts.body.escape_ascii());

    let mut root = json_value(dice, 4);
    if let (Value::Object(map), true) = (&mut root, dice.one_in(2)) {
        map.insert("token".into(), json!(TOKEN));
    }
    parts.body = root.to_string().into_bytes();
    if dice.one_in(4) {
        dice.mutate(&mut parts.body);
    }
    let pointer = *dice.pick(&["/a", "/a/b", "/b/a", "/list/0", "/list/1/a", "/payload", "/a/b/list"]);
    let strict = serde_json::from_slice::<Value>(&parts.body).ok();
    // Half a surrogate pair, which no strict reader takes, spoils nothing else of a body.
    let mended = if strict.is_none() { without_half_pairs(&parts.body) } else { None };
    let parsed = strict.clone().or_else(|| serde_json::from_slice(mended.as_deref()?).ok());
    let is_token = |value: &Value| value.as_str() == Some(TOKEN);
    let there = parsed.as_ref().and_then(|root| root.get("token")).is_some_and(is_token);
    let verdict = checked(&verifier("json:/token", &format!("json:{pointer}")), &parts, now);
    assert_eq!(matches!(verdict, Verdict::Ok(_)), there, "JSON {}: {verdict:?}", parts.body.escape_ascii());
    let (Verdict::Ok(verified), Some(root)) = (verdict, strict) else { return };
    // The relay reads only as far as the first field of a name, the other reader the last one of all.
    if repeats(&parts.body, &root) {
        return;
    }
    let expected = match root.pointer(pointer) {
        Some(Value::String(text)) if text.is_empty() => None,
        Some(Value::String(text)) if text.len() > 255 || text.chars().any(char::is_control) => return,
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) if number.is_f64() => return,
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    assert_eq!(
        verified.delivery_id.as_deref(),
        expected.as_deref(),
        "{pointer} of {}",
        parts.body.escape_ascii()
    );
}

/// The text with `\ufffd` for each escape of half a surrogate pair; nothing where there is none.
fn without_half_pairs(text: &[u8]) -> Option<Vec<u8>> {
    // Pieces of one escape or of the text between two.
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let length = match rest {
            [b'\\', b'u', hex @ ..]
                if hex.iter().take(4).filter(|byte| byte.is_ascii_hexdigit()).count() == 4 =>
            {
                6
            }
            [b'\\', ..] => rest.len().min(2),
            _ => rest.iter().position(|byte| *byte == b'\\').unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    let second = |piece: Option<&&[u8]>, wanted: &[u8]| {
        piece.is_some_and(|piece| {
            piece.starts_with(br"\u")
                && piece.len() == 6
                && piece[2].eq_ignore_ascii_case(&b'd')
                && wanted.contains(&piece[3].to_ascii_lowercase())
        })
    };
    let high = |at: usize| second(pieces.get(at), b"89ab");
    let low = |at: usize| second(pieces.get(at), b"cdef");
    let half = |at: usize| match (high(at), low(at)) {
        (true, _) => !low(at + 1),
        (_, true) => at == 0 || !high(at - 1),
        _ => false,
    };
    let halves: Vec<bool> = (0..pieces.len()).map(half).collect();
    halves.contains(&true).then(|| {
        let mend = |(piece, half): (&&[u8], &bool)| if *half { br"\ufffd".to_vec() } else { piece.to_vec() };
        pieces.iter().zip(&halves).flat_map(mend).collect()
    })
}

/// Has the text more fields than the parsed value: is a name there twice?
fn repeats(text: &[u8], root: &Value) -> bool {
    fn fields(value: &Value) -> usize {
        match value {
            Value::Object(map) => map.len() + map.values().map(fields).sum::<usize>(),
            Value::Array(list) => list.iter().map(fields).sum(),
            _ => 0,
        }
    }
    struct Count(usize);
    impl<'de> serde::Deserialize<'de> for Count {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(Counter)
        }
    }
    struct Counter;
    impl<'de> serde::de::Visitor<'de> for Counter {
        type Value = Count;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("any JSON")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
            Ok(Count(0))
        }
        fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
            Ok(Count(0))
        }
        fn visit_u64<E>(self, _: u64) -> Result<Count, E> {
            Ok(Count(0))
        }
        fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
            Ok(Count(0))
        }
        fn visit_str<E>(self, _: &str) -> Result<Count, E> {
            Ok(Count(0))
        }
        fn visit_unit<E>(self) -> Result<Count, E> {
            Ok(Count(0))
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
            let mut sum = 0;
            while let Some(Count(more)) = list.next_element()? {
                sum += more;
            }
            Ok(Count(sum))
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
            let mut sum = 0;
            while let Some((_, Count(more))) = map.next_entry::<serde::de::IgnoredAny, Count>()? {
                sum += 1 + more;
            }
            Ok(Count(sum))
        }
    }
    serde_json::from_slice::<Count>(text).is_ok_and(|Count(count)| count > fields(root))
}

#[cfg(test)]
mod tests {
    use super::without_half_pairs;

    #[test]
    fn only_halves_of_a_pair_are_replaced() {
        for (text, wanted) in [
            (r"a\ud83d\ude00b", None),
            (r"\u00e4\n\\ud83d\ud7ff", None),
            (r"\ud83", None),
            (r"x\uD83Dy", Some(r"x\ufffdy")),
            (r"\uDe00\n", Some(r"\ufffd\n")),
            (r"\ud83d\ud83d\ude00", Some(r"\ufffd\ud83d\ude00")),
            (r"\ud83d\ude00\ude00", Some(r"\ud83d\ude00\ufffd")),
            (r"\\\ud83d", Some(r"\\\ufffd")),
        ] {
            let got = without_half_pairs(text.as_bytes());
            assert_eq!(got.as_deref(), wanted.map(str::as_bytes), "{text}");
        }
    }
}
