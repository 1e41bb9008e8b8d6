//! The event stream of the subscribe service, read as it comes: messages and comments in their order.

mod comment;
mod link;
mod message;
mod parser;
mod reader;

pub use comment::Comment;
pub use link::{Link, LinkEnd};
pub use message::{BodyOf, Message};
pub use reader::{Connected, Item, Queue, Start, read};
