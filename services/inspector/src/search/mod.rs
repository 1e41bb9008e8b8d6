//! Searching events by header and by path into a JSON body. The index holds 64-bit hashes, so it tells candidates; each
//! is compared before it is shown.

mod compare;
mod query;
mod terms;

pub use compare::matches;
pub use query::{Condition, Place, Search};
pub use terms::{of_condition, of_event};

/// Longer bodies are indexed by their headers only, bytes.
pub const LONGEST_BODY: i64 = 256 * 1024;
/// Terms of one event; what a body has beyond that is not indexed.
pub const MOST_TERMS: usize = 400;
/// Objects and lists within each other.
pub const DEEPEST: usize = 12;
