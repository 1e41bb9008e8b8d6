//! The newest events of a source, serialised, bounded in bytes.

use super::entry::{Entry, Page};
use std::collections::VecDeque;
use std::sync::Arc;

/// All stored events with a sequence in `(base, tail]` are here, in order. The numbers may have gaps.
#[derive(Debug)]
pub struct Ring {
    entries: VecDeque<Arc<Entry>>,
    base: i64,
    tail: i64,
    weight: usize,
    limit: usize,
}

/// What the ring has for a cursor.
#[derive(Debug)]
pub enum Found {
    /// The next event behind it.
    Next(Arc<Entry>),
    /// There is none up to this sequence.
    NothingThrough(i64),
    /// Events between the cursor and the ring may exist; the log has to be read.
    Behind,
}

impl Ring {
    /// Holds `page`, which continues at `base`.
    pub fn new(limit: usize, base: i64, page: Page) -> Self {
        let mut ring = Self { entries: VecDeque::new(), base, tail: base, weight: 0, limit };
        ring.extend(page);
        ring
    }

    pub fn tail(&self) -> i64 {
        self.tail
    }

    pub fn weight(&self) -> usize {
        self.weight
    }

    pub fn newest(&self) -> Option<&Entry> {
        self.entries.back().map(Arc::as_ref)
    }

    pub fn after(&self, cursor: i64) -> Found {
        if cursor < self.base {
            return Found::Behind;
        }
        let at = self.entries.partition_point(|entry| entry.sequence <= cursor);
        match self.entries.get(at) {
            Some(entry) => Found::Next(Arc::clone(entry)),
            None => Found::NothingThrough(self.tail),
        }
    }

    /// Appends what comes next; the oldest make room, but the newest always stays.
    pub fn extend(&mut self, page: Page) {
        let known = self.tail;
        for entry in page.entries.into_iter().filter(|entry| entry.sequence > known) {
            self.tail = entry.sequence;
            self.weight += entry.weight();
            self.entries.push_back(entry);
        }
        self.tail = self.tail.max(page.through);
        while self.weight > self.limit && self.entries.len() > 1 {
            if let Some(oldest) = self.entries.pop_front() {
                self.weight -= oldest.weight();
                self.base = oldest.sequence;
            }
        }
    }

    /// Forgets everything behind `head`: the log turned out to be shorter (a standby was promoted).
    pub fn shorten(&mut self, head: i64) {
        while self.entries.back().is_some_and(|entry| entry.sequence > head) {
            if let Some(gone) = self.entries.pop_back() {
                self.weight -= gone.weight();
            }
        }
        self.tail = self.tail.min(head);
        self.base = self.base.min(head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use time::OffsetDateTime;

    fn page(sequences: &[i64], through: i64) -> Page {
        let entry = |sequence: &i64| {
            Arc::new(Entry {
                sequence: *sequence,
                received_at: OffsetDateTime::UNIX_EPOCH,
                provider_timestamp: None,
                delivery_id: "".into(),
                message: Bytes::from(vec![b'x'; 1000]),
            })
        };
        Page { entries: sequences.iter().map(entry).collect(), through }
    }

    fn next(ring: &Ring, cursor: i64) -> Result<i64, String> {
        match ring.after(cursor) {
            Found::Next(entry) => Ok(entry.sequence),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_cursor_finds_the_next_event_over_gaps() {
        let ring = Ring::new(1 << 20, 3, page(&[4, 5, 1_000_009], 1_000_020));
        assert_eq!(next(&ring, 3), Ok(4));
        assert_eq!(next(&ring, 5), Ok(1_000_009));
        assert_eq!(next(&ring, 500), Ok(1_000_009));
        assert_eq!(next(&ring, 1_000_009), Err("NothingThrough(1000020)".to_owned()));
        assert_eq!(next(&ring, i64::MAX), Err("NothingThrough(1000020)".to_owned()));
        assert_eq!(next(&ring, 2), Err("Behind".to_owned()));
    }

    #[test]
    fn the_oldest_make_room_and_their_readers_are_behind() {
        let mut ring = Ring::new(4_000, 0, page(&[1, 2, 3], 3));
        ring.extend(page(&[4, 5], 5));
        assert!(ring.weight() <= 4_000);
        assert_eq!(next(&ring, 5), Err("NothingThrough(5)".to_owned()));
        assert_eq!(next(&ring, 4), Ok(5));
        assert_eq!(next(&ring, 0), Err("Behind".to_owned()));
    }

    #[test]
    fn what_was_read_twice_is_kept_once() {
        let mut ring = Ring::new(1 << 20, 0, page(&[1, 2], 2));
        ring.extend(page(&[2, 3], 3));
        assert_eq!((next(&ring, 1), next(&ring, 2)), (Ok(2), Ok(3)));
        assert_eq!(next(&ring, 3), Err("NothingThrough(3)".to_owned()));
    }

    #[test]
    fn a_log_that_lost_its_end_is_followed() {
        let mut ring = Ring::new(1 << 20, 0, page(&[1, 2, 3], 3));
        ring.shorten(2);
        assert_eq!(next(&ring, 2), Err("NothingThrough(2)".to_owned()));
        ring.extend(page(&[1_000_003], 1_000_003));
        assert_eq!(next(&ring, 2), Ok(1_000_003));
    }
}
