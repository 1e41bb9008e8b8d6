//! HTTP/1.1 as bytes: no client library that tidies up what a test wants to see.

mod head;
mod raw;
mod wire;

pub use head::Head;
pub use raw::{Body, RawConnection, RawResponse, exchange, get, request};
pub(crate) use wire::{Wire, dechunk};
