//! The screen of a command that runs for a while: lines that stay, and on a terminal one status line or
//! progress bar below them.

use super::{Paint, line, note};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Where lines go while a status line may stand below them.
#[derive(Debug)]
pub struct Screen {
    bar: ProgressBar,
    /// For standard output.
    pub paint: Paint,
    /// For standard error.
    pub paint_note: Paint,
    pub json: bool,
}

impl Screen {
    /// Without anything that moves.
    pub fn plain(json: bool) -> Self {
        Self { bar: ProgressBar::hidden(), paint: Paint::stdout(), paint_note: Paint::stderr(), json }
    }

    /// With a status line, on a terminal.
    pub fn with_status(json: bool) -> Self {
        let screen = Self::plain(json);
        if !std::io::stderr().is_terminal() {
            return screen;
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        screen.on(bar)
    }

    /// With a progress bar over `total` steps, on a terminal.
    pub fn with_progress(json: bool, total: u64) -> Self {
        let screen = Self::plain(json);
        if !std::io::stderr().is_terminal() {
            return screen;
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let template = "{bar:30.cyan/blue} {pos}/{len} {msg} (done in {eta})";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        screen.on(bar)
    }

    fn on(mut self, bar: ProgressBar) -> Self {
        self.bar = bar;
        self
    }

    /// One line of data.
    pub fn line(&self, text: &str) -> anyhow::Result<()> {
        self.bar.suspend(|| line(text))
    }

    /// One line that is not data.
    pub fn note(&self, text: &str) {
        self.bar.suspend(|| note(text));
    }

    /// The status line's text.
    pub fn status(&self, text: String) {
        self.bar.set_message(text);
    }

    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Takes the status line or bar away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
