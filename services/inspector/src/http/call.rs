//! A request as handlers see it.

use super::Pairs;
use crate::error::Error;
use crate::state::State;
use crate::store::Lent;
use crate::who::{Origin, Who};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;

/// The parts of the request that are known before its body is read.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    pub method: String,
    pub path: String,
    pub query_string: String,
    pub host: String,
    /// Over TLS, as far as can be told.
    pub https: bool,
    pub origin: Origin,
    /// Lower-case names; only those that something asks for.
    pub headers: HashMap<&'static str, String>,
}

impl Incoming {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Whether cookies get `Secure`.
    pub fn secure_cookies(&self, state: &State) -> bool {
        state.config.inspector.secure_cookies.unwrap_or(self.https)
    }

    /// Where people reach this page: `public_url`, else as this request did.
    pub fn base_url(&self, state: &State) -> String {
        match &state.config.public_url {
            Some(url) => url.clone(),
            None => format!("{}://{}", if self.https { "https" } else { "http" }, self.host),
        }
    }
}

/// A request that may go on: who calls is known and allowed, the body is read.
#[derive(Debug)]
pub struct Call {
    pub state: State,
    pub who: Who,
    pub incoming: Incoming,
    pub params: HashMap<String, String>,
    pub query: Pairs,
    pub body: Bytes,
}

impl Call {
    /// A part of the path. The route table names it, so it is there.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// A part of the path that is an id; anything else is not there.
    pub fn uuid(&self, name: &str, what: &'static str) -> Result<uuid::Uuid, Error> {
        self.param(name).parse().map_err(|_| Error::NotFound(what))
    }

    /// A sequence number of the path.
    pub fn sequence(&self) -> Result<i64, Error> {
        self.param("sequence").parse().ok().filter(|n| *n > 0).ok_or(Error::NotFound("event"))
    }

    pub async fn session(&self) -> Result<Lent, Error> {
        Ok(self.state.session().await?)
    }

    /// The JSON body; an empty one counts as `{}`. What a body may hold, its type says: each denies unknown members.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if self.body.is_empty() {
            return serde_json::from_slice(b"{}").map_err(|error| Error::invalid(words_of(&error)));
        }
        let kind = self.incoming.header("content-type").unwrap_or_default();
        if !is_type(kind, "application/json") {
            return Err(Error::MediaType("application/json"));
        }
        // A list of values would be read as the members in order, which nobody means.
        if self.body.trim_ascii_start().first() == Some(&b'[') {
            return Err(Error::invalid("the body must be a JSON object, not a list"));
        }
        read_json(&self.body).map_err(Error::invalid)
    }

    /// Refuses a JSON body with anything in it: the route takes none, so what it says would not be done.
    pub fn expect_no_members(&self) -> Result<(), Error> {
        let kind = self.incoming.header("content-type").unwrap_or_default();
        if is_type(kind, "application/json") { self.json::<Nothing>().map(drop) } else { Ok(()) }
    }

    /// The fields of a form.
    pub fn form(&self) -> Result<Pairs, Error> {
        let kind = self.incoming.header("content-type").unwrap_or_default();
        if !self.body.is_empty() && !is_type(kind, "application/x-www-form-urlencoded") {
            return Err(Error::MediaType("application/x-www-form-urlencoded"));
        }
        Ok(Pairs::parse(&String::from_utf8_lossy(&self.body)))
    }
}

fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = members(&mut reader)?;
    reader.end().map_err(|error| words_of(&error))?;
    Ok(value)
}

/// Reads what a body holds; the error names the member that is wrong.
pub fn members<'d, T, D>(reader: D) -> Result<T, String>
where
    T: Deserialize<'d>,
    D: Deserializer<'d, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let words = words_of(error.inner());
        match error.path().to_string().as_str() {
            path if path != "." && error.inner().is_data() && !words.starts_with(path) => {
                format!("{path}: {words}")
            }
            _ => words,
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

pub(super) fn is_type(given: &str, wanted: &str) -> bool {
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

/// What is wrong with a body, without the names of our types.
fn words_of(error: &serde_json::Error) -> String {
    if error.is_syntax() || error.is_eof() {
        return format!("the body is not JSON: line {}, column {}", error.line(), error.column());
    }
    let text = error.to_string();
    if let Some(words) = unknown_member(&text) {
        return words;
    }
    match text.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected an object"),
        None => text,
    }
}

/// A misspelt member would be left out without a word, so it is refused, and those that exist are named. The text is
/// serde's: "unknown field `…`, expected one of `…`, `…` at line 1 column 9".
fn unknown_member(text: &str) -> Option<String> {
    let rest = text.strip_prefix("unknown field `")?;
    let (name, known) =
        rest.rsplit_once("`, expected ").or_else(|| rest.rsplit_once("`, there are no fields"))?;
    // Odd pieces are the known names, which hold no quote; what stands after them is a place.
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    Some(match known.as_slice() {
        [] => format!("{name}: is not a member of this body, which has none"),
        known => format!("{name}: is not a member of this body; it has {}", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Two {
        a: Option<u8>,
        b: Option<u8>,
    }

    #[test]
    fn a_member_of_a_wrong_type_is_named() {
        let told = |text: &str| read_json::<Two>(text.as_bytes()).expect_err(text);
        assert!(told(r#"{"a": "x"}"#).starts_with("a: invalid type: string"), "{}", told(r#"{"a": "x"}"#));
        assert!(told(r#"{"b": 300}"#).starts_with("b: invalid value"));
        assert_eq!(told(r#"{"c": 1}"#), "c: is not a member of this body; it has a, b");
        assert!(told(r#"{"a": 1} x"#).starts_with("the body is not JSON"));
    }

    #[test]
    fn an_unknown_member_is_named_with_those_that_exist() {
        let told = |text: &str| words_of(&serde_json::from_str::<Two>(text).expect_err(text));
        assert_eq!(told(r#"{"c": 1}"#), "c: is not a member of this body; it has a, b");
        // A name that looks like serde's own words.
        assert_eq!(
            told(r#"{"x`, expected `y": 1}"#),
            "x`, expected `y: is not a member of this body; it has a, b"
        );
        let nothing = serde_json::from_str::<Nothing>(r#"{"c": 1}"#).map(drop);
        assert_eq!(
            words_of(&nothing.expect_err("no member")),
            "c: is not a member of this body, which has none"
        );
    }
}
