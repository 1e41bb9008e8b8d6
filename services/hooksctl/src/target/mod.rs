//! Where events are sent on to: an HTTP/1.1 client that writes each request as it was received. Client
//! libraries reorder, re-spell or merge headers; providers sign, and people debug, what was really sent.

mod address;
mod answer;
mod connection;
mod request;

pub use address::Target;
pub use answer::Answer;
pub use connection::{Client, Fault};
pub use request::Outgoing;
