//! TCP ports that stay ours while nobody listens on them.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// Below every system's range of ephemeral ports: no outgoing connection of another test can take the port
/// between two starts of the server that owns it.
const RANGE: std::ops::Range<u16> = 15_000..32_000;

/// What this process has given out: its user may not listen there yet.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A port on 127.0.0.1 on which nothing listens now, never the same one twice.
pub fn free() -> u16 {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..200 {
        let port = rand::random_range(RANGE);
        if !given.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.insert(port);
            return port;
        }
    }
    panic!("no free port on 127.0.0.1 between {} and {} in 200 tries", RANGE.start, RANGE.end)
}
