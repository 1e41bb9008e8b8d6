//! Ending started processes also when the test process is killed.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Reads `+ pid` and `- pid`; when its input ends, so when the test process is gone, kills what is left.
const SCRIPT: &str = r#"
left=" "
while read -r sign pid; do
    case $sign in
        +) left="$left$pid " ;;
        -) left="${left%% $pid *} ${left#* $pid }" ;;
    esac
done
for pid in $left; do kill -CONT "$pid" 2>/dev/null; kill -KILL "$pid" 2>/dev/null; done
"#;

/// One for the whole test process: its end of the pipe closes with the process, never before.
fn reaper() -> &'static Mutex<Child> {
    static REAPER: OnceLock<Mutex<Child>> = OnceLock::new();
    REAPER.get_or_init(|| {
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "hooks-testkit-reaper"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .spawn()
            .expect("start sh as the reaper of test processes");
        Mutex::new(child)
    })
}

fn tell(sign: char, pid: u32) {
    let mut reaper = reaper().lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = reaper.stdin.as_mut().expect("the reaper's pipe is never closed");
    writeln!(pipe, "{sign} {pid}").expect("the reaper lives as long as the test process");
}

/// `pid` has been started and must not survive the test process.
pub(super) fn watch(pid: u32) {
    tell('+', pid);
}

/// `pid` has ended: the number may belong to somebody else soon.
pub(super) fn forget(pid: u32) {
    tell('-', pid);
}
