//! TCP ports that stay ours while nobody listens on them.

use std::net::{Ipv4Addr, TcpListener};

/// Below every system's range of ephemeral ports: no outgoing connection of another test can take the port
/// between two starts of the server that owns it.
const RANGE: std::ops::Range<u16> = 15_000..32_000;

/// A port on 127.0.0.1 on which nothing listens now.
pub fn free() -> u16 {
    for _ in 0..200 {
        let port = rand::random_range(RANGE);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port on 127.0.0.1 between {} and {} in 200 tries", RANGE.start, RANGE.end)
}
