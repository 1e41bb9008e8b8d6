//! Finding one field of a JSON text without reading the rest: the text is skipped up to the field and
//! not beyond it. For what is only read from genuine requests, such as their id. The first of two
//! fields of the same name counts.

use smallvec::SmallVec;
use std::borrow::Cow;

/// How deep a text is followed when it is skipped; deeper ones have no fields.
const MAX_DEPTH: usize = 128;

/// A JSON text whose outermost fields are walked once, and only as far as they are asked for.
pub(super) struct Outline<'t> {
    /// In front of the value of the last field that is known; at the end of a text that has no more.
    scan: Scan<'t>,
    /// Names, and where their values begin.
    fields: SmallVec<[(Cow<'t, [u8]>, usize); 6]>,
}

impl<'t> Outline<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { scan: Scan { text, at: 0 }, fields: SmallVec::new() }
    }

    /// The text or number at a path of names and indexes; nothing where there is none.
    pub(super) fn find<'p>(&mut self, path: impl IntoIterator<Item = &'p str>) -> Option<Cow<'t, [u8]>> {
        let mut path = path.into_iter();
        let mut scan = Scan { text: self.scan.text, at: 0 };
        scan.space();
        if scan.peek() == Some(b'{') {
            scan.at = self.field(path.next()?.as_bytes())?;
        }
        for name in path {
            match scan.peek()? {
                b'{' => scan.enter_field(name.as_bytes())?,
                b'[' => scan.enter_item(name.parse().ok()?)?,
                _ => return None,
            }
        }
        scan.scalar()
    }

    /// Where the value of an outermost field begins.
    fn field(&mut self, name: &[u8]) -> Option<usize> {
        if let Some((_, at)) = self.fields.iter().find(|(key, _)| **key == *name) {
            return Some(*at);
        }
        while let Some(key) = self.next_name() {
            let found = *key == *name;
            self.fields.push((key, self.scan.at));
            if found {
                return Some(self.scan.at);
            }
        }
        self.scan.at = self.scan.text.len();
        None
    }

    fn next_name(&mut self) -> Option<Cow<'t, [u8]>> {
        if self.fields.is_empty() {
            self.scan.expect(b'{')?;
        } else {
            self.scan.skip()?;
            self.scan.expect(b',')?;
        }
        self.scan.name()
    }
}

/// Bytes of a string that are looked at without a vectorised search.
const SHORT: usize = 32;

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Scan<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek()? == byte).then(|| self.at += 1)?;
        self.space();
        Some(())
    }

    /// From the brace of an object to the value of a field.
    fn enter_field(&mut self, name: &[u8]) -> Option<()> {
        self.expect(b'{')?;
        while *self.name()? != *name {
            self.skip()?;
            self.expect(b',')?;
        }
        Some(())
    }

    /// The name of a field, and on to its value.
    fn name(&mut self) -> Option<Cow<'t, [u8]>> {
        let (inside, escaped) = self.string()?;
        self.expect(b':')?;
        if escaped { unescaped(inside) } else { Some(Cow::Borrowed(inside)) }
    }

    /// From the bracket of a list to one of its items.
    fn enter_item(&mut self, index: usize) -> Option<()> {
        self.expect(b'[')?;
        for _ in 0..index {
            self.skip()?;
            self.expect(b',')?;
        }
        Some(())
    }

    /// The inside of a string, still escaped, and whether there is an escape in it.
    fn string(&mut self) -> Option<(&'t [u8], bool)> {
        let text = self.text.get(self.at..)?.strip_prefix(b"\"")?;
        let (mut end, mut escaped) = (0, false);
        loop {
            end += quote_or_escape(text.get(end..)?)?;
            if text[end] == b'"' {
                self.at += end + 2;
                return Some((&text[..end], escaped));
            }
            escaped = true;
            end += 2;
        }
    }

    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(|_| ()),
            b'{' | b'[' => self.skip_container(),
            _ => self.bare().map(|_| ()),
        }
    }

    fn skip_container(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            match self.peek()? {
                b'"' => drop(self.string()?),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            if depth == 0 {
                return Some(());
            }
            (depth <= MAX_DEPTH).then_some(())?;
        }
    }

    /// A number or a word.
    fn bare(&mut self) -> Option<&'t [u8]> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        (self.at > start).then(|| &self.text[start..self.at])
    }

    fn scalar(&mut self) -> Option<Cow<'t, [u8]>> {
        match self.peek()? {
            b'"' => match self.string()? {
                (inside, true) => unescaped(inside),
                (inside, false) => Some(Cow::Borrowed(inside)),
            },
            b'-' | b'0'..=b'9' => self.bare().map(Cow::Borrowed),
            _ => None,
        }
    }
}

