//! What people and programs see. Data goes to standard output, everything else to standard error; colours
//! only on a terminal; a reader that goes away (`hooksctl tail … | head`) ends the command quietly.

mod clock;
pub mod fields;
mod paint;
mod screen;
mod text;

pub use clock::{clock_of, rfc3339};
pub use paint::{Colour, Paint};
pub use screen::Screen;
pub use text::{bytes, latency, preview, printable};

use std::io::{IsTerminal, Write};

/// Standard output was closed by its reader: nothing is left to do, and nothing went wrong.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub struct OutputClosed;

/// Writes one line of data.
pub fn line(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    finish(out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Writes bytes as they are.
pub fn raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    finish(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes one line that is not data. A closed standard error is no reason to stop.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn finish(written: std::io::Result<()>) -> anyhow::Result<()> {
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::BrokenPipe => OutputClosed.into(),
        _ => anyhow::anyhow!("standard output cannot be written: {error}"),
    })
}

pub fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}
