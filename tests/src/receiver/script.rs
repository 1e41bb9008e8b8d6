//! What a receiver does with one request.

use std::time::Duration;

use crate::gate::Gate;

/// The handling of one request: read it, perhaps wait, then answer well or badly. The default is 200, empty.
#[derive(Debug, Clone)]
pub struct Script {
    pub(super) reads_body: bool,
    pub(super) continues: bool,
    pub(super) gate: Option<Gate>,
    pub(super) delay: Option<Duration>,
    pub(super) answer: Answer,
    pub(super) drip: Option<Duration>,
    pub(super) closes: bool,
}

/// What goes out.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    Status { status: u16, headers: Vec<(String, String)>, body: Vec<u8>, declared: Option<usize> },
    Bytes(Vec<u8>),
    Endless { chunk: Vec<u8>, pause: Duration },
    Silence,
    Reset,
}

impl Default for Script {
    fn default() -> Self {
        Self::status(200)
    }
}

impl Script {
    fn of(answer: Answer) -> Self {
        let closes = !matches!(answer, Answer::Status { .. });
        Self { reads_body: true, continues: true, gate: None, delay: None, answer, drip: None, closes }
    }

    /// This status, no body, `Content-Length` set.
    pub fn status(status: u16) -> Self {
        Self::of(Answer::Status { status, headers: Vec::new(), body: Vec::new(), declared: None })
    }

    /// 302 to `location`; use [`Self::status`] and [`Self::header`] for the other redirects.
    pub fn redirect(location: impl Into<String>) -> Self {
        Self::status(302).header("Location", location)
    }

    /// These bytes instead of an HTTP answer, then the end of the connection.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Answer::Bytes(bytes.into()))
    }

    /// The connection is closed without an answer.
    pub fn close() -> Self {
        Self::of(Answer::Silence)
    }

    /// The connection is reset without an answer.
    pub fn reset() -> Self {
        Self::of(Answer::Reset)
    }

    /// No answer ever; the connection stays open until the client leaves.
    pub fn hang() -> Self {
        Self::close().after(Gate::closed())
    }

    /// 200, then `chunk` as one HTTP chunk after another, with `pause` between, until the client leaves.
    pub fn endless(chunk: impl Into<Vec<u8>>, pause: Duration) -> Self {
        Self::of(Answer::Endless { chunk: chunk.into(), pause })
    }

    /// Adds a header to the answer. A `Content-Length` or `Transfer-Encoding` replaces the one that would be set.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        if let Answer::Status { headers, .. } = &mut self.answer {
            headers.push((name.into(), value.into()));
        }
        self
    }

    /// The answer's body.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let Answer::Status { body, .. } = &mut self.answer {
            *body = bytes.into();
        }
        self
    }

    /// Declares a body of `length` bytes, sends what there is, and closes.
    pub fn truncated(mut self, length: usize) -> Self {
        if let Answer::Status { declared, .. } = &mut self.answer {
            *declared = Some(length);
        }
        self.closing()
    }

    /// Waits at `gate` before answering; the request has been recorded by then.
    pub fn after(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Waits a fixed time before answering: for load, where a gate is not what is meant.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Sends the answer one byte at a time with `pause` between.
    pub fn drip(mut self, pause: Duration) -> Self {
        self.drip = Some(pause);
        self
    }

    /// Answers with `Connection: close` and closes.
    pub fn closing(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Answers after the head without reading the body (the request is recorded with an empty one), and closes.
    pub fn unread(mut self) -> Self {
        self.reads_body = false;
        self.closing()
    }

    /// Does not say `100 Continue` to a client that waits for it.
    pub fn no_continue(mut self) -> Self {
        self.continues = false;
        self
    }
}

impl Answer {
    /// The bytes of an answer that has an end.
    pub fn to_bytes(&self, closes: bool) -> Vec<u8> {
        match self {
            Self::Status { status, headers, body, declared } => {
                let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
                let mut text = format!("HTTP/1.1 {status} Scripted\r\n");
                for (name, value) in headers {
                    text.push_str(&format!("{name}: {value}\r\n"));
                }
                let bodiless = *status / 100 == 1 || *status == 204 || *status == 304;
                if !bodiless && !given("content-length") && !given("transfer-encoding") {
                    text.push_str(&format!("Content-Length: {}\r\n", declared.unwrap_or(body.len())));
                }
                if closes && !given("connection") {
                    text.push_str("Connection: close\r\n");
                }
                text.push_str("\r\n");
                [text.as_bytes(), body].concat()
            }
            Self::Bytes(bytes) => bytes.clone(),
            Self::Endless { .. } => b"HTTP/1.1 200 Scripted\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
            Self::Silence | Self::Reset => Vec::new(),
        }
    }
}
