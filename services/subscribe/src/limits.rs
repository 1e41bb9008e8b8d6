//! How many descriptors this process may have, and what that allows.

/// Descriptors for everything but streams: database, files, the administration port.
const RESERVED: u64 = 100;
/// The connection's own and the duplicate that can cut it.
const PER_STREAM: u64 = 2;

/// Raises the soft limit of open descriptors to the hard one and says how many connections fit.
pub fn connections() -> usize {
    let descriptors = raise_descriptors();
    let fit = descriptors.saturating_sub(RESERVED) / PER_STREAM;
    usize::try_from(fit).unwrap_or(usize::MAX).clamp(64, 1_000_000)
}

fn raise_descriptors() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the struct it is given.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 1024;
    }
    let soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: setrlimit reads the struct it is given.
    let raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } == 0;
    if raised { limit.rlim_max } else { soft }
}
