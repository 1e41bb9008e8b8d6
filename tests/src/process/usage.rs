//! What a process uses, from /proc.

/// Resident memory in KiB.
pub(super) fn rss_kib(pid: u32) -> u64 {
    let status = read(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("no VmRSS for process {pid}: it has ended"))
}

/// User and system time in seconds: fields 14 and 15 of `stat`, counted after the name, which may hold blanks.
pub(super) fn cpu_seconds(pid: u32) -> f64 {
    let stat = read(pid, "stat");
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

fn read(pid: u32, file: &str) -> String {
    let path = format!("/proc/{pid}/{file}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {path}: {error}"))
}