/// How far it is to the next quote or backslash. Names and most values are shorter than what makes a
/// vectorised search worth its beginning, so the first bytes are looked at eight at a time.
fn quote_or_escape(text: &[u8]) -> Option<usize> {
    let mut rest = text;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let holds = |byte: u8| zero_bytes(word ^ (EVERY * u64::from(byte)));
        let found = holds(b'"') | holds(b'\\');
        let looked_at = text.len() - rest.len();
        if found != 0 {
            return Some(looked_at + found.trailing_zeros() as usize / 8);
        }
        if looked_at >= SHORT {
            break;
        }
        rest = after;
    }
    Some(text.len() - rest.len() + memchr::memchr2(b'"', b'\\', rest)?)
}

/// One in each byte of a word.
const EVERY: u64 = 0x0101_0101_0101_0101;

/// The topmost bit of the first byte that is zero, and perhaps of later ones.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(EVERY) & !word & (EVERY << 7)
}

fn unescaped(inside: &[u8]) -> Option<Cow<'_, [u8]>> {
    let quoted = [b"\"", inside, b"\""].concat();
    let text: String = serde_json::from_slice(&quoted).ok()?;
    Some(Cow::Owned(text.into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::source::{Pointer, scalar};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn find<'t, 'p>(text: &'t [u8], path: impl IntoIterator<Item = &'p str>) -> Option<Cow<'t, [u8]>> {
        Outline::new(text).find(path)
    }

    fn found(text: &str, path: &[&str]) -> Option<String> {
        find(text.as_bytes(), path.iter().copied()).map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    #[test]
    fn fields_are_found_at_any_depth() {
        let text = r#" {"a" : {"x":["}", {"y\"":1}], "id": "one"}, "b":[10, {"c":"zwei"}], "t":-1.50} "#;
        assert_eq!(found(text, &["a", "id"]).as_deref(), Some("one"));
        assert_eq!(found(text, &["b", "1", "c"]).as_deref(), Some("zwei"));
        assert_eq!(found(text, &["b", "0"]).as_deref(), Some("10"));
        assert_eq!(found(text, &["t"]).as_deref(), Some("-1.50"));
        assert_eq!(found(text, &["a"]), None);
        assert_eq!(found(text, &["b", "2"]), None);
        assert_eq!(found(r#"{"a":true,"b":null,"c":"\u00eb\n"}"#, &["c"]).as_deref(), Some("ë\n"));
    }

    #[test]
    fn broken_texts_have_no_fields() {
        for text in
            ["", "{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "{\"a\":\"\\", "[", "{a:1}", "{\"b\":}"]
        {
            assert_eq!(found(text, &["a"]), None, "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            "\\PC{0,8}".prop_map(|text| json!(text)),
            any::<i64>().prop_map(|number| json!(number)),
            Just(Value::Null),
            any::<bool>().prop_map(|flag| json!(flag)),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                proptest::collection::vec(("[abc\"\\\\]{1,2}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn what_was_passed_on_the_way_is_found_afterwards() {
        let text = br#"{"a":1, "b":{"a":2, "c":3}, "\u0064":4, "a":5, "e":6} "#;
        let mut outline = Outline::new(text);
        for (path, wanted) in [
            (&["d"][..], Some("4")),
            (&["b", "c"], Some("3")),
            (&["a"], Some("1")),
            (&["x"], None),
            (&["e"], Some("6")),
            (&["b", "a"], Some("2")),
            (&["x"], None),
        ] {
            let value = outline.find(path.iter().copied());
            assert_eq!(value.as_deref(), wanted.map(str::as_bytes), "{path:?}");
        }
        // After what cannot be read nothing more is found, however often it is asked for.
        let mut broken = Outline::new(br#"{"a":1 "b", "c":3}"#);
        for _ in 0..3 {
            assert_eq!(broken.find(["c"]), None);
        }
        assert_eq!(broken.find(["a"]).as_deref(), Some(&b"1"[..]));
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_a_whole_reading_finds(
            value in any_json(), path in "(/[abc01]){1,3}", pretty in any::<bool>()
        ) {
            let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
            let pointer = Pointer::parse(&path).unwrap();
            let whole = pointer.value_in(&value).and_then(scalar);
            prop_assert_eq!(find(text.as_bytes(), pointer.names()), whole);
        }

        #[test]
        fn no_text_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..60), path in "[ab01]") {
            let _ = find(&text, [path.as_str(), "a"]);
        }
    }
}
