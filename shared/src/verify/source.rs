//! Where in a request a value is read from: `header:Name`, `query:name`, `json:/pointer` and so on.

use super::request::View;
use super::verdict::Refusal;
use serde_json::Value;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Highest number in a numbered family of headers (`X-DocuSign-Signature-1` to `-100`).
const FAMILY: u32 = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Header(HeaderName),
    /// A numbered family; the name up to the number.
    HeaderFamily(String),
    Query(String),
    Form(String),
    Json(Pointer),
    Claim(String),
}

/// A header as the configuration spells it. Servers hand names on in small letters, so that such a
/// spelling finds them at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderName {
    spelt: String,
    lower: String,
}

impl From<&str> for HeaderName {
    fn from(spelt: &str) -> Self {
        Self { spelt: spelt.to_owned(), lower: spelt.to_ascii_lowercase() }
    }
}

impl HeaderName {
    /// In small letters: what to look for in a request.
    pub(super) fn lower(&self) -> &str {
        &self.lower
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelt)
    }
}

impl Deref for HeaderName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.spelt
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header {name}"),
            Self::HeaderFamily(name) => write!(f, "header {name}1"),
            Self::Query(name) => write!(f, "query parameter {name}"),
            Self::Form(name) => write!(f, "form field {name}"),
            Self::Json(pointer) => write!(f, "JSON field {}", pointer.text),
            Self::Claim(name) => write!(f, "claim {name}"),
        }
    }
}

impl Source {
    /// Reads the spelling of the configuration.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (kind, name) = text.split_once(':').ok_or_else(|| unknown(text))?;
        if name.is_empty() {
            return Err(format!("`{text}` names nothing"));
        }
        match kind {
            "header" => Ok(match name.strip_suffix("{n}") {
                Some(stem) => Self::HeaderFamily(stem.to_owned()),
                None => Self::Header(name.into()),
            }),
            "query" => Ok(Self::Query(name.to_owned())),
            "form" => Ok(Self::Form(name.to_owned())),
            "json" => Pointer::parse(name).map(Self::Json),
            "claim" => Ok(Self::Claim(name.to_owned())),
            _ => Err(unknown(text)),
        }
    }

    /// The one value, or nothing when it is absent or empty.
    #[inline]
    pub(super) fn get<'v>(&self, view: &'v View<'_>) -> Result<Option<Cow<'v, [u8]>>, Refusal> {
        let found = match self {
            // Never empty.
            Self::Header(name) => return view.header(&name.lower),
            Self::HeaderFamily(_) => self.all(view).into_iter().next(),
            Self::Query(name) => view.query_value(name)?,
            Self::Form(name) => view.form_value(name)?,
            Self::Json(pointer) => pointer.text_of(view),
            Self::Claim(_) => None,
        };
        Ok(found.filter(|value| !value.is_empty()))
    }

    /// The same of a genuine request, where a field of the body is worth no reading of the whole: of
    /// two fields of one name the first counts.
    pub(super) fn glance<'a>(&self, view: &View<'a>) -> Option<Cow<'a, [u8]>> {
        let found = match self {
            Self::Header(name) => return view.header(&name.lower).ok().flatten(),
            Self::Json(pointer) if !pointer.is_list() => view.glance(pointer.names()),
            other => other.get(view).ok().flatten().map(|value| Cow::Owned(value.into_owned())),
        };
        found.filter(|value| !value.is_empty())
    }

    /// Every value of a list: repeated lines are one list, a family is read in order of its numbers.
    pub(super) fn all<'v>(&self, view: &'v View<'_>) -> SmallVec<[Cow<'v, [u8]>; 2]> {
        match self {
            // The bare constructor would keep the request's own, longer lifetime.
            #[expect(clippy::redundant_closure)]
            Self::Header(name) => view.header_lines(&name.lower).map(|line| Cow::Borrowed(line)).collect(),
            Self::HeaderFamily(stem) => family(view, stem),
            other => other.get(view).ok().flatten().into_iter().collect(),
        }
    }

    /// Is the value inside the body rather than around it?
    pub(super) fn in_body(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Form(_))
    }

    /// Spelt as in the configuration.
    pub(super) fn spelling(&self) -> String {
        match self {
            Self::Header(name) => format!("header:{name}"),
            Self::HeaderFamily(stem) => format!("header:{stem}{{n}}"),
            Self::Query(name) => format!("query:{name}"),
            Self::Form(name) => format!("form:{name}"),
            Self::Json(pointer) => format!("json:{}", pointer.text),
            Self::Claim(name) => format!("claim:{name}"),
        }
    }
}

fn unknown(text: &str) -> String {
    format!("`{text}` is not a source; write header:Name, query:name, form:name, json:/pointer or claim:name")
}

fn family<'v>(view: &'v View<'_>, stem: &str) -> SmallVec<[Cow<'v, [u8]>; 2]> {
    let mut numbered: Vec<(u32, &[u8])> = view
        .request
        .headers
        .iter()
        .filter_map(|(name, value)| Some((family_number(name, stem)?, value.trim_ascii())))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, value)| Cow::Borrowed(value)).collect()
}

