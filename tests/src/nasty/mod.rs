//! Requests that relays like to damage: written byte by byte, with what must come out at every end.

mod arrival;
mod draft;
mod list;

use std::io;
use std::time::Duration;

use crate::http::{Body, RawConnection, RawResponse};
use crate::sign::Headers;
use draft::Draft;

/// How long an answer to one of them may take: some are large.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as it goes over the socket, and what of it has to survive.
#[derive(Debug, Clone)]
pub struct Nasty {
    /// What is nasty about it; unique.
    pub name: &'static str,
    /// The method.
    pub method: &'static str,
    /// The request target as sent.
    pub target: Vec<u8>,
    /// Names and values in order, with their spelling; white space around values is not part of them.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body, decoded from its chunks if it had any, otherwise untouched.
    pub body: Vec<u8>,
    head: Vec<u8>,
    framed: Vec<u8>,
    waits: bool,
}

impl Nasty {
    /// All of them, for a source at `path` (as `/ingest/name`). `sign` makes the provider's headers from an id,
    /// different for each request, and the body.
    pub fn all(path: &str, sign: impl Fn(&str, &[u8]) -> Headers) -> Vec<Self> {
        list::drafts().into_iter().map(|draft| draft.finish(path, &sign)).collect()
    }

    /// Sends it, waiting for `100 Continue` before the body where that is what is nasty, and reads the answer.
    pub async fn send(&self, connection: &mut RawConnection) -> io::Result<RawResponse> {
        connection.send(&self.head).await?;
        if self.waits {
            let interim = connection.recv().await?;
            if interim.status != 100 {
                return Ok(interim);
            }
        }
        connection.send(&self.framed).await?;
        loop {
            let answer = connection.recv_within(PATIENCE, Body::Declared).await?;
            // Whoever asks and does not wait is told to go on all the same.
            if answer.status != 100 {
                return Ok(answer);
            }
        }
    }

    /// All bytes of it at once, without waiting for anything.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.head[..], &self.framed].concat()
    }
}
