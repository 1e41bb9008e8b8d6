//! Between actix and the handlers: what a request is, what an answer is, and the one way from one to the other.

mod answer;
mod call;
mod cookie;
mod host;
mod pairs;
mod serve;

pub use answer::{Answer, Body};
pub use call::{Call, Incoming, members};
pub use cookie::{cookie, set_cookie};
pub use host::{is_allowed_host, is_https, same_host};
pub use pairs::{Pairs, encode};
pub use serve::{configure, healthz};
