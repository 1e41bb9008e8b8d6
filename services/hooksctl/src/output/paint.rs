//! Colours, where they are wanted.

use anstyle::{AnsiColor, Style};
use std::io::IsTerminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Good,
    Bad,
    Warning,
    Name,
    Faint,
    Strong,
}

/// Paints text, or leaves it alone. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    pub fn stdout() -> Self {
        Self(std::io::stdout().is_terminal() && wanted())
    }

    pub fn stderr() -> Self {
        Self(std::io::stderr().is_terminal() && wanted())
    }

    #[cfg(test)]
    pub fn always() -> Self {
        Self(true)
    }

    pub fn paint(self, colour: Colour, text: &str) -> String {
        if !self.0 || text.is_empty() {
            return text.to_owned();
        }
        let style = style(colour);
        format!("{style}{text}{style:#}")
    }
}

/// `NO_COLOR` (any value but the empty one) and `TERM=dumb` say no.
fn wanted() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !no_color && !dumb
}

fn style(colour: Colour) -> Style {
    let fg = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match colour {
        Colour::Good => fg(AnsiColor::Green),
        Colour::Bad => fg(AnsiColor::Red).bold(),
        Colour::Warning => fg(AnsiColor::Yellow),
        Colour::Name => fg(AnsiColor::Cyan),
        Colour::Faint => Style::new().dimmed(),
        Colour::Strong => Style::new().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painted_text_is_reset_at_its_end() {
        assert_eq!(Paint::always().paint(Colour::Good, "ok"), "\u{1b}[32mok\u{1b}[0m");
        assert_eq!(Paint(false).paint(Colour::Good, "ok"), "ok");
    }
}
