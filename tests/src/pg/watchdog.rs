//! Cleaning up also when the test process is killed.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its standard input, which the test process alone holds open, so for the end of that
/// process however it comes; then stops the server whose pid the data directory names and removes everything.
/// The name check keeps a stale pid file (after a kill -9) from hitting an unrelated process.
/// A zombie counts as stopped: in a container nobody may be there to reap it.
const SCRIPT: &str = r#"
runs() { kill -0 "$1" 2>/dev/null && ! grep -q ') Z ' "/proc/$1/stat" 2>/dev/null; }
read _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
    case "$(cat "/proc/$pid/comm" 2>/dev/null || ps -o comm= -p "$pid" 2>/dev/null)" in *postgres*)
        kill -CONT "$pid"; kill -QUIT "$pid"
        i=0; while runs "$pid" && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done
        kill -KILL "$pid" 2>/dev/null ;;
    esac
fi
rm -rf "$1" 2>/dev/null || { sleep 1; rm -rf "$1"; }
"#;

/// A child process that removes one cluster when this value or the whole test process is gone.
#[derive(Debug)]
pub struct Watchdog(Child);

impl Watchdog {
    /// Watches over `dir`, which has the server's data in `dir/data`.
    pub fn over(dir: &Path) -> Self {
        // Its own process group: a Ctrl-C at the terminal must end the tests, not what cleans up after them.
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "hooks-testkit-watchdog"])
            .arg(dir)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("start sh as the watchdog of a test cluster");
        Self(child)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
