//! Asking before something that cannot be taken back.

use super::{Refused, Usage};
use crate::output::note;
use anyhow::Result;
use std::io::{BufRead, IsTerminal, Write};

/// Goes on with `--yes`, or after a yes on the terminal. Elsewhere nobody can be asked: that is used wrongly.
pub fn confirm(yes: bool, question: &str) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Usage("nothing was done: say --yes to do it".to_owned()).into());
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(());
    }
    note("nothing was done");
    Err(Refused("not confirmed".to_owned()).into())
}
