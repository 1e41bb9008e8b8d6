//! Connections that wait for the next request of their receiver.

use crate::connect::{Connection, Route};
use hooks_shared::http1::still_open;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shorter than most servers keep theirs (the shortest common default is 5 s), so that we rarely write to one that is
/// just being closed.
const KEEP: Duration = Duration::from_secs(4);
/// Connections that are kept for one receiver.
const MOST: usize = 32;

/// Scheme, host and port.
type Key = (bool, String, u16);

/// Kept connections. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Idle(Arc<Mutex<HashMap<Key, Vec<Kept>>>>);

struct Kept {
    connection: Connection,
    since: Instant,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("peer", &self.connection.peer).finish_non_exhaustive()
    }
}

fn key(route: &Route) -> Key {
    (route.tls, route.host.clone(), route.port)
}

impl Idle {
    /// The connection that was used last, if it leads to an address that passed this request's check, too.
    pub async fn take(&self, route: &Route, leads: impl Fn(SocketAddr) -> bool) -> Option<Connection> {
        loop {
            let Connection { stream, peer } = self.newest(route, &leads)?;
            if let Some(stream) = still_open(stream).await {
                return Some(Connection { stream, peer });
            }
        }
    }

    fn newest(&self, route: &Route, leads: &impl Fn(SocketAddr) -> bool) -> Option<Connection> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = all.get_mut(&key(route))?;
        kept.retain(|one| one.since.elapsed() < KEEP && leads(one.connection.peer));
        kept.pop().map(|one| one.connection)
    }

    /// Keeps a connection for a while.
    pub fn put(&self, route: &Route, connection: Connection) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = all.is_empty();
        let kept = all.entry(key(route)).or_default();
        if kept.len() < MOST {
            kept.push(Kept { connection, since: Instant::now() });
        }
        if first {
            tokio::spawn(self.clone().sweep());
        }
    }

    /// Closes what nobody took, until nothing is left.
    async fn sweep(self) {
        loop {
            tokio::time::sleep(KEEP).await;
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, kept| {
                kept.retain(|one| one.since.elapsed() < KEEP);
                !kept.is_empty()
            });
            if all.is_empty() {
                return;
            }
        }
    }
}
