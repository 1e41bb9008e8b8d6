//! What the inspector does beside answering: it fills the search index, takes a sample a minute, and follows the log for
//! open live pages.

pub mod indexer;
pub mod live;
pub mod sampler;
