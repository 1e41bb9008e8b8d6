//! Up to where somebody has seen the log.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Bytes of a position as text. It goes with every message and into the head of a request, which proxies bound at 8 KiB:
/// some two hundred sources.
const LONGEST: usize = 4_000;
/// Stands for the sources that there was no room to name.
const OTHERS: &str = "*";

/// The newest sequence seen of each source; as text `billing:3,orders:17`. A source that is not named has had no event.
/// Where there were too many to name, the text ends with `*`, and nothing is known of the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    seen: BTreeMap<String, i64>,
    partial: bool,
}

impl Position {
    /// Of sources and their newest sequences.
    pub fn of<'a>(heads: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let seen = heads.into_iter().map(|(source, sequence)| (source.to_owned(), sequence)).collect();
        Self { seen, partial: false }
    }

    /// The newest sequence seen of a source; None where nothing is known of it.
    pub fn get(&self, source: &str) -> Option<i64> {
        self.seen.get(source).copied().or((!self.partial).then_some(0))
    }

    /// Takes note that an event was seen. False if it had been seen before.
    pub fn advance(&mut self, source: &str, sequence: i64) -> bool {
        match self.seen.get_mut(source) {
            Some(seen) if *seen >= sequence => false,
            Some(seen) => {
                *seen = sequence;
                true
            }
            None => {
                self.seen.insert(source.to_owned(), sequence);
                true
            }
        }
    }

    /// Takes note that the log ends before what was seen. False if it does not.
    pub fn go_back(&mut self, source: &str, sequence: i64) -> bool {
        let seen = self.seen.get_mut(source).filter(|seen| **seen > sequence);
        seen.map(|seen| *seen = sequence).is_some()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut partial = self.partial;
        for (source, sequence) in &self.seen {
            let part = format!("{source}:{sequence},");
            if text.len() + part.len() + OTHERS.len() > LONGEST {
                partial = true;
                break;
            }
            text.push_str(&part);
        }
        f.write_str(if partial { &text } else { text.trim_end_matches(',') })?;
        f.write_str(if partial { OTHERS } else { "" })
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "must be a position as the stream's `id` gives it, such as billing:3,orders:17".to_owned();
        if text.len() > LONGEST {
            return Err(wrong());
        }
        let mut position = Self::default();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            if part == OTHERS {
                position.partial = true;
                continue;
            }
            let (source, sequence) = part.rsplit_once(':').ok_or_else(wrong)?;
            let sequence = sequence.parse().ok().filter(|n: &i64| *n >= 0).ok_or_else(wrong)?;
            position.seen.insert(source.to_owned(), sequence);
        }
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_wrote() {
        let names: Vec<String> = (0..50).map(|n| format!("source-{n}")).collect();
        let position = Position::of(names.iter().map(String::as_str).zip(1_000..));
        assert_eq!(position.to_string().parse(), Ok(position.clone()));
        assert_eq!((position.get("source-1"), position.get("new")), (Some(1_001), Some(0)));
        assert_eq!(Position::default().to_string().parse(), Ok(Position::default()));
    }

    #[test]
    fn of_sources_without_room_nothing_is_known() {
        let names: Vec<String> = (0..400).map(|n| format!("source-{n:03}")).collect();
        let text = Position::of(names.iter().map(|name| (name.as_str(), i64::MAX))).to_string();
        assert!(text.len() <= LONGEST && text.ends_with(",*"), "{text}");
        let read: Position = text.parse().expect("a position");
        assert_eq!(read.to_string(), text);
        assert_eq!(
            (read.get("source-000"), read.get("source-399"), read.get("new")),
            (Some(i64::MAX), None, None)
        );
    }

    #[test]
    fn an_event_is_news_once() {
        let mut position: Position = "a:3".parse().expect("a position");
        assert_eq!([3, 4, 4, 2].map(|n| position.advance("a", n)), [false, true, false, false]);
        assert_eq!([1, 1].map(|n| position.advance("b", n)), [true, false]);
        assert_eq!(position.to_string(), "a:4,b:1");
        assert_eq!([4, 2, 3].map(|n| position.go_back("a", n)), [false, true, false]);
        assert!(position.advance("a", 3) && !position.go_back("c", 0));
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for text in
            ["a", "a:", "a:x", "a:-1", "a:1,,b:2", "17", "a:99999999999999999999", &"a:1,".repeat(2_000)]
        {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
    }
}
