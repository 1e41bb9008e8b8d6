//! Keeping each request's head exactly as it came: actix lower-cases header names and forgets their order, so
//! the bytes are read beside it and compared with what it parsed.

mod capture;
mod stream;
mod tap;

pub use capture::{Captured, Parsed, capture};
pub use stream::{Handling, TapHandle, TappedStream};
pub use tap::HeadTap;

use actix_web::{HttpMessage, HttpRequest};

/// The head of one request as it came.
#[derive(Debug)]
struct RawHead(Vec<u8>);

/// Takes the head of this request from its connection's tap and keeps it with the request. To be called once for
/// each request, before anything else; the connection counts as busy until the result is dropped.
pub fn claim(request: &HttpRequest) -> Option<Handling> {
    let tap = request.conn_data::<TapHandle>()?;
    if let Some(head) = tap.take() {
        request.extensions_mut().insert(RawHead(head));
    }
    Some(tap.handling())
}

/// What [`claim`] kept.
pub fn claimed(request: &HttpRequest) -> Option<Vec<u8>> {
    request.extensions_mut().remove::<RawHead>().map(|head| head.0)
}
