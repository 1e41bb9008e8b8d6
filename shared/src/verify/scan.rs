//! Finding one field of a JSON text without reading the rest: the text is skipped up to the field and
//! not beyond it. For what is only read from genuine requests, such as their id. The first of two
//! fields of the same name counts.

use smallvec::SmallVec;
use std::borrow::Cow;

/// How deep a text is followed when it is skipped; deeper ones have no fields.
const MAX_DEPTH: usize = 128;

/// A JSON text whose outermost fields are walked once, and only as far as they are asked for.
pub(super) struct Outline<'t> {
    text: &'t [u8],
    /// In front of the value of the last field that is known; at the end of a text that has no more.
    scan: Scan<'t>,
    /// The fields in front of it.
    fields: SmallVec<[Field<'t>; 6]>,
}

#[derive(Clone, Copy)]
struct Field<'t> {
    name: Text<'t>,
    /// In front of its value.
    value: Scan<'t>,
}

/// The inside of a string, as it is written.
#[derive(Clone, Copy)]
struct Text<'t> {
    inside: &'t [u8],
    escaped: bool,
}

impl<'t> Text<'t> {
    fn is(self, wanted: &[u8]) -> bool {
        match self.escaped {
            false => self.inside == wanted,
            true => self.read().is_some_and(|text| *text == *wanted),
        }
    }

    fn read(self) -> Option<Cow<'t, [u8]>> {
        match self.escaped {
            false => Some(Cow::Borrowed(self.inside)),
            true => unescaped(self.inside),
        }
    }
}

impl<'t> Outline<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self { text, scan: Scan { rest: text }, fields: SmallVec::new() }
    }

    /// The text or number at a path of names and indexes; nothing where there is none.
    pub(super) fn find<'p>(&mut self, path: impl IntoIterator<Item = &'p str>) -> Option<Cow<'t, [u8]>> {
        let mut path = path.into_iter();
        let mut scan = Scan { rest: self.text };
        scan.space();
        if scan.peek() == Some(b'{') {
            scan = self.field(path.next()?.as_bytes())?;
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

    /// In front of the value of an outermost field.
    fn field(&mut self, name: &[u8]) -> Option<Scan<'t>> {
        if let Some(field) = self.fields.iter().find(|field| field.name.is(name)) {
            return Some(field.value);
        }
        while let Some(field) = self.next_field() {
            self.fields.push(field);
            if field.name.is(name) {
                return Some(field.value);
            }
        }
        self.scan.rest = &[];
        None
    }

    fn next_field(&mut self) -> Option<Field<'t>> {
        if self.fields.is_empty() {
            self.scan.expect(b'{')?;
        } else {
            self.scan.skip()?;
            self.scan.expect(b',')?;
        }
        let name = self.scan.name()?;
        Some(Field { name, value: self.scan })
    }
}

/// Bytes of a string that are looked at without a vectorised search.
const SHORT: usize = 32;

/// What is left of a text.
#[derive(Clone, Copy)]
struct Scan<'t> {
    rest: &'t [u8],
}

impl<'t> Scan<'t> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn space(&mut self) {
        while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.space();
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        self.space();
        (*first == byte).then_some(())
    }

    /// From the brace of an object to the value of a field.
    fn enter_field(&mut self, name: &[u8]) -> Option<()> {
        self.expect(b'{')?;
        while !self.name()?.is(name) {
            self.skip()?;
            self.expect(b',')?;
        }
        Some(())
    }

    /// The name of a field, and on to its value.
    #[inline]
    fn name(&mut self) -> Option<Text<'t>> {
        let name = self.string()?;
        self.expect(b':')?;
        Some(name)
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

    /// Names and most values are short and have no escape in them: their end is found where it is asked for.
    #[inline]
    fn string(&mut self) -> Option<Text<'t>> {
        let inside = self.rest.strip_prefix(b"\"")?;
        let short = inside.first_chunk::<8>().and_then(|word| quote_or_escape(*word));
        match short.and_then(|end| inside.split_at_checked(end)) {
            Some((inside, [b'"', rest @ ..])) => {
                self.rest = rest;
                Some(Text { inside, escaped: false })
            }
            _ => self.long_string(inside),
        }
    }

    #[inline(never)]
    fn long_string(&mut self, text: &'t [u8]) -> Option<Text<'t>> {
        let (mut end, mut escaped) = (0, false);
        loop {
            end += next_quote_or_escape(text.get(end..)?)?;
            if text[end] == b'"' {
                self.rest = &text[end + 1..];
                return Some(Text { inside: &text[..end], escaped });
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
            let (first, rest) = self.rest.split_first()?;
            match first {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.rest = rest;
            if depth == 0 {
                return Some(());
            }
            (depth <= MAX_DEPTH).then_some(())?;
        }
    }

    /// A number or a word.
    fn bare(&mut self) -> Option<&'t [u8]> {
        let more = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.');
        let end = self.rest.iter().position(more).unwrap_or(self.rest.len());
        let bare = self.rest.split_off(..end)?;
        (!bare.is_empty()).then_some(bare)
    }

    fn scalar(&mut self) -> Option<Cow<'t, [u8]>> {
        match self.peek()? {
            b'"' => self.string()?.read(),
            b'-' | b'0'..=b'9' => self.bare().map(Cow::Borrowed),
            _ => None,
        }
    }
}

/// How far it is to the next quote or backslash. The first bytes are looked at eight at a time: most
/// strings are shorter than what makes a vectorised search worth its beginning.
fn next_quote_or_escape(text: &[u8]) -> Option<usize> {
    let words = text.get(..SHORT).unwrap_or(text).as_chunks::<8>().0;
    for (number, word) in words.iter().enumerate() {
        if let Some(at) = quote_or_escape(*word) {
            return Some(number * 8 + at);
        }
    }
    let passed = words.len() * 8;
    Some(passed + memchr::memchr2(b'"', b'\\', &text[passed..])?)
}

/// Where the first quote or backslash of eight bytes is.
#[inline]
fn quote_or_escape(word: [u8; 8]) -> Option<usize> {
    let word = u64::from_le_bytes(word);
    let holds = |byte: u8| zero_bytes(word ^ (EVERY * u64::from(byte)));
    let found = holds(b'"') | holds(b'\\');
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
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
