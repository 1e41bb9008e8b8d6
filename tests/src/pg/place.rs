//! Where a cluster's directory goes.

use std::path::{Path, PathBuf};

/// Names the directory in which test clusters are made.
pub const PLACE_VARIABLE: &str = "HOOKS_TEST_PG_DIR";

/// Linux's directory in memory: a database is cloned there in a fifth of the time.
const MEMORY: &str = "/dev/shm";
/// What must be free there: containers often have 64 MB, and a full one would fail tests for no good reason.
const ENOUGH: u64 = 4 << 30;

/// The directory for a new cluster's own: in memory if it need not be durable and there is room.
pub fn parent(durable: bool) -> PathBuf {
    if let Some(place) = std::env::var_os(PLACE_VARIABLE) {
        return place.into();
    }
    let memory = Path::new(MEMORY);
    if !durable && free_bytes(memory) >= ENOUGH { memory.into() } else { std::env::temp_dir() }
}

fn free_bytes(path: &Path) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |stat| stat.f_bavail * stat.f_frsize)
}
