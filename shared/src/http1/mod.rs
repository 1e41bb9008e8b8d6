//! HTTP/1.1 as a client that writes a request exactly as it is told to. Client libraries reorder, re-spell or merge
//! headers; providers sign, and people debug, what was really sent. Whoever uses it brings the time limits and decides
//! whom to connect to.

mod answer;
mod request;
mod stream;

pub use answer::{Answering, Head, send};
pub use request::{Request, target_of};
pub use stream::{Io, Stream, secure, still_open, tls};
