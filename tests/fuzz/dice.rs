//! The random choices of one case. Everything follows from the seed and the number of the case.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Texts that parsers trip over.
const NASTY: [&[u8]; 26] = [
    b"",
    b" ",
    b"=",
    b"==",
    b",",
    b";",
    b".",
    b"t=",
    b"t=1,t=1",
    b"v1=",
    b"v1,",
    b"{",
    b"}",
    b"{body}",
    b"%",
    b"%zz",
    b"%00",
    b"\0",
    b"\xff\xfe",
    b"\"",
    b"\\u",
    b"-9223372036854775808",
    b"99999999999999999999",
    b"1e400",
    b"2023-11-14T22:13:20Z",
    "é\u{2028}😀".as_bytes(),
];

pub struct Dice(StdRng);

impl Dice {
    pub fn new(seed: u64, case: u64) -> Self {
        Self(StdRng::seed_from_u64(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// From 0 up to, but not, `most`.
    pub fn below(&mut self, most: usize) -> usize {
        self.0.random_range(0..most.max(1))
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        match self.below(4) {
            0 => self.pick(&NASTY).to_vec(),
            1 => (0..self.below(most)).map(|_| self.0.random()).collect(),
            2 => (0..self.below(most)).map(|_| self.0.random_range(b' '..=b'~')).collect(),
            _ => self.word().into_bytes(),
        }
    }

    pub fn text(&mut self, most: usize) -> String {
        String::from_utf8_lossy(&self.bytes(most)).into_owned()
    }

    /// A plain name.
    pub fn word(&mut self) -> String {
        let length = 1 + self.below(6);
        (0..length).map(|_| char::from(self.0.random_range(b'a'..=b'f'))).collect()
    }

    /// One change: bytes flipped, taken out, repeated or put in.
    pub fn mutate(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len() + 1);
        let end = (at + self.below(9)).min(text.len());
        match self.below(5) {
            0 if at < text.len() => text[at] ^= 1 << self.below(8),
            1 => drop(text.drain(at..end)),
            2 => {
                let again = text[at..end].to_vec();
                text.splice(at..at, again);
            }
            3 => text.truncate(at),
            _ => {
                let put = self.bytes(12);
                text.splice(at..at, put);
            }
        }
    }
}