fn family_number(name: &[u8], stem: &str) -> Option<u32> {
    let (head, tail) = name.split_at_checked(stem.len())?;
    if !head.eq_ignore_ascii_case(stem.as_bytes())
        || tail.first() == Some(&b'0')
        || tail.first() == Some(&b'+')
    {
        return None;
    }
    let number: u32 = std::str::from_utf8(tail).ok()?.parse().ok()?;
    (1..=FAMILY).contains(&number).then_some(number)
}

/// The first source of a list that is there.
pub(super) fn first<'v>(sources: &[Source], view: &'v View<'_>) -> Result<Option<Cow<'v, [u8]>>, Refusal> {
    for source in sources {
        if let Some(value) = source.get(view)? {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// The first source of a list that is there in a genuine request.
pub(super) fn first_glance<'a>(sources: &[Source], view: &View<'a>) -> Option<Cow<'a, [u8]>> {
    sources.iter().find_map(|source| source.glance(view))
}

/// How people are told what is missing: the first source, and that others would do.
pub(super) fn naming(sources: &[Source]) -> String {
    match sources {
        [] => "the value".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => {
            let others: Vec<String> = rest.iter().map(Source::to_string).collect();
            format!("{first} (or {})", others.join(", "))
        }
    }
}

/// A JSON pointer (RFC 6901) in which `*` stands for every item of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    text: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Every,
}

impl Pointer {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some(path) = text.strip_prefix('/') else {
            return Err(format!("`{text}` is not a JSON pointer: it must begin with /"));
        };
        let steps = path
            .split('/')
            .map(|step| match step {
                "*" => Step::Every,
                name => Step::Name(name.replace("~1", "/").replace("~0", "~")),
            })
            .collect();
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The last name on the way that is no index.
    pub(super) fn last_name(&self) -> Option<&str> {
        let named = |name: &&str| !name.bytes().all(|b| b.is_ascii_digit());
        self.names().filter(named).last()
    }

    pub(super) fn is_list(&self) -> bool {
        self.steps.contains(&Step::Every)
    }

    /// The names along the way; none for a pointer with `*`.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            Step::Name(name) => Some(name.as_str()),
            Step::Every => None,
        })
    }

    pub(super) fn value_in<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.every_in(root).into_iter().next().flatten()
    }

    /// The text or number in a request's body; a number as it is written there, since that is what was signed.
    fn text_of<'v>(&self, view: &'v View<'_>) -> Option<Cow<'v, [u8]>> {
        let value = self.value_in(view.json()?)?;
        let written = || {
            view.glance(self.names())
                .filter(|written| serde_json::from_slice(written).ok().as_ref() == Some(value))
        };
        match value {
            Value::Number(_) if !self.is_list() => written().or_else(|| scalar(value)),
            _ => scalar(value),
        }
    }

    /// What the pointer leads to, once for each item of the lists on its way; `None` for an item
    /// in which the rest of the way is missing. A list that is itself missing or empty gives nothing.
    pub(super) fn every_in<'v>(&self, root: &'v Value) -> Vec<Option<&'v Value>> {
        let mut here = vec![Some(root)];
        for step in &self.steps {
            here = match step {
                Step::Name(name) => here.into_iter().map(|value| child(value?, name)).collect(),
                Step::Every => here.into_iter().flat_map(items).collect(),
            };
        }
        here
    }
}

fn child<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(name),
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

fn items(value: Option<&Value>) -> Vec<Option<&Value>> {
    value.and_then(Value::as_array).map(|list| list.iter().map(Some).collect()).unwrap_or_default()
}

/// A text or a number as bytes; nothing else is a value.
pub(super) fn scalar(value: &Value) -> Option<Cow<'_, [u8]>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text.as_bytes())),
        Value::Number(number) => Some(Cow::Owned(number.to_string().into_bytes())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn every(pointer: &str, root: &Value) -> Vec<Option<String>> {
        let pointer = Pointer::parse(pointer).unwrap();
        pointer.every_in(root).into_iter().map(|v| v.map(Value::to_string)).collect()
    }

    #[test]
    fn pointers_follow_names_indexes_and_stars() {
        let root = json!({"value": [{"a~/b": 1}, {"c": 2}], "n": 7});
        assert_eq!(every("/value/0/a~0~1b", &root), [Some("1".to_owned())]);
        assert_eq!(every("/value/*/c", &root), [None, Some("2".to_owned())]);
        assert_eq!(every("/n", &root), [Some("7".to_owned())]);
        assert!(every("/none/*/c", &root).is_empty());
        assert!(Pointer::parse("value").is_err());
    }

    #[test]
    fn a_family_takes_plain_numbers_from_1_to_100() {
        for (name, number) in [("x-sig-1", Some(1)), ("X-Sig-100", Some(100))] {
            assert_eq!(family_number(name.as_bytes(), "X-Sig-"), number);
        }
        for name in ["X-Sig-0", "X-Sig-01", "X-Sig-+1", "X-Sig-101", "X-Sig-", "X-Si", "X-Sig-1a"] {
            assert_eq!(family_number(name.as_bytes(), "X-Sig-"), None, "{name}");
        }
    }
}
