//! The comments of the stream that say something.

/// One comment line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comment {
    Keepalive,
    /// The first drain left these out because they were older than the source's skew window.
    Skipped {
        count: u64,
        first: i64,
        last: i64,
    },
    /// The reader's cursor is beyond the newest event.
    AheadOfLog,
    Other(String),
}

impl Comment {
    pub fn parse(text: &str) -> Self {
        match text {
            "keepalive" => Comment::Keepalive,
            text if text.starts_with("ahead of log") => Comment::AheadOfLog,
            text => skipped(text).unwrap_or_else(|| Comment::Other(text.to_owned())),
        }
    }
}

/// `skipped <n> stale events <first>..<last>`
fn skipped(text: &str) -> Option<Comment> {
    let rest = text.strip_prefix("skipped ")?;
    let mut words = rest.split_whitespace();
    let count = words.next()?.parse().ok()?;
    let (first, last) = words.last()?.split_once("..")?;
    Some(Comment::Skipped { count, first: first.parse().ok()?, last: last.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_understood_or_kept_as_they_are() {
        assert_eq!(Comment::parse("keepalive"), Comment::Keepalive);
        let skipped = Comment::Skipped { count: 3, first: 5, last: 9 };
        assert_eq!(Comment::parse("skipped 3 stale events 5..9"), skipped);
        assert_eq!(Comment::parse("ahead of log"), Comment::AheadOfLog);
        for text in ["", "skipped", "skipped x stale events 1..2", "skipped 3 stale events 5-9"] {
            assert_eq!(Comment::parse(text), Comment::Other(text.to_owned()));
        }
    }
}
