//! The event stream format: bytes in, frames out. Pure.

use std::collections::VecDeque;

/// Longest line that is kept. The server sends larger events by reference, far below this.
const LONGEST_LINE: usize = 16 << 20;

/// What a stream consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Message {
        id: Option<i64>,
        event: String,
        data: String,
    },
    /// The text behind the colon and one blank.
    Comment(String),
}

/// The stream cannot be an event stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a line of the stream is longer than {LONGEST_LINE} bytes")]
pub struct LineTooLong;

#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    id: Option<i64>,
    event: String,
    data: Option<String>,
    ready: VecDeque<Frame>,
}

impl Parser {
    /// Takes bytes as they arrive, cut anywhere.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<(), LineTooLong> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take_line(line.strip_suffix(b"\r").unwrap_or(&line));
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() > LONGEST_LINE { Err(LineTooLong) } else { Ok(()) }
    }

    /// The next whole frame.
    pub fn next_frame(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    fn take_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            return self.dispatch();
        }
        let text = String::from_utf8_lossy(line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            // A comment stands alone: it is handed over where it stands, not with the message after it.
            "" => self.ready.push_back(Frame::Comment(value.to_owned())),
            "id" => self.id = value.parse().ok(),
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let id = self.id.take();
        let event = std::mem::take(&mut self.event);
        if let Some(data) = self.data.take() {
            self.ready.push_back(Frame::Message { id, event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(pieces: &[&[u8]]) -> Vec<Frame> {
        let mut parser = Parser::default();
        for piece in pieces {
            parser.feed(piece).expect("short lines");
        }
        std::iter::from_fn(|| parser.next_frame()).collect()
    }

    fn message(id: Option<i64>, data: &str) -> Frame {
        Frame::Message { id, event: "a".to_owned(), data: data.to_owned() }
    }

    #[test]
    fn frames_come_out_whole_wherever_the_bytes_are_cut() {
        let stream = b"id:7\nevent:a\ndata:{\"x\":1}\n\n: keepalive\n\nevent: a\r\ndata: y\r\n\r\n";
        let expected =
            vec![message(Some(7), "{\"x\":1}"), Frame::Comment("keepalive".to_owned()), message(None, "y")];
        assert_eq!(frames(&[stream]), expected);
        for cut in 0..stream.len() {
            assert_eq!(frames(&[&stream[..cut], &stream[cut..]]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn an_id_without_data_is_no_message_and_does_not_leak_into_the_next() {
        assert_eq!(frames(&[b"id:9\n\nevent:a\ndata:x\n\n"]), vec![message(None, "x")]);
        assert_eq!(frames(&[b"id:9"]), vec![]);
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut parser = Parser::default();
        let megabyte = vec![b'x'; 1 << 20];
        let outcome = (0..20).try_for_each(|_| parser.feed(&megabyte));
        assert_eq!(outcome, Err(LineTooLong));
    }
}
