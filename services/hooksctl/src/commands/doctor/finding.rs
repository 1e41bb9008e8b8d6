//! What one check found.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Good,
    Warning,
    Bad,
    /// Cannot be reached.
    Away,
    /// Not looked at, and why.
    Skipped,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Good => "ok",
            State::Warning => "warn",
            State::Bad => "bad",
            State::Away => "away",
            State::Skipped => "skip",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Finding {
    pub name: &'static str,
    pub state: State,
    pub detail: String,
}

impl Finding {
    pub fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Good, detail: detail.into() }
    }

    pub fn warning(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Warning, detail: detail.into() }
    }

    pub fn bad(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Bad, detail: detail.into() }
    }

    pub fn away(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Away, detail: detail.into() }
    }

    pub fn skipped(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, state: State::Skipped, detail: detail.into() }
    }
}
