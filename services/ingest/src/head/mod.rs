//! Keeping each request's head exactly as it came: actix lower-cases header names and forgets their order, so
//! the bytes are read beside it and compared with what it parsed.

mod capture;
mod stream;
mod tap;

pub use capture::{Parsed, capture};
pub use stream::{TapHandle, TappedStream};
pub use tap::HeadTap;
