//! An answer, before it is actix's: it can cross threads.

use bytes::Bytes;
use futures_util::Stream;
use serde::Serialize;
use std::pin::Pin;

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, std::io::Error>> + Send>>;

pub enum Body {
    Empty,
    Whole(Bytes),
    Stream(Chunks),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Empty => f.write_str("Empty"),
            Body::Whole(bytes) => write!(f, "Whole({})", bytes.len()),
            Body::Stream(_) => f.write_str("Stream"),
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Body,
}

impl Answer {
    pub fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Body::Empty }
    }

    pub fn no_content() -> Self {
        Self::empty(204)
    }

    /// A body of `content_type`.
    pub fn of(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::empty(status).with("Content-Type", content_type).body(Body::Whole(body.into()))
    }

    /// The views are plain structs of text, numbers and times, which always serialise.
    pub fn json<T: Serialize + ?Sized>(status: u16, value: &T) -> Self {
        let mut body = serde_json::to_vec(value).unwrap_or_default();
        body.push(b'\n');
        Self::of(status, "application/json", body)
    }

    pub fn html(status: u16, page: maud::Markup) -> Self {
        Self::of(status, "text/html; charset=utf-8", page.into_string())
    }

    pub fn stream(
        content_type: &str,
        chunks: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static,
    ) -> Self {
        Self::empty(200).with("Content-Type", content_type).body(Body::Stream(Box::pin(chunks)))
    }

    /// See the other page: after a form has been taken.
    pub fn see(location: impl Into<String>) -> Self {
        Self::empty(303).with("Location", location)
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }
}
