//! Names and values: of a query string or of a form.

use crate::error::Error;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but what RFC 3986 calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a part of a URL.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Decoded pairs in order. Empty values count as not given: a form sends every field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// Reads `a=1&b=2`. What is not UTF-8 is replaced.
    pub fn parse(text: &str) -> Self {
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    pub fn of(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, value)| known == name && !value.is_empty())?;
        Some(&found.1)
    }

    /// The value as it is, also if it is empty.
    pub fn raw(&self, name: &str) -> Option<&str> {
        Some(&self.0.iter().find(|(known, _)| known == name)?.1)
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let same = self.0.iter().filter(move |(known, value)| known == name && !value.is_empty());
        same.map(|(_, value)| value.as_str())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// True for `1`, `true`, `on` and `yes`.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value, "1" | "true" | "on" | "yes"))
    }

    /// A number between bounds.
    pub fn number(&self, name: &str, low: i64, high: i64) -> Result<Option<i64>, Error> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.parse::<i64>() {
            Ok(number) if (low..=high).contains(&number) => Ok(Some(number)),
            _ => Err(Error::invalid(format!("{name}: must be a whole number from {low} to {high}"))),
        }
    }

    /// A time.
    pub fn moment(&self, name: &str) -> Result<Option<time::OffsetDateTime>, Error> {
        self.get(name)
            .map(|text| crate::moment::parse(text).map_err(|why| Error::invalid(format!("{name}: {why}"))))
            .transpose()
    }

    /// Text that the database can hold.
    pub fn text(&self, name: &str) -> Result<Option<String>, Error> {
        match self.get(name) {
            Some(text) if text.contains('\0') => {
                Err(Error::invalid(format!("{name}: holds a character that nothing stored has")))
            }
            other => Ok(other.map(str::to_owned)),
        }
    }

    /// The same with one value replaced, as a query string without `?`.
    pub fn with(&self, name: &str, value: Option<&str>) -> String {
        let kept = self.0.iter().filter(|(known, value)| known != name && !value.is_empty());
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let pairs = kept.chain(value.map(|value| (name, value)));
        pairs.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect::<Vec<_>>().join("&")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_are_not_given() {
        let pairs = Pairs::parse("a=&b=x+y&b=%41&c=1");
        assert_eq!((pairs.get("a"), pairs.get("b")), (None, Some("x y")));
        assert_eq!(pairs.all("b").collect::<Vec<_>>(), ["x y", "A"]);
        assert_eq!(pairs.with("c", Some("a&b")), "b=x%20y&b=A&c=a%26b");
        assert!(pairs.number("c", 2, 3).is_err() && pairs.number("c", 0, 3).is_ok());
    }
}
