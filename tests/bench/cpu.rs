//! CPU seconds of processes, from /proc.

use std::fs;

/// What a process and the children it has waited for have used, seconds.
fn used(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = fields(&stat);
    let ticks: u64 = fields.iter().skip(11).take(4).filter_map(|text| text.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat).get(1)?.parse().ok()
}

/// The fields after the name, which may hold spaces.
fn fields(stat: &str) -> Vec<&str> {
    stat.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect())
}

/// A process with all its living children: PostgreSQL's postmaster and its backends.
pub fn of_family(pid: u32) -> f64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|other| *other == pid || parent(*other) == Some(pid)).map(used).sum()
}

pub fn parent_of(pid: u32) -> u32 {
    parent(pid).expect("the process is alive")
}
