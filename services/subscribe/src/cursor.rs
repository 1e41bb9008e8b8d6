//! Where a listener begins: `since`, `Last-Event-ID`, and the larger of the two.

/// The place in a source after which a listener wants events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The sequence that the client has seen.
    pub seen: i64,
    /// It wants only what comes after the newest event of now.
    pub latest: bool,
}

/// A cursor that cannot be read. Shown to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    #[error("since: `{0}` is neither a sequence number nor `latest`")]
    Since(String),
    #[error("Last-Event-ID: `{0}` is not a sequence number")]
    LastEventId(String),
}

impl Start {
    /// Reads both. Absent and empty count as zero, a negative `Last-Event-ID` is ignored.
    pub fn parse(since: Option<&str>, last_event_id: Option<&str>) -> Result<Self, CursorError> {
        let (since, latest) = match since.unwrap_or_default() {
            "" => (0, false),
            "latest" => (0, true),
            text => (parse_since(text)?, false),
        };
        let resumed = match last_event_id.unwrap_or_default() {
            "" => 0,
            text => text.parse::<i64>().map_err(|_| CursorError::LastEventId(shown(text)))?,
        };
        Ok(Self { seen: since.max(resumed), latest })
    }

    /// The cursor, once the newest sequence is known.
    pub fn cursor(self, head: i64) -> i64 {
        if self.latest { self.seen.max(head) } else { self.seen }
    }
}

fn parse_since(text: &str) -> Result<i64, CursorError> {
    text.parse().ok().filter(|since| *since >= 0).ok_or_else(|| CursorError::Since(shown(text)))
}

/// What a client sent, short and on one line.
fn shown(text: &str) -> String {
    text.chars().take(40).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(since: Option<&str>, last: Option<&str>) -> Result<i64, CursorError> {
        Start::parse(since, last).map(|start| start.cursor(100))
    }

    #[test]
    fn the_larger_of_the_two_counts() {
        assert_eq!(cursor(None, None), Ok(0));
        assert_eq!(cursor(Some(""), Some("")), Ok(0));
        assert_eq!(cursor(Some("7"), None), Ok(7));
        assert_eq!(cursor(Some("7"), Some("9")), Ok(9));
        assert_eq!(cursor(Some("9"), Some("7")), Ok(9));
        assert_eq!(cursor(Some("7"), Some("-3")), Ok(7));
        assert_eq!(cursor(Some("latest"), None), Ok(100));
        assert_eq!(cursor(Some("latest"), Some("120")), Ok(120));
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for bad in ["-1", "x", "1.0", "0x1", " 1", "99999999999999999999", "Latest"] {
            assert_eq!(cursor(Some(bad), None), Err(CursorError::Since(bad.to_owned())));
        }
        assert_eq!(cursor(None, Some("x")), Err(CursorError::LastEventId("x".to_owned())));
        assert_eq!(cursor(Some("a\nb"), None), Err(CursorError::Since("a\u{fffd}b".to_owned())));
    }
}
