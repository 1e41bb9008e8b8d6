//! A request as it came in, and the parts of it that are read only when a scheme asks.

use super::form::{self, Pair};
use super::json;
use super::scan::Outline;
use super::verdict::Refusal;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::net::IpAddr;

/// One request, whole. Nothing in it has been decoded, trimmed or re-written.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub method: &'a str,
    /// Path and query as sent.
    pub target: &'a str,
    /// In order, repeats kept.
    pub headers: &'a [(Vec<u8>, Vec<u8>)],
    pub body: &'a [u8],
    /// The sender, after trusted proxies have been taken off.
    pub remote_addr: Option<IpAddr>,
}

/// A request with its body and query parsed at most once, on demand.
pub(super) struct View<'a> {
    pub(super) request: Request<'a>,
    outline: RefCell<Outline<'a>>,
    json: OnceCell<Option<Value>>,
    form: OnceCell<Vec<Pair>>,
    query: OnceCell<Vec<Pair>>,
}

impl<'a> View<'a> {
    pub(super) fn new(request: Request<'a>) -> Self {
        Self {
            request,
            outline: RefCell::new(Outline::new(request.body)),
            json: OnceCell::new(),
            form: OnceCell::new(),
            query: OnceCell::new(),
        }
    }

    /// A text or number of the JSON body, found without reading all of it.
    pub(super) fn glance<'p>(&self, path: impl Iterator<Item = &'p str>) -> Option<Cow<'a, [u8]>> {
        self.outline.borrow_mut().find(path)
    }

    /// The body as JSON, whatever its declared type: SNS sends JSON as text.
    pub(super) fn json(&self) -> Option<&Value> {
        self.json.get_or_init(|| json::read(self.request.body)).as_ref()
    }

    /// The fields of a form body. A body that says it is something else has none.
    pub(super) fn form(&self) -> &[Pair] {
        match self.may_be_form() {
            true => self.form.get_or_init(|| form::pairs(self.request.body)),
            false => &[],
        }
    }

    pub(super) fn query(&self) -> &[Pair] {
        self.query.get_or_init(|| match self.request.target.split_once('?') {
            Some((_, query)) => form::pairs(query.as_bytes()),
            None => Vec::new(),
        })
    }

    fn may_be_form(&self) -> bool {
        const FORM: &[u8] = b"application/x-www-form-urlencoded";
        match self.header_lines("content-type").next() {
            Some(value) => value.len() >= FORM.len() && media_type(value).eq_ignore_ascii_case(FORM),
            None => true,
        }
    }

    /// Every non-empty value of a header, trimmed, in order.
    pub(super) fn header_lines<'s>(&self, name: &'s str) -> impl Iterator<Item = &'a [u8]> + use<'a, 's> {
        // Gone through several times for each request: nearly all names differ in length already, most of the
        // others in their end, and what is left is nearly always spelt in the same way.
        let name = name.as_bytes();
        let named = move |key: &[u8]| {
            key.len() == name.len() && same_end(key, name) && (key == name || key.eq_ignore_ascii_case(name))
        };
        let lines = self.request.headers.iter().filter(move |(key, _)| named(key));
        lines.map(|(_, value)| trim(value)).filter(|value| !value.is_empty())
    }

    /// The value of a header that may stand there once. Equal repeats count as one.
    #[inline(always)]
    pub(super) fn header(&self, name: &str) -> Result<Option<Cow<'a, [u8]>>, Refusal> {
        single(self.header_lines(name), || format!("header {name}")).map(|found| found.map(Cow::Borrowed))
    }

    pub(super) fn query_value(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Refusal> {
        let values = self.query().iter().filter(|(key, _)| key == name.as_bytes()).map(|(_, v)| v.as_slice());
        single(values, || format!("query parameter {name}")).map(|found| found.map(Cow::Borrowed))
    }

    pub(super) fn form_value(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>, Refusal> {
        let values = self.form().iter().filter(|(key, _)| key == name.as_bytes()).map(|(_, v)| v.as_slice());
        single(values, || format!("form field {name}")).map(|found| found.map(Cow::Borrowed))
    }
}

/// May two names end in the same letter, whatever its case?
fn same_end(a: &[u8], b: &[u8]) -> bool {
    const CASE: u8 = b'a' ^ b'A';
    matches!((a, b), ([.., a], [.., b]) if (a ^ b) & !CASE == 0)
}

#[inline]
fn single<'v>(
    mut values: impl Iterator<Item = &'v [u8]>,
    what: impl FnOnce() -> String,
) -> Result<Option<&'v [u8]>, Refusal> {
    match values.next() {
        Some(first) if values.any(|value| value != first) => {
            Err(Refusal::malformed(format!("{} is there twice with different values", what())))
        }
        found => Ok(found),
    }
}

/// Outer white space is no part of a header value.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// A `Content-Type` without its parameters.
pub(super) fn media_type(value: &[u8]) -> &[u8] {
    value.split(|b| *b == b';').next().unwrap_or_default().trim_ascii()
}
