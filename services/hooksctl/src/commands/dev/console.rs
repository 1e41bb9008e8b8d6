//! What `dev` and its services say, each line behind its speaker's name. A closed output stops nothing here:
//! the services are stopped by signals, not by a broken pipe.

use crate::output::{Colour, Paint};
use std::io::Write;

const WIDTH: usize = 11;

/// Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Console(Paint);

impl Console {
    pub fn new() -> Self {
        Self(Paint::stdout())
    }

    pub fn paint(self, colour: Colour, text: &str) -> String {
        self.0.paint(colour, text)
    }

    /// A line of a service.
    pub fn of(self, service: &str, text: &str) {
        let name = self.0.paint(Colour::Name, &format!("{service:<WIDTH$}"));
        self.bare(&format!("{name} {} {text}", self.0.paint(Colour::Faint, "|")));
    }

    /// A line of `dev` itself.
    pub fn say(self, text: &str) {
        let name = self.0.paint(Colour::Strong, &format!("{:<WIDTH$}", "dev"));
        self.bare(&format!("{name} {} {text}", self.0.paint(Colour::Faint, "|")));
    }

    /// A line of `dev` about something that is not as it should be.
    pub fn warn(self, text: &str) {
        self.say(&self.0.paint(Colour::Warning, text));
    }

    /// A line without a name.
    pub fn bare(self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{text}");
        let _ = out.flush();
    }
}
