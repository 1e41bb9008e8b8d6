//! Finding one field of a JSON text without reading the rest: the text is skipped up to the field and
//! not beyond it. For what is only read from genuine requests, such as their id. The first of two
//! fields of the same name counts.

use smallvec::SmallVec;
use std::borrow::Cow;

/// How deep a text is followed when it is skipped; deeper ones have no fields.
const MAX_DEPTH: usize = 128;

/// A JSON text whose outermost fields are walked once, and only as far as they are asked for.
pub(super) struct Outline<'t> {
    rest: Fields<'t>,
    /// The fields that have been walked past.
    known: SmallVec<[Field<'t>; 6]>,
}

#[derive(Clone, Copy)]
struct Field<'t> {
    name: Text<'t>,
    /// Where its value begins.
    value: usize,
}

/// The inside of a string, as it is written.
#[derive(Clone, Copy)]
struct Text<'t> {
    inside: &'t [u8],
    escapes: usize,
}

impl<'t> Text<'t> {
    #[inline]
    fn is(self, wanted: &[u8]) -> bool {
        match self.escapes {
            0 => self.inside == wanted,
            _ => unescaped(self.inside).is_some_and(|text| text == wanted),
        }
    }

    fn read(self) -> Option<Cow<'t, [u8]>> {
        match self.escapes {
            0 => Some(Cow::Borrowed(self.inside)),
            _ => unescaped(self.inside).map(Cow::Owned),
        }
    }

    /// With its quotes.
    fn written(self) -> usize {
        self.inside.len() + 2
    }
}

impl<'t> Outline<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let json = Json(text);
        Self { rest: Fields::new(json, json.space(0)), known: SmallVec::new() }
    }

    /// The text or number at a path of names and indexes; nothing where there is none.
    pub(super) fn find<'p>(&mut self, path: impl IntoIterator<Item = &'p str>) -> Option<Cow<'t, [u8]>> {
        let json = self.rest.json;
        let mut path = path.into_iter();
        let mut at = json.space(0);
        if json.peek(at) == Some(b'{') {
            at = self.field(path.next()?.as_bytes())?;
        }
        for name in path {
            at = match json.peek(at)? {
                b'{' => Fields::new(json, at).find(|field| field.name.is(name.as_bytes()))?.value,
                b'[' => json.item(at, name.parse().ok()?)?,
                _ => return None,
            };
        }
        json.scalar(at)
    }

    /// Where the value of an outermost field begins.
    fn field(&mut self, name: &[u8]) -> Option<usize> {
        if let Some(field) = self.known.iter().find(|field| field.name.is(name)) {
            return Some(field.value);
        }
        for field in self.rest.by_ref() {
            self.known.push(field);
            if field.name.is(name) {
                return Some(field.value);
            }
        }
        None
    }
}

/// The fields of an object, up to its end or to what cannot be read.
struct Fields<'t> {
    json: Json<'t>,
    /// At the brace of the object, then at the value of the last field.
    at: Option<usize>,
    begun: bool,
}

impl<'t> Fields<'t> {
    fn new(json: Json<'t>, brace: usize) -> Self {
        Self { json, at: Some(brace), begun: false }
    }
}

impl<'t> Iterator for Fields<'t> {
    type Item = Field<'t>;

    // Handed on in registers: a field that goes through memory is waited for.
    #[inline(always)]
    fn next(&mut self) -> Option<Field<'t>> {
        let (json, at) = (self.json, self.at.take()?);
        let name_at = match self.begun {
            false => json.past(at, b'{')?,
            true => json.past(json.end(at)?, b',')?,
        };
        let name = json.string(name_at)?;
        let value = json.past(name_at + name.written(), b':')?;
        (self.at, self.begun) = (Some(value), true);
        Some(Field { name, value })
    }
}

/// A text, read from any place in it.
#[derive(Clone, Copy)]
struct Json<'t>(&'t [u8]);

impl<'t> Json<'t> {
    #[inline]
    fn peek(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Past white space, of which there nearly always is none.
    #[inline]
    fn space(self, mut at: usize) -> usize {
        while self.peek(at).is_some_and(|byte| byte <= b' ' && matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            at += 1;
        }
        at
    }

    /// Past one character, and the white space around it.
    #[inline]
    fn past(self, at: usize, byte: u8) -> Option<usize> {
        let at = self.space(at);
        (self.peek(at)? == byte).then(|| self.space(at + 1))
    }

    /// Where an item begins of the list that begins at `at`.
    fn item(self, at: usize, index: usize) -> Option<usize> {
        let mut at = self.past(at, b'[')?;
        for _ in 0..index {
            at = self.past(self.end(at)?, b',')?;
        }
        Some(at)
    }

    /// Names and most values are short and have no escape in them: their end is found where it is asked for.
    #[inline]
    fn string(self, at: usize) -> Option<Text<'t>> {
        let inside = self.0.get(at..)?.strip_prefix(b"\"")?;
        match short_end(inside).and_then(|end| inside.split_at_checked(end)) {
            Some((inside, [b'"', ..])) => Some(Text { inside, escapes: 0 }),
            _ => long_string(inside),
        }
    }

    /// Past the value that begins here.
    #[inline]
    fn end(self, at: usize) -> Option<usize> {
        match self.peek(at)? {
            b'"' => self.string(at).map(|text| at + text.written()),
            b'{' | b'[' => self.end_of_container(at),
            _ => self.bare(at).map(|bare| at + bare.len()),
        }
    }

    fn end_of_container(self, mut at: usize) -> Option<usize> {
        let mut depth = 0;
        loop {
            match self.peek(at)? {
                b'"' => {
                    at += self.string(at)?.written();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return Some(at);
            }
            (depth <= MAX_DEPTH).then_some(())?;
        }
    }

    /// A number or a word.
    fn bare(self, at: usize) -> Option<&'t [u8]> {
        let rest = self.0.get(at..)?;
        let more = |byte: &u8| !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.');
        let bare = &rest[..rest.iter().position(more).unwrap_or(rest.len())];
        (!bare.is_empty()).then_some(bare)
    }

    fn scalar(self, at: usize) -> Option<Cow<'t, [u8]>> {
        match self.peek(at)? {
            b'"' => self.string(at)?.read(),
            b'-' | b'0'..=b'9' => self.bare(at).map(Cow::Borrowed),
            _ => None,
        }
    }
}

/// The string whose inside a text begins with.
#[inline(never)]
fn long_string(text: &[u8]) -> Option<Text<'_>> {
    let (mut end, mut escapes) = (0, 0);
    loop {
        end += memchr::memchr2(b'"', b'\\', text.get(end..)?)?;
        if text[end] == b'"' {
            return Some(Text { inside: &text[..end], escapes });
        }
        escapes += 1;
        end += 2;
    }
}

/// Where the first quote or backslash is, if it is among the first bytes: most strings are shorter than what
/// makes a vectorised search worth its beginning.
#[inline]
fn short_end(text: &[u8]) -> Option<usize> {
    let [one, two] = text.first_chunk::<16>()?.as_chunks::<8>().0 else { return None };
    quote_or_escape(*one).or_else(|| Some(8 + quote_or_escape(*two)?))
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

#[cold]
fn unescaped(inside: &[u8]) -> Option<Vec<u8>> {
    let quoted = [b"\"", inside, b"\""].concat();
    let text: String = serde_json::from_slice(&quoted).ok()?;
    Some(text.into_bytes())
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
