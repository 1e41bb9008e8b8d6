//! Credentials inside a body, which may be cut off or broken: what cannot be read as a whole must not
//! slip through, and what is no credential stays byte for byte.

use super::MASK;
use crate::verify::form;

/// The value of every pair whose name is hidden masked, in a query or a form body.
pub(super) fn pairs(text: &[u8], hides: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let masked: Vec<Vec<u8>> = text
        .split(|b| *b == b'&')
        .map(|pair| match pair.iter().position(|b| *b == b'=') {
            Some(at) if hides(&form::decode(&pair[..at])) => [&pair[..=at], MASK].concat(),
            _ => pair.to_vec(),
        })
        .collect();
    masked.join(&b'&')
}

/// Every text and number masked that stands under a name that is hidden, at any depth of a JSON text.
pub(super) fn json(text: &[u8], hides: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut walk =
        Walk { rest: text, out: Vec::with_capacity(text.len()), depth: 0, named: false, hidden: None };
    while walk.step(&hides) {}
    walk.out
}

struct Walk<'t> {
    rest: &'t [u8],
    out: Vec<u8>,
    depth: usize,
    /// The next value stands under a name that is looked for.
    named: bool,
    /// How deep the list or object stands in which everything is masked.
    hidden: Option<usize>,
}

impl Walk<'_> {
    /// One token; false at the end.
    fn step(&mut self, hides: &impl Fn(&[u8]) -> bool) -> bool {
        let Some(first) = self.rest.first() else { return false };
        match first {
            b'"' => self.string(hides),
            b'{' | b'[' => {
                if std::mem::take(&mut self.named) && self.hidden.is_none() {
                    self.hidden = Some(self.depth);
                }
                self.depth += 1;
                self.copy(1);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.hidden = self.hidden.filter(|depth| *depth < self.depth);
                self.named = false;
                self.copy(1);
            }
            b',' => {
                self.named = false;
                self.copy(1);
            }
            b if is_bare(*b) => {
                let length = self.rest.iter().take_while(|b| is_bare(**b)).count();
                self.value(length, b"\"***\"");
            }
            _ => self.copy(1),
        }
        true
    }

    fn string(&mut self, hides: &impl Fn(&[u8]) -> bool) {
        let (length, closed) = string_length(self.rest);
        let after = self.rest[length..].trim_ascii_start();
        if after.first() != Some(&b':') {
            return self.value(length, if closed { b"\"***\"" } else { b"\"***" });
        }
        let name: Option<String> = serde_json::from_slice(&self.rest[..length]).ok();
        self.named = name.is_some_and(|name| hides(name.as_bytes()));
        self.copy(length);
    }

    fn value(&mut self, length: usize, mask: &[u8]) {
        if std::mem::take(&mut self.named) || self.hidden.is_some() {
            self.out.extend_from_slice(mask);
            self.rest = &self.rest[length..];
        } else {
            self.copy(length);
        }
    }

    fn copy(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.out.extend_from_slice(taken);
        self.rest = rest;
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// How long the string is that a text begins with, and whether it ends in it.
fn string_length(text: &[u8]) -> (usize, bool) {
    let mut at = 1;
    loop {
        match text.get(at) {
            None => return (text.len(), false),
            Some(b'"') => return (at + 1, true),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
        if at > text.len() {
            return (text.len(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_state(name: &[u8]) -> bool {
        name == b"state"
    }

    fn json_text(text: &str) -> String {
        String::from_utf8(json(text.as_bytes(), is_state)).unwrap()
    }

    #[test]
    fn values_of_a_name_are_masked_and_the_rest_stays() {
        for (text, masked) in [
            (r#"{ "state" : "se\"cret" , "b":"state"}"#, r#"{ "state" : "***" , "b":"state"}"#),
            (r#"[{"state":12.5e3},{"x":{"state":null}}]"#, r#"[{"state":"***"},{"x":{"state":"***"}}]"#),
            (r#"{"state":"a","state":"b"}"#, r#"{"state":"***","state":"***"}"#),
            (r#"{"\u0073tate":"a"}"#, r#"{"\u0073tate":"***"}"#),
            (r#"{"state":["a",{"k":"b"}],"c":"d"}"#, r#"{"state":["***",{"k":"***"}],"c":"d"}"#),
            (r#"{"states":"a","State":"b"}"#, r#"{"states":"a","State":"b"}"#),
            (r#"{"state":}"#, r#"{"state":}"#),
            ("{\"state\":\"cut o", "{\"state\":\"***"),
            ("{\"state\":\"cut \\", "{\"state\":\"***"),
            ("\u{feff}{broken \"state\":\"a\" x", "\u{feff}{broken \"state\":\"***\" x"),
            ("", ""),
        ] {
            assert_eq!(json_text(text), masked, "{text}");
        }
    }

    #[test]
    fn pairs_are_told_by_their_decoded_names() {
        let masked = |text: &[u8]| String::from_utf8(pairs(text, |name| name == b"a b")).unwrap();
        assert_eq!(masked(b"x=1&a+b=secret&%61%20b=other=x&a b&ab=2"), "x=1&a+b=***&%61%20b=***&a b&ab=2");
    }

    proptest! {
        #[test]
        fn a_text_without_the_name_is_left_alone(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(json(&text, is_state), text.clone());
            prop_assert_eq!(pairs(&text, is_state), text);
        }

        #[test]
        fn whatever_is_cut_the_secret_is_gone(cut in 0_usize..60, space in "[ \n\t]{0,3}") {
            let text = format!("{{\"a\":[1,\"x\"],\"state\"{space}:{space}\"0123456789\",\"b\":2}}");
            let kept = json(&text.as_bytes()[..cut.min(text.len())], is_state);
            prop_assert!(!kept.windows(3).any(|part| part == b"012"));
        }
    }
}
