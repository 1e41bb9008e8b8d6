//! What a process says, kept.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The lines of standard output and standard error in the order they came.
#[derive(Debug, Default, Clone)]
pub(super) struct Capture(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    all: Vec<String>,
    stdout: Vec<String>,
}

impl Capture {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads `pipe` to its end in a thread, so that a busy test never fills the pipe.
    pub fn read(&self, pipe: impl Read + Send + 'static, is_stdout: bool) -> JoinHandle<()> {
        let capture = self.clone();
        std::thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while matches!(pipe.read_until(b'\n', &mut line), Ok(n) if n > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
                let mut lines = capture.lines();
                if is_stdout {
                    lines.stdout.push(text.clone());
                }
                lines.all.push(text);
                line.clear();
            }
        })
    }

    pub fn all(&self) -> String {
        self.lines().all.join("\n")
    }

    pub fn stdout(&self) -> String {
        self.lines().stdout.join("\n")
    }

    pub fn find(&self, substring: &str) -> Option<String> {
        self.lines().all.iter().find(|line| line.contains(substring)).cloned()
    }
}
