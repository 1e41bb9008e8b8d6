//! Which process is which: a number alone may belong to somebody else by now.

use std::process::{Command, Stdio};

/// Set in the environment of every service that `dev` starts; its value is the `.hooks` folder.
pub const MARKER: &str = "HOOKS_DEV_FOLDER";

/// A process that was started earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub pid: i32,
    /// When it started, in whatever form this system tells; only compared.
    pub started: String,
    /// The name of its program.
    pub program: String,
}

impl Identity {
    /// The identity of a process that was just started.
    pub fn of(pid: i32, program: &str) -> Option<Self> {
        Some(Self { pid, started: started(pid)?, program: program.to_owned() })
    }

    /// One line for a file.
    pub fn to_line(&self) -> String {
        format!("{} {} {}\n", self.pid, self.program, self.started)
    }

    pub fn from_line(line: &str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let pid = parts.next()?.parse().ok().filter(|pid| *pid > 1)?;
        let (program, started) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(Self { pid, started, program })
    }

    /// True only if the process with this number is certainly the one that was meant: it started at the same
    /// moment, runs the same program, and (where that can be seen) was started for this folder.
    pub fn is_still(&self, folder: &str) -> bool {
        let same_start = started(self.pid).is_some_and(|now| now == self.started);
        let same_program = command_of(self.pid).is_some_and(|name| name == self.program);
        same_start && same_program && marked(self.pid, folder)
    }
}

/// When a process started. On Linux in clock ticks since boot: field 22 of `stat`, counted behind the name,
/// which may hold blanks.
fn started(pid: i32) -> Option<String> {
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        let (_, after_name) = stat.rsplit_once(')')?;
        return after_name.split_whitespace().nth(19).map(str::to_owned);
    }
    ps(pid, "lstart=")
}

/// The name of a process's program, without its folder.
pub fn command_of(pid: i32) -> Option<String> {
    let path = match std::fs::read_link(format!("/proc/{pid}/exe")) {
        Ok(path) => path.to_string_lossy().into_owned(),
        Err(_) => ps(pid, "comm=")?,
    };
    // A program that was built anew meanwhile is shown as deleted.
    let path = path.strip_suffix(" (deleted)").unwrap_or(&path);
    path.rsplit('/').next().map(str::to_owned)
}

/// False if the process says that it was started for another folder, or for none.
fn marked(pid: i32, folder: &str) -> bool {
    match std::fs::read(format!("/proc/{pid}/environ")) {
        Ok(environ) => {
            let mark = format!("{MARKER}={folder}");
            environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
        }
        // Systems without /proc do not tell; start and program have been compared.
        Err(_) => !std::path::Path::new("/proc/self/environ").exists(),
    }
}

/// True for a process that is there, also one of another user.
pub fn is_alive(pid: i32) -> bool {
    // SAFETY: signal 0 only asks; pid is above 1, so no group is meant.
    let sent = unsafe { libc::kill(pid, 0) };
    sent == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Sends a signal; whether the process was there does not matter.
pub fn signal(pid: i32, signal: i32) {
    // SAFETY: pid is above 1, so no group is meant.
    unsafe {
        libc::kill(pid, signal);
    }
}

fn ps(pid: i32, column: &str) -> Option<String> {
    let output = Command::new("ps")
        .args(["-o", column, "-p", &pid.to_string()])
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(folder: &str) -> std::process::Child {
        Command::new("sleep").arg("60").env(MARKER, folder).spawn().expect("start sleep")
    }

    #[test]
    fn only_the_very_process_is_recognised() {
        let mut child = sleeper("/here/.hooks");
        let pid = child.id() as i32;
        // Between fork and exec it is still this test's program.
        let program = std::iter::repeat_with(|| command_of(pid))
            .flatten()
            .find(|name| !name.starts_with("hooksctl"))
            .expect("its name");
        // For an instant within exec the new program is there and its environment is not yet.
        let begun = std::time::Instant::now();
        while !marked(pid, "/here/.hooks") && begun.elapsed() < std::time::Duration::from_secs(20) {
            std::thread::yield_now();
        }
        let identity = Identity::of(pid, &program).expect("its start");
        assert_eq!(Identity::from_line(identity.to_line().trim_end()), Some(identity.clone()));
        assert!(identity.is_still("/here/.hooks") && is_alive(pid));
        assert!(!identity.is_still("/elsewhere/.hooks"));
        assert!(!Identity { started: "1".to_owned(), ..identity.clone() }.is_still("/here/.hooks"));
        assert!(!Identity { program: "other".to_owned(), ..identity.clone() }.is_still("/here/.hooks"));
        child.kill().expect("kill it");
        child.wait().expect("reap it");
        assert!(!identity.is_still("/here/.hooks"));
    }
}
