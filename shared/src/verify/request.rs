//! A request as it came in, and the parts of it that are read only when a scheme asks.

use super::form::{self, Pair};
use super::json;
use super::verdict::Refusal;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;
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
    json: OnceCell<Option<Value>>,
    form: OnceCell<Vec<Pair>>,
    query: OnceCell<Vec<Pair>>,
}

impl<'a> View<'a> {
    pub(super) fn new(request: Request<'a>) -> Self {
        Self { request, json: OnceCell::new(), form: OnceCell::new(), query: OnceCell::new() }
    }

    /// The body as JSON, whatever its declared type: SNS sends JSON as text.
    pub(super) fn json(&self) -> Option<&Value> {
        self.json.get_or_init(|| json::read(self.request.body)).as_ref()
    }

    /// The fields of a form body. A body that says it is something else has none.
    pub(super) fn form(&self) -> &[Pair] {
        self.form.get_or_init(|| if self.may_be_form() { form::pairs(self.request.body) } else { Vec::new() })
    }

    pub(super) fn query(&self) -> &[Pair] {
        self.query.get_or_init(|| match self.request.target.split_once('?') {
            Some((_, query)) => form::pairs(query.as_bytes()),
            None => Vec::new(),
        })
    }

    fn may_be_form(&self) -> bool {
        match self.header_lines("content-type").next() {
            Some(value) => media_type(value).eq_ignore_ascii_case(b"application/x-www-form-urlencoded"),
            None => true,
        }
    }

    /// Every non-empty value of a header, trimmed, in order.
    pub(super) fn header_lines<'s>(&self, name: &'s str) -> HeaderLines<'a, 's> {
        HeaderLines { rest: self.request.headers, name: name.as_bytes() }
    }

    /// The value of a header that may stand there once. Equal repeats count as one.
    pub(super) fn header(&self, name: &str) -> Result<Option<Cow<'a, [u8]>>, Refusal> {
        let mut lines = self.header_lines(name);
        let Some(first) = lines.next() else { return Ok(None) };
        if lines.any(|other| other != first) {
            return Err(twice(&format!("header {name}")));
        }
        Ok(Some(Cow::Borrowed(first)))
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

/// The values of one header among all.
pub(super) struct HeaderLines<'a, 's> {
    rest: &'a [(Vec<u8>, Vec<u8>)],
    name: &'s [u8],
}

impl<'a> Iterator for HeaderLines<'a, '_> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        // Gone through several times for each request: nearly all names differ in length already.
        for (at, (key, value)) in self.rest.iter().enumerate() {
            if key.len() == self.name.len() && same_name(key, self.name) {
                let value = trim(value);
                if !value.is_empty() {
                    self.rest = &self.rest[at + 1..];
                    return Some(value);
                }
            }
        }
        self.rest = &[];
        None
    }
}

/// Are two names of one length the same but for the case of letters? Most that differ do so in their
/// last letter, and most that are the same are spelt the same.
fn same_name(a: &[u8], b: &[u8]) -> bool {
    let differing = a.last().zip(b.last()).map_or(0, |(a, b)| a ^ b);
    differing & !0x20 == 0 && (a == b || a.eq_ignore_ascii_case(b))
}

fn single<'v>(
    mut values: impl Iterator<Item = &'v [u8]>,
    what: impl FnOnce() -> String,
) -> Result<Option<&'v [u8]>, Refusal> {
    let Some(first) = values.next() else { return Ok(None) };
    if values.any(|other| other != first) {
        return Err(twice(&what()));
    }
    Ok(Some(first))
}

fn twice(what: &str) -> Refusal {
    Refusal::malformed(format!("{what} is there twice with different values"))
}

/// Outer white space is no part of a header value.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

/// A `Content-Type` without its parameters.
pub(super) fn media_type(value: &[u8]) -> &[u8] {
    value.split(|b| *b == b';').next().unwrap_or_default().trim_ascii()
}
